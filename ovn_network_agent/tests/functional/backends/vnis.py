# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A real zebra and bgpd with VNIs, for tests.

The kernel need not have VRFs: FRR has the lines without the devices, too.
"""

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.frr import marked_lines
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
# What somebody may do to it, one line of each kind; unit.frr.test_evpn has
# the lines.
CHANGES = [
    ('no timers bgp',), ('bgp router-id 10.9.9.9',),
    (IPV4, 'no redistribute kernel'),
    (IPV6, 'redistribute kernel metric 7'),
    (IPV4, 'aggregate-address 10.0.0.0/8 summary-only'),
    (IPV4, 'rd vpn export 1:1'), (EVPN, 'default-originate ipv4'),
    (EVPN, 'no rd 10.0.100.11:1001'),
    (EVPN, 'no route-target import 64999:1001'),
    (EVPN, 'route-target export 1:1')]


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
        self.backend = marked_lines.EvpnInstanceBackend(self.conf)

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
