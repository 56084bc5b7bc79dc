# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""VNIs of a real zebra and bgpd.

This kernel need not have VRFs: FRR has the lines without the devices, too.
"""

import dataclasses

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import evpn_instance
from ovn_network_agent.privileged import evpn_instances
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import daemons
from ovn_network_agent.tests.unit import world as worlds

AS = 65011
ID = '10.0.100.11'
VRF = 'vrf-1001'
INSTANCE = f'router bgp {AS} vrf {VRF}'
WANTED = resources.EvpnInstance(
    1001, 0, ID, f'{ID}:1001', ('64999:1001', '64999:2001'), ('64999:1001',))
PLAIN = resources.EvpnInstance(1002, 0, ID)
SECTION = [
    INSTANCE, ' bgp router-id 10.0.100.11', ' coalesce-time 44132',
    ' timers bgp 44 132', ' !', ' address-family ipv4 unicast',
    '  redistribute kernel', ' exit-address-family', ' !',
    ' address-family ipv6 unicast', '  redistribute kernel',
    ' exit-address-family', ' !', ' address-family l2vpn evpn',
    '  advertise ipv4 unicast', '  advertise ipv6 unicast',
    '  rd 10.0.100.11:1001', '  route-target import 64999:1001',
    '  route-target import 64999:2001', '  route-target export 64999:1001',
    ' exit-address-family', 'exit']
IPV4, IPV6, EVPN = (f'address-family {name}' for name in (
    'ipv4 unicast', 'ipv6 unicast', 'l2vpn evpn'))
# What somebody may do to it.
CHANGES = [
    ('no timers bgp',), ('timers bgp 5 15',), ('no coalesce-time 44132',),
    ('no bgp router-id',), ('bgp router-id 10.9.9.9',),
    (IPV4, 'no redistribute kernel'), (IPV6, 'no redistribute kernel'),
    (IPV4, 'redistribute connected'), (IPV6, 'redistribute static'),
    (IPV4, 'no redistribute kernel', 'redistribute kernel route-map M'),
    (IPV6, 'redistribute kernel metric 7'),
    (IPV4, 'network 10.0.0.0/8'), (IPV6, 'network 2001:db8::/32'),
    (IPV4, 'aggregate-address 10.0.0.0/8 summary-only'),
    (IPV4, 'rd vpn export 1:1'), (IPV4, 'rt vpn export 1:1'),
    (EVPN, 'no advertise ipv4 unicast'), (EVPN, 'no advertise ipv6 unicast'),
    (EVPN, 'advertise ipv6 unicast route-map M'),
    (EVPN, 'default-originate ipv4'), (EVPN, 'no rd 10.0.100.11:1001'),
    (EVPN, 'rd 10.0.100.11:7'),
    (EVPN, 'no route-target import 64999:1001'),
    (EVPN, 'no route-target export 64999:1001'),
    (EVPN, 'route-target import 1:1'), (EVPN, 'route-target export 1:1')]


class Evpn(daemons.Daemons):
    """zebra, and bgpd with a session of its operator."""

    config = f'''
router bgp {AS}
 bgp router-id {ID}
 neighbor 10.0.100.99 remote-as 65099
 neighbor 10.0.100.99 password secret
 address-family l2vpn evpn
  neighbor 10.0.100.99 activate
  advertise-all-vni
'''

    def __init__(self):
        super().__init__()
        try:
            if daemons.holder() == 'mgmtd':
                self.start('mgmtd')
            self.start('zebra')
            self.start('bgpd', config=self.config)
        except BaseException:
            self.stop()
            raise


class EvpnTestCase(base.FrrTestCase):

    make = Evpn

    def setUp(self):
        super().setUp()
        self.configured()
        self.before = self.frr.running()

    def configured(self, **options):
        """Have another configuration."""
        self.conf = worlds.conf(drivers=['evpn'], frr__vrf_name='',
                                 **options)
        self.fix_limits(self.conf)
        self.backend = evpn_instance.EvpnInstanceBackend(self.conf)

    def clear(self):
        """What a test has left."""
        found = self.frr.lines()
        for line in found:
            if line.startswith('router bgp ') and ' vrf ' in line:
                vrf = line.split()[-1]
                held = [each.strip() for each in self.section(f'vrf {vrf}')
                        if each.startswith(' vni ')]
                if held:
                    self.frr.configure(f'vrf {vrf}', 'no ' + held[0])
                self.frr.configure('no ' + line)
        for line in found:
            if line.startswith('vrf '):
                self.frr.configure(
                    line, *('no ' + each.strip() for each
                            in self.section(line) if 'vni' in each))
                if line in self.frr.running():
                    self.frr.configure('no ' + line)
        self.assertEqual(self.before, self.frr.running())

    def section(self, first):
        """The lines of a section, empty without one."""
        lines = self.frr.running()
        if first not in lines:
            return []
        found = lines[lines.index(first):]
        return found[:found.index('!')]

    def operator(self, *lines):
        """Change our instance, as the operator would."""
        self.frr.configure(INSTANCE, *lines)

    def read(self, *wanted):
        return self.backend.read(frozenset(
            r.ref for r in wanted or (WANTED,)))

    def apply(self, **delta):
        return self.backend.apply(backends.Delta(**delta))

    def is_right(self):
        self.assertEqual([WANTED], self.read())
        self.assertEqual(SECTION, self.section(INSTANCE))
        self.assertEqual([f'vrf {VRF}', ' vni 1001', 'exit-vrf'],
                         self.section(f'vrf {VRF}'))

    def is_gone(self):
        self.assertEqual(self.before, self.frr.running())
        self.assertEqual([], self.read(WANTED, PLAIN))


class TestTwice(EvpnTestCase):

    def test_twice_each(self):
        self.assertEqual([], self.read())
        for _attempt in range(2):
            self.assertEqual({}, self.apply(create=(WANTED,)))
            self.is_right()
        for _attempt in range(2):
            self.assertEqual({}, self.apply(delete=(WANTED,)))
            self.is_gone()


class TestTwiceByVtysh(TestTwice):
    """Where the sockets of the daemons are not to be used."""

    def setUp(self):
        super().setUp()
        self.root_side(vtysh_wrapper='env')


class TestConfiguration(EvpnTestCase):

    def test_each_change_is_seen_and_undone(self):
        self.apply(create=(WANTED,))
        for lines in CHANGES:
            with self.subTest(lines):
                self.operator(*lines)
                found, = self.read()
                self.assertEqual(WANTED.ref, found.ref)
                self.assertNotEqual(WANTED, found)
                self.assertEqual({}, self.apply(update=((found, WANTED),)))
                self.is_right()

    def test_what_was_changed_goes_altogether(self):
        for lines in CHANGES[:6]:
            with self.subTest(lines):
                self.apply(create=(WANTED,))
                self.operator(*lines)
                # As an agent that has not made it.
                found = self.backend.read(frozenset())
                self.assertEqual({}, self.apply(delete=tuple(found)))
                self.is_gone()

    def test_lines_of_the_vrf(self):
        self.apply(create=(WANTED,))
        for lines in (['no vni 1001'],
                      ['no vni 1001', 'vni 1001 prefix-routes-only']):
            with self.subTest(lines):
                self.frr.configure(f'vrf {VRF}', *lines)
                found, = self.read()
                self.assertNotEqual(WANTED, found)
                self.assertEqual({}, self.apply(update=((found, WANTED),)))
                self.is_right()

    def test_harmless_lines_of_the_operator_stay(self):
        self.apply(create=(WANTED,))
        self.operator(IPV4, 'maximum-paths 4')
        there = self.frr.running()
        self.assertEqual([WANTED], self.read())
        self.assertEqual({}, self.apply(create=(WANTED,)))
        self.assertEqual(there, self.frr.running())
        self.assertEqual({}, self.apply(delete=(WANTED,)))
        self.is_gone()

    def test_other_values(self):
        self.apply(create=(WANTED,))
        former = WANTED
        for values in ({'rd': f'{ID}:7'}, {'rd': ''}, {'imports': ()},
                       {'exports': ('4200000000:5', f'{ID}:7')},
                       {'router_id': '10.0.100.12'}, {'asn': 65012},
                       {'asn': 4200000000, 'imports': ('1:1',)}):
            with self.subTest(values):
                self.configured(evpn__bgp_as=values.get('asn', 0))
                new = dataclasses.replace(WANTED, **values)
                self.assertEqual({}, self.apply(update=((former, new),)))
                self.assertEqual([new], self.read())
                former = new
        self.assertEqual({}, self.apply(delete=(former,)))
        self.is_gone()

    def test_several_at_once(self):
        self.assertEqual({}, self.apply(create=(WANTED, PLAIN)))
        self.assertEqual([WANTED, PLAIN], self.read(WANTED, PLAIN))
        other = dataclasses.replace(PLAIN, vni=2 ** 24 - 1)
        self.assertEqual({}, self.apply(create=(other,), delete=(PLAIN,)))
        self.assertEqual([WANTED, other], self.read(WANTED, PLAIN))
        self.assertEqual({}, self.apply(delete=(WANTED, other)))
        self.is_gone()

    def test_bgpd_has_forgotten_it_and_zebra_has_not(self):
        self.apply(create=(WANTED,))
        self.frr.kill('bgpd')
        with self.assertRaisesRegex(backends.BackendError, 'bgpd'):
            self.read()
        self.frr.start('bgpd', config=Evpn.config)
        found, = self.read()
        self.assertIsInstance(found, evpn_instance.Rest)
        # What nobody wants or has made is the operator's.
        self.assertEqual([], self.backend.read(frozenset()))
        self.assertEqual({}, self.apply(update=((found, WANTED),)))
        self.is_right()

    def test_what_zebra_has_left_goes(self):
        self.frr.configure(f'vrf {VRF}', 'vni 1001')
        self.assertEqual({}, self.apply(delete=tuple(self.read())))
        self.is_gone()

    def test_a_bad_item_fails_alone(self):
        bad = [resources.EvpnInstance(*fields) for fields in (
            (0, 0, ID), (1 << 24, 0, ID), ('1003', 0, ID), (1003, -1, ID),
            (1003, 1 << 32, ID), (1003, 0, '::1'), (1003, 0, ''),
            (1003, 0, f'{ID}\nexit'), (1003, 0, ID, '7'),
            (1003, 0, ID, '1:1\nexit'), (1003, 0, ID, '65536:65536'),
            (1003, 0, ID, '', ('*:1',)), (1003, 0, ID, '', (), ('1:1 2:2',)))]
        for resource in bad:
            self.assertEqual([resource.ref],
                             list(self.apply(create=(resource,))))
        self.assertEqual(self.before, self.frr.running())
        self.assertEqual([bad[0].ref],
                         list(self.apply(create=(bad[0], WANTED))))
        self.is_right()

    def test_without_frr(self):
        """It is missed only by who wants something of it."""
        self.root_side(vtysh_wrapper='/nonexistent')
        self.assertEqual([], self.backend.read(frozenset()))
        with self.assertRaisesRegex(backends.BackendError, 'nonexistent'):
            self.read()


class TestOthers(EvpnTestCase):

    def is_refused(self, *parts):
        there = self.frr.running()
        reason = self.apply(create=(WANTED,))[WANTED.ref]
        for part in parts:
            self.assertIn(part, reason)
        self.assertEqual({}, self.apply(delete=(WANTED,)))
        self.assertEqual(there, self.frr.running())

    def test_an_instance_without_our_mark(self):
        for lines in ((), ('timers bgp 44 133',), (IPV4,
                      'redistribute kernel')):
            with self.subTest(lines):
                self.frr.configure(INSTANCE, *lines)
                self.assertEqual([], self.read())
                self.is_refused(f'"{INSTANCE}"', f'"no {INSTANCE}"',
                                'timers bgp 44 132')
        self.frr.configure(f'vrf {VRF}', 'vni 1001')
        self.assertEqual([], self.read())
        self.is_refused(f'"{INSTANCE}"')

    def test_another_vni_in_the_vrf(self):
        self.frr.configure(f'vrf {VRF}', 'vni 7')
        self.assertEqual([], self.read())
        self.is_refused(f'"vrf {VRF}"', '"vni 7"', '"no vni 7"')

    def test_the_vni_in_another_vrf(self):
        self.frr.configure('vrf blue', 'vni 1001')
        self.assertEqual([], self.read())
        self.is_refused('"vrf blue"', '"no vni 1001"')

    def test_the_vni_in_the_default_vrf(self):
        self.frr.configure('vni 1001')
        self.addCleanup(self.frr.configure, 'no vni 1001')
        self.is_refused('"no vni 1001"')


class TestUnderlay(EvpnTestCase):

    def test_the_configured_as_number(self):
        self.configured(evpn__bgp_as=AS)
        wanted = dataclasses.replace(WANTED, asn=AS)
        self.assertEqual({}, self.apply(create=(wanted,)))
        self.assertEqual([wanted], self.read())
        self.assertEqual(SECTION, self.section(INSTANCE))

    def test_without_an_instance_of_the_operator(self):
        self.conf = worlds.conf(drivers=['evpn'], frr__vrf_name='vrf-prov')
        self.fix_limits(self.conf)
        reason = self.apply(create=(WANTED,))[WANTED.ref]
        for part in ('"router bgp ASN vrf vrf-prov"', '[evpn] bgp_as'):
            self.assertIn(part, reason)
        self.assertEqual(self.before, self.frr.running())

    def test_what_the_operator_has_to_add(self):
        self.assertEqual([], evpn_instances.read_lacks())
        family = ('router bgp 65011', EVPN)
        for line, back in (
                ('no advertise-all-vni', 'advertise-all-vni'),
                ('no neighbor 10.0.100.99 activate',
                 'neighbor 10.0.100.99 activate')):
            self.frr.configure(*family, line)
            self.addCleanup(self.frr.configure, *family, back)
        lacks = evpn_instances.read_lacks()
        for text, line in zip(lacks, (
                'advertise-all-vni', 'neighbor ADDRESS activate'),
                strict=True):
            self.assertIn(f'"router bgp 65011" / "{EVPN}" / "{line}"', text)

    def test_states(self):
        self.assertEqual([], evpn_instances.read_states())
        self.apply(create=(WANTED,))
        self.assertEqual([[1001, VRF, False, 'None']],
                         evpn_instances.read_states())


class TestManyTimes(EvpnTestCase):

    def test_bgpd_lives(self):
        """FRR 8 ends at the second removal, with "route-target both"."""
        many = [dataclasses.replace(
            WANTED, vni=vni, rd=f'{ID}:{vni:d}',
            imports=(f'64999:{vni:d}',), exports=(f'64999:{vni:d}',))
            for vni in range(2000, 2020)]
        for wanted in many:
            self.assertEqual({}, self.apply(create=(wanted,)))
            self.assertEqual({}, self.apply(delete=(wanted,)))
        self.assertEqual({}, self.apply(create=many))
        self.assertEqual(many, self.read(*many))
        for wanted in many:
            self.assertEqual({}, self.apply(delete=(wanted,)))
        self.is_gone()
        self.assertIsNone(self.frr.ended('bgpd'))
