# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR takes contrib/frr/frr.conf, and its sessions do what the page says."""

import pathlib
import subprocess

from ovn_network_agent.frr import setup
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.watches import node_conflicts

FILE = (pathlib.Path(__file__).resolve().parents[4] / 'contrib' / 'frr' /
        'frr.conf')
VRF = ' vrf vrf-provider'
# Seconds: more than bgpd waits between two attempts of a session.
PATIENCE = 150
FIPS = {4: '198.51.100.10/32', 6: '2001:db8:100::10/128'}
# Of the fabric: the default route and a host route pass, a network does not.
FABRIC = {4: ('0.0.0.0/0', '203.0.113.7/32', '203.0.113.0/24'),
          6: ('::/0', '2001:db8:7::7/128', '2001:db8:7::/64')}
# That of vtysh itself; and the defaults of FRR before 10, with the section of
# a VRF that has nothing else.
_UNSEEN = {'service integrated-vtysh-config', 'vrf vrf-provider', 'exit-vrf',
           'no ip nht resolve-via-default', 'no ipv6 nht resolve-via-default'}
SESSIONS = {4: {'192.0.2.1', 'eth2'}, 6: {'2001:db8:31::1', 'eth2'}}
_NEIGHBOUR = '''
router bgp 64998
 bgp router-id 192.0.2.1
 no bgp ebgp-requires-policy
 no bgp network import-check
 no bgp default ipv4-unicast
 neighbor 192.0.2.2 remote-as 64999
 neighbor 192.0.2.2 bfd
 neighbor 192.0.2.2 timers connect 1
 neighbor 2001:db8:31::2 remote-as 64999
 neighbor 2001:db8:31::2 bfd
 neighbor 2001:db8:31::2 timers connect 1
 neighbor eth2 interface remote-as external
 neighbor eth2 bfd
 neighbor eth2 timers connect 1
''' + ''.join(f'''
 address-family ipv{version:d} unicast
  {f"{chr(10)}  ".join(f"network {prefix}" for prefix in FABRIC[version])}
  neighbor {peer} activate
  neighbor eth2 activate
 exit-address-family
''' for version, peer in ((4, '192.0.2.2'), (6, '2001:db8:31::2')))


class Example(base.Frr):
    """The file in the default VRF: not every kernel of a test has VRFs."""

    bgp = ''

    def make_links(self):
        """The bridge, and the two uplinks of the file."""
        pid = self.neighbour.namespace.pid
        self.ip('link', 'add', base.BRIDGE, 'type', 'bridge')
        self.ip('address', 'add', '192.0.2.129/25', 'dev', base.BRIDGE)
        self.ip('link', 'set', base.BRIDGE, 'up')
        for name in ('eth1', 'eth2'):
            self.ip('link', 'add', name, 'type', 'veth', 'peer', 'name', name,
                    'netns', f'{pid}')
        for side, last in ((self, 2), (self.neighbour, 1)):
            side.ip('address', 'add', f'192.0.2.{last:d}/30', 'dev', 'eth1')
            side.ip('address', 'add', f'2001:db8:31::{last:d}/64', 'dev',
                    'eth1', 'nodad')
            for name in ('eth1', 'eth2'):
                side.ip('link', 'set', name, 'up')

    def start_neighbour(self):
        """With its zebra, because of the session without addresses."""
        self.start('bfdd')
        self.load(FILE.read_text().replace(VRF, ''))
        self.neighbour.start('zebra')
        self.neighbour.start('bfdd')
        self.neighbour.start('bgpd', config=_NEIGHBOUR)

    def load(self, text):
        """Read a file as FRR does at its start.

        :raises subprocess.CalledProcessError: when FRR refuses a line
        """
        path = pathlib.Path(self.rundir, 'example.conf')
        path.write_text(text)
        subprocess.run([*self.real_vtysh.split(), '-f', str(path)],
                       check=True, capture_output=True, text=True)


class ExampleTest(base.FrrTestCase):

    make = Example

    def routes(self, daemons, version, peer):
        """What bgpd has learned or selected, by prefix."""
        family = f'ipv{version:d} unicast'
        return daemons.ask('bgpd', f'show bgp {family} neighbors {peer} '
                           'routes')

    def test_each_line_is_taken(self):
        self.frr.load(FILE.read_text())
        taken = {line.strip() for line in self.frr.running()}
        self.assertEqual(set(), {
            line.strip() for line in FILE.read_text().splitlines()
            if line and line.strip()[0] != '!'} - taken - _UNSEEN)
        self.assertFalse({'ip nht resolve-via-default',
                          'ipv6 nht resolve-via-default'} & taken)

    def test_the_agent_misses_nothing(self):
        self.assertEqual([], node_conflicts.frr(self.conf))

    def test_sessions(self):
        """What the agent lists goes out, and the fabric's routes come in."""
        for version, fip in FIPS.items():
            words, length = setup.WORDS[version], fip.partition('/')[2]
            hop = base.BRIDGE
            self.frr.configure(
                f'{words} prefix-list {base.LIST} seq 900 permit {fip} '
                f'ge {length}', f'{words} route {fip} {hop}')
        for version, peers in SESSIONS.items():
            default, host, network = FABRIC[version]
            for peer in peers:
                found = base.wait_until(
                    lambda peer=peer, version=version, host=host: (
                        routes := self.routes(self.frr, version, peer)
                        ) and host in routes and routes, f'{host} of {peer}',
                    PATIENCE)
                self.assertIn(default, found)
                self.assertNotIn(network, found)
            for peer in ({4: '192.0.2.2', 6: '2001:db8:31::2'}[version],
                         'eth2'):
                base.wait_until(
                    lambda peer=peer, version=version: FIPS[version] in
                    self.routes(self.frr.neighbour, version, peer),
                    f'{FIPS[version]} at {peer}', PATIENCE)
        for peer in ('192.0.2.1', '2001:db8:31::1'):
            base.wait_until(
                lambda peer=peer: 'Status: up' in self.frr.ask(
                    'bfdd', f'show bfd peer {peer}'),
                f'BFD with {peer}', PATIENCE)
