# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lab is what it claims to be, proved without the agent.

A floating IP is made reachable by hand.  That it works only with all of it,
and that the sink and the spine see what they should, is what every other lab
test relies on.
"""

import re
import signal
import time

from lab import frr
from lab import neutron
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent.tests.lab import base

# The virtual gateway of the provider network, as the agent would have it.
GATEWAY = str(plan.PROVIDER[-2])


def _announcing(address):
    return f'''\
configure terminal
ip prefix-list ANNOUNCED-NETWORKS seq 10 permit {plan.PROVIDER} ge 32 le 32
vrf {plan.VRF}
ip route {address}/32 169.254.0.1
exit-vrf
end
'''


class TestNodes(base.LabTestCase):
    """A floating IP by hand, the sink, and what happens to nodes."""

    AGENTS = False

    @classmethod
    def build(cls):
        cls.router = cls.cloud.add_router('r1')
        cls.vm, cls.fip = cls.machine(cls.router)
        cls.address = cls.fip.address

    def by_hand(self, name):
        """All that a floating IP needs on a gateway and in NB."""
        node = self.cloud[name]
        node.run(['ip', 'link', 'set', plan.BRIDGE, 'up'])
        mac = self.mac(name)
        patch = nodes.wait_until('OVN has its port', lambda: re.search(
            r'(\d+)\(patch-', node.out('ovs-ofctl', 'show', plan.BRIDGE)))[1]
        node.run(['ovs-ofctl', 'add-flow', plan.BRIDGE,
                  f'priority=900,ip,in_port={patch},actions=mod_dl_dst:{mac},'
                  'output:LOCAL'])
        node.batch(
            'link add veth-default type veth peer name veth-provider\n'
            f'link set veth-provider master {plan.VRF}\n'
            'link set veth-default up\nlink set veth-provider up\n')
        # zebra reads devices and addresses in two threads, and forgets the
        # address of a device that it does not know yet.
        nodes.wait_until('zebra knows the pair', lambda: 'vrf: ' + plan.VRF in
                         node.out('vtysh', '-c',
                                  'show interface veth-provider',
                                  check=False))
        node.batch(
            f'addr add 169.254.169.254/32 dev {plan.BRIDGE}\n'
            'addr add 169.254.0.1/30 dev veth-default\n'
            'addr add 169.254.0.2/30 dev veth-provider\n'
            f'route add {self.address}/32 dev {plan.BRIDGE}\n'
            'route add default via 169.254.0.2 dev veth-default table 200\n'
            'rule add iif veth-default lookup main priority 1999\n'
            f'rule add from {plan.PROVIDER} lookup 200 priority 2000\n'
            f'route add {plan.PROVIDER} via 169.254.0.1 dev veth-provider '
            f'table {plan.VRF_TABLE}\n')
        node.sysctl(**{
            f'net__ipv4__conf__{plan.BRIDGE}__proxy_arp': 1,
            'net__ipv4__conf__veth-provider__accept_local': 1})
        self.cloud.nb.transact(lambda txn, tables: self.default_route_by_hand(
            txn, tables, mac))

    def default_route_by_hand(self, txn, tables, mac):
        router = next(row for row in tables['Logical_Router'].rows.values()
                      if row.name == self.router.row_name)
        route = neutron.insert(
            txn, tables, 'Logical_Router_Static_Route', nexthop=GATEWAY,
            ip_prefix='0.0.0.0/0', output_port=self.router.lrp)
        router.addvalue('static_routes', route.uuid)
        neutron.insert(txn, tables, 'Static_MAC_Binding', ip=GATEWAY,
                       logical_port=self.router.lrp, mac=mac,
                       override_dynamic_mac=True)

    def leak(self, argv):
        """What the sink has counted when gw1 has run a program."""
        before = self.cloud.sink.leaked()
        self.cloud['gw1'].run(argv, check=False)
        return self.cloud.sink.leaked() - before

    def test_it_counts(self):
        """Packets with a provider source, and with a provider target."""
        gateway = self.cloud['gw1']
        gateway.run(['ip', 'addr', 'add', self.address + '/32', 'dev', 'lo'])
        self.addCleanup(gateway.run, ['ip', 'addr', 'del', self.address +
                                      '/32', 'dev', 'lo'])
        self.assertEqual(3, self.leak([
            'ping', '-c', '3', '-i', '0.1', '-W', '1', '-I', self.address,
            '192.0.2.200']))
        self.assertEqual(2, self.leak([
            'ping', '-c', '2', '-i', '0.1', '-W', '1', '198.51.100.98']))
        type(self).expected_leaks += 5
        # It can say who that was.
        mac = gateway.read('/sys/class/net/eth0/address').strip()
        self.assertIn(f'{mac}: {self.address} > 192.0.2.200',
                      self.cloud.sink.leaks())

    def test_it_counts_nothing_else(self):
        """Management traffic is no leak."""
        for target in (plan.SINK, '192.0.2.200'):
            self.assertEqual(0, self.leak([
                'ping', '-c', '3', '-i', '0.1', '-W', '1', target]))

    def test_orphans_are_reaped(self):
        """Trap T71: process 1 of a node waits for what others leave."""
        node = self.cloud['gw1']
        pid = node.out('sh', '-c', 'sleep 0.1 >/dev/null & echo $!').strip()
        # A process that nobody waits for would stay as a zombie.
        nodes.wait_until(f'nothing is left of {pid}', lambda: node.run(
            ['test', '-e', '/proc/' + pid], check=False).returncode == 1,
            base.SETTLE)

    def test_off_and_on(self):
        # Trap T70: its tunnel address is what it was.
        tunnels = self.tunnels()
        self.assertEqual(
            {plan.HOSTS[name] for name in (*self.cloud.gateways, 'cmp1')},
            set(tunnels.split()))
        self.assertEqual('gw1', self.cloud.neutron.owner(self.router))
        self.cloud['gw1'].write('/etc/ovn-network-agent/kept', 'on disk')
        self.cloud['gw1'].write('/run/gone', 'in memory')
        failed = time.monotonic()
        self.cloud.power_off('gw1')
        self.assertIsNone(self.cloud['gw1'].pid)
        self.cloud.wait_owner(self.router, 'gw2')
        base.note(f'gw2 took over {time.monotonic() - failed:.1f} s after the '
                  'power failure')
        self.cloud.wait_withdrawn(plan.LOOPBACKS['gw1'])
        self.cloud.power_on('gw1')
        self.assertEqual('on disk', self.cloud['gw1'].read(
            '/etc/ovn-network-agent/kept'))
        self.assertFalse(self.cloud['gw1'].exists('/run/gone'))
        # It has the highest priority.
        self.cloud.wait_owner(self.router, 'gw1')
        self.assertEqual(tunnels, self.tunnels())

    def tunnels(self):
        """Addresses of the tunnels that OVN knows, sorted."""
        return '\n'.join(sorted(self.cloud['central'].out(
            'ovn-sbctl', '--bare', '--columns=ip', 'list', 'Encap').split()))

    def test_the_programs_of_the_agent(self):
        """An operator types their names."""
        for program in ('ovn-network-agent', 'ovn-network-agent-ctl'):
            self.assertIn('usage', self.cloud['gw1'].out(program, '--help'))

    def test_without_the_agent(self):
        """The last test: what it makes by hand stays."""
        spine = self.cloud['spine']
        own = {f'{plan.LOOPBACKS[name]}/32'
               for name in self.cloud.gateways}
        nodes.wait_until('nothing else is announced', lambda: (
            own | {str(plan.CLIENT_NET)} == set(self.cloud.bgp_table())))
        self.assertTrue(probe.unreachable(self.client, 'icmp',
                                          self.address))
        self.by_hand('gw1')
        self.assertIsNone(self.cloud.route(self.address))
        self.cloud['gw1'].run(['vtysh'], input=_announcing(self.address))
        self.cloud.wait_announced(self.address, 'gw1')
        for kind in probe.KINDS:
            report = self.reach(self.client, kind, self.address)
            # The machine sees the client itself.
            self.assertEqual(set() if kind == 'icmp' else {plan.CLIENT},
                             report.seen_sources)
        self.assertIn(plan.UPLINKS['gw1'][1], spine.out(
            'ip', 'route', 'get', self.address))

        # FRR without its run-time configuration announces nothing.
        frr.stop(self.cloud['gw1'], signal.SIGKILL)
        self.cloud.wait_withdrawn(self.address)
        frr.start(self.cloud['gw1'], frr.gateway_config('gw1'))
        nodes.wait_until('BGP is up again', lambda: self.cloud.route(
            plan.LOOPBACKS['gw1']))
        self.assertIsNone(self.cloud.route(self.address))
