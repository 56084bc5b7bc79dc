# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""VNIs of a real zebra and bgpd."""

import dataclasses
import signal
from unittest import mock

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import marked_lines
from ovn_network_agent.diagnosis.readers import evpn as readers
from ovn_network_agent.privileged.routing import evpn_instances
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.tests.functional.backends import vnis
from ovn_network_agent.tests.unit import world as worlds

WANTED, PLAIN = vnis.WANTED, vnis.PLAIN
ID, EVPN = vnis.ID, vnis.EVPN


class TestTwice(vnis.EvpnTestCase):

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


class TestConfiguration(vnis.EvpnTestCase):

    def test_each_change_is_seen_and_undone(self):
        self.apply(create=(WANTED,))
        for lines in vnis.CHANGES:
            with self.subTest(lines):
                self.operator(*lines)
                found, = self.read()
                self.assertEqual(WANTED.ref, found.ref)
                self.assertNotEqual(WANTED, found)
                self.assertEqual({}, self.apply(update=((found, WANTED),)))
                self.is_right()

    def test_lines_of_the_vrf(self):
        self.apply(create=(WANTED,))
        for lines in (['no vni 1001'],
                      ['no vni 1001', 'vni 1001 prefix-routes-only']):
            with self.subTest(lines):
                self.frr.configure(f'vrf {vnis.VRF}', *lines)
                found, = self.read()
                self.assertNotEqual(WANTED, found)
                self.assertEqual({}, self.apply(update=((found, WANTED),)))
                self.is_right()

    def test_harmless_lines_of_the_operator_stay(self):
        self.apply(create=(WANTED,))
        self.operator(vnis.IPV4, 'maximum-paths 4')
        there = self.frr.running()
        self.assertEqual([WANTED], self.read())
        self.assertEqual({}, self.apply(create=(WANTED,)))
        self.assertEqual(there, self.frr.running())
        self.assertEqual({}, self.apply(delete=(WANTED,)))
        self.is_gone()

    def test_other_values(self):
        self.apply(create=(WANTED,))
        former = WANTED
        for values in ({'rd': f'{ID}:7', 'imports': (), 'asn': 65012},
                       {'rd': '', 'exports': ('4200000000:5', f'{ID}:7')},
                       {'asn': 4200000000, 'imports': ('1:1',),
                        'router_id': '10.0.100.12'}):
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
        self.frr.start('bgpd', config=vnis.Evpn.config)
        found, = self.read()
        self.assertIsInstance(found, marked_lines.Rest)
        # What nobody wants or has made is the operator's.
        self.assertEqual([], self.backend.read(frozenset()))
        self.assertEqual({}, self.apply(update=((found, WANTED),)))
        self.is_right()

    def test_what_zebra_has_left_goes(self):
        self.frr.configure(f'vrf {vnis.VRF}', 'vni 1001')
        self.assertEqual({}, self.apply(delete=tuple(self.read())))
        self.is_gone()

    def test_an_empty_section_needs_no_device(self):
        """FRR 8 shows none."""
        first = f'vrf {vnis.VRF}'
        self.frr.configure(first)
        shown = first in self.frr.running()
        self.assertEqual([()] * shown,
                         [each.requires for each in self.read()])
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

    def test_what_frr_refuses_is_one_reason(self):
        """Of several VNIs, and at each attempt."""
        # FRR takes no address of 0.0.0.0 in a router ID.
        bad = [dataclasses.replace(each, router_id='0.0.0.0')
               for each in (WANTED, PLAIN)]
        reasons = [reason for _attempt in range(2) for reason
                   in self.apply(create=bad).values()]
        self.assertEqual(4, len(reasons))
        self.assertEqual(1, len(set(reasons)), reasons)
        self.apply(delete=bad)
        self.is_gone()

    def test_a_short_time_limit(self):
        """vtysh gets fewer VNIs at once, and has time for these."""
        self.root_side(vtysh_timeout=2)
        many = [dataclasses.replace(PLAIN, vni=vni)
                for vni in range(2000, 2010)]
        with mock.patch.object(
                vtysh, 'configure', wraps=vtysh.configure) as configured:
            self.assertEqual({}, self.apply(create=many))
        self.assertEqual({5}, {
            sum(line.startswith('vni ') for line in call.args[0])
            for call in configured.call_args_list} - {0})
        self.assertEqual({}, self.apply(delete=many))
        self.is_gone()

    def test_without_frr(self):
        """It is missed only by who wants something of it."""
        self.root_side(vtysh_wrapper='/nonexistent')
        self.assertEqual([], self.backend.read(frozenset()))
        with self.assertRaisesRegex(backends.BackendError, 'nonexistent'):
            self.read()

    def test_frr_hangs(self):
        """What it has is unknown, also to who wants nothing of it."""
        self.root_side(vtysh_timeout=1)
        self.frr.signal('bgpd', signal.SIGSTOP)
        self.addCleanup(self.frr.signal, 'bgpd', signal.SIGCONT)
        self.assertRaises(backends.BackendError, self.backend.read,
                          frozenset())


class TestOthers(vnis.EvpnTestCase):

    def is_refused(self, *parts):
        there = self.frr.running()
        reason = self.apply(create=(WANTED,))[WANTED.ref]
        for part in parts:
            self.assertIn(part, reason)
        self.assertEqual({}, self.apply(delete=(WANTED,)))
        self.assertEqual(there, self.frr.running())

    def test_an_instance_without_our_mark(self):
        for lines in ((), ('timers bgp 44 133',), (vnis.IPV4,
                      'redistribute kernel')):
            with self.subTest(lines):
                self.frr.configure(vnis.INSTANCE, *lines)
                self.assertEqual([], self.read())
                self.is_refused(f'"{vnis.INSTANCE}"', f'"no {vnis.INSTANCE}"',
                                'timers bgp 44 132')
        self.frr.configure(f'vrf {vnis.VRF}', 'vni 1001')
        self.assertEqual([], self.read())
        self.is_refused(f'"{vnis.INSTANCE}"')

    def test_another_vni_in_the_vrf(self):
        self.frr.configure(f'vrf {vnis.VRF}', 'vni 7')
        self.assertEqual([], self.read())
        self.is_refused(f'"vrf {vnis.VRF}"', '"vni 7"', '"no vni 7"')

    def test_the_vni_in_another_vrf(self):
        self.frr.configure('vrf blue', 'vni 1001')
        self.assertEqual([], self.read())
        self.is_refused('"vrf blue"', '"no vni 1001"')

    def test_the_vni_in_the_default_vrf(self):
        self.frr.configure('vni 1001')
        self.addCleanup(self.frr.configure, 'no vni 1001')
        self.is_refused('"no vni 1001"')


class TestUnderlay(vnis.EvpnTestCase):

    def test_the_configured_as_number(self):
        self.configured(evpn__bgp_as=vnis.AS)
        wanted = dataclasses.replace(WANTED, asn=vnis.AS)
        self.assertEqual({}, self.apply(create=(wanted,)))
        self.assertEqual([wanted], self.read())
        self.assertEqual(vnis.SECTION, self.section(vnis.INSTANCE))

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
        with self.assertLogs(marked_lines.__name__, 'WARNING') as log:
            for _attempt in range(2):
                self.assertEqual({}, self.apply(create=(WANTED,)))
        self.assertEqual(lacks, [each.getMessage() for each in log.records])

    def test_states(self):
        """As explain and doctor read them."""
        self.assertEqual({}, readers.read_states())
        self.apply(create=(WANTED,))
        self.assertEqual({1001: (1001, vnis.VRF, False, 'None')},
                         readers.read_states())


class TestManyTimes(vnis.EvpnTestCase):

    def test_bgpd_lives(self):
        """FRR 8 ends at the second removal, with "route-target both"."""
        many = [dataclasses.replace(
            WANTED, vni=vni, rd=f'{ID}:{vni:d}',
            imports=(f'64999:{vni:d}',), exports=(f'64999:{vni:d}',))
            for vni in range(2000, 2006)]
        for wanted in many:
            self.assertEqual({}, self.apply(create=(wanted,)))
            self.assertEqual({}, self.apply(delete=(wanted,)))
        self.assertEqual({}, self.apply(create=many))
        self.assertEqual(many, self.read(*many))
        for wanted in many:
            self.assertEqual({}, self.apply(delete=(wanted,)))
        self.is_gone()
        self.assertIsNone(self.frr.ended('bgpd'))
