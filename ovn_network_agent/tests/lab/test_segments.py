# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Five provider networks: flat and tagged, on two bridges."""

import itertools

from lab import chassis
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import leftovers

# Name of a provider network: physical network, VLAN tag.  The first one is the
# flat network that every cloud of the lab has.
NETWORKS = {'tagged-101': (plan.PHYSICAL_NETWORK, 101),
            'tagged-102': (plan.PHYSICAL_NETWORK, 102),
            'further': (plan.FURTHER_NETWORK, 0),
            'further-101': (plan.FURTHER_NETWORK, 101)}
BRIDGES = (plan.BRIDGE, plan.FURTHER_BRIDGE)
DEVICES = ('br-ex', 'br-ex.101', 'br-ex.102', 'br-two', 'br-two.101')
# Of a drain of a whole node, milliseconds, as in lab.leaving.
DRAINED_GAP_MS = 250


class SegmentsTestCase(base.LabTestCase):
    """A router with a machine in each provider network, all on gw1."""

    FURTHER = True
    CONFIG = {'DEFAULT': {'further_bridges': plan.FURTHER_BRIDGE}}

    @classmethod
    def build(cls):
        cls.before = {name: cls.left(name) for name in cls.cloud.gateways}
        neutron = cls.cloud.neutron
        subnets = plan.FURTHER_PROVIDERS.subnets(new_prefix=24)
        cls.networks = [neutron.provider, *(
            neutron.add_provider_network(name, subnet, *segment)
            for (name, segment), subnet in zip(NETWORKS.items(), subnets))]
        cls.routers = [cls.cloud.add_router(network.name, provider=network)
                       for network in cls.networks]
        cls.machines = [cls.machine(router) for router in cls.routers]
        cls.addresses = [fip.address for _vm, fip in cls.machines]

    @classmethod
    def left(cls, name):
        """The objects of agents on a gateway, of all bridges: sorted lines."""
        node, found = cls.cloud[name], []
        for bridge in BRIDGES:
            found += [f'{bridge} {line.split(",")[0].strip()}' for line in
                      node.out('ovs-ofctl', 'dump-flows', bridge).splitlines()
                      if any(f'cookie={cookie:#x},' in line
                             for cookie in ownership.FLOW_COOKIES)]
            found += [f'port {port}' for port in node.out(
                'ovs-vsctl', 'list-ports', bridge).split()
                if port.startswith(ownership.RELAY_PREFIX)]
        found += [line.split()[0] for line in node.out(
            'ip', '-br', 'link', 'show', 'type', 'vlan').splitlines()]
        for argv in (('route', 'show', 'table', 'all', 'proto', '44'),
                     ('rule', 'show', 'proto', '44'),
                     ('addr', 'show', 'to', '169.254.169.254/32'),
                     ('neigh', 'show', 'nud', 'permanent')):
            found += [line.strip() for line in node.out(
                'ip', '-4', *argv).splitlines()]
        return sorted(line for line in found if 'inet6' not in line)

    # -- looking ----------------------------------------------------------

    def reach_all(self, node=None):
        """Each floating IP answers, from outside or from a machine."""
        for address in self.addresses:
            self.reach(node or self.client, 'icmp', address)

    def device(self, address, name='gw1'):
        """Device of the agent's route to an address, or ''."""
        words = self.cloud[name].out(
            'ip', '-4', 'route', 'show', 'proto', '44', address).split()
        return words[words.index('dev') + 1] if 'dev' in words else ''

    def devices(self, name):
        return [self.device(address, name) for address in self.addresses]

    def flows_of(self, name, bridge):
        """Flows of the agent on a bridge: set of text."""
        return {line.split('priority=')[1] for line in self.cloud[name].out(
            'ovs-ofctl', 'dump-flows', bridge).splitlines()
            if any(f'cookie={cookie:#x},' in line
                   for cookie in ownership.FLOW_COOKIES)}

    def patch_ports(self, name, bridge):
        """Patch ports of a bridge: dict of name to (UUID of row, number)."""
        node, found = self.cloud[name], {}
        for port in node.out('ovs-vsctl', 'list-ports', bridge).split():
            words = port.startswith('patch-') and node.out(
                'ovs-vsctl', '--if-exists', 'get', 'Interface', port, '_uuid',
                'ofport').split()
            if words:
                found[port] = tuple(words)
        return found

    def all_on(self, name):
        """Wait until a gateway has all routers, and announces all."""
        for router in self.routers:
            self.cloud.wait_owner(router, name, base.SETTLE)
        self.cloud.wait_all_announced(self.addresses, name, base.SETTLE)


class TestSegmentsStatic(SegmentsTestCase, leftovers.LeavesNothing):

    def setUp(self):
        super().setUp()
        for router in self.routers:
            if self.cloud.neutron.owner(router) != 'gw1':
                self.cloud.move(router, 'gw1')
        self.all_on('gw1')

    def test_from_the_client(self):
        """Rows OVS-12 and D23: each segment has its own device and MAC."""
        self.reach_all()
        self.assertEqual(list(DEVICES), self.devices('gw1'))
        for dev in DEVICES:
            self.assertIn('169.254.169.254/32', self.cloud['gw1'].out(
                'ip', '-4', '-o', 'addr', 'show', 'dev', dev))
            self.assertEqual('1', self.cloud['gw1'].out(
                'cat', f'/proc/sys/net/ipv4/conf/{dev}/proxy_arp').strip())
        for vm, _fip in self.machines:
            self.reach(vm.node, 'icmp', plan.CLIENT)

    def test_each_to_each(self):
        """On one gateway, and with every second router on the other."""
        for spread in (False, True):
            if spread:
                for router in self.routers[::2]:
                    self.cloud.move(router, 'gw2')
                for at, address in enumerate(self.addresses):
                    self.cloud.wait_announced(
                        address, 'gw1' if at % 2 else 'gw2', base.SETTLE)
            for (vm, _own), address in itertools.product(
                    self.machines, self.addresses):
                probe.wait_reachable(vm.node, 'icmp', address, base.SETTLE)

    def test_drain(self):
        """A drained stop of the owner, under probes in each segment."""
        self.wait_relays()
        since = self.mark('gw1')
        running = [self.probing(address) for address in self.addresses]
        for each in running:
            each.__enter__()
        try:
            self.assertEqual(0, self.cloud.agents['gw1'].stop())
            self.all_on('gw2')
            for each in running:
                each.wait_answered(base.SETTLE)
            reports = [each.stop() for each in running]
        finally:
            said = [line.partition('Drain: ')[2] for line in self.said(
                'gw1', since).splitlines() if 'Drain: ' in line]
            base.note('; '.join(said))
            for each in running:
                each.__exit__(None, None, None)
            self.cloud.agents['gw1'].start()
            self.cloud.agents['gw1'].wait_ready()
        self.assertIn('completed', said[-1])
        for report in reports:
            base.note(str(report))
            self.assertLessEqual(report.longest_gap_ms, DRAINED_GAP_MS)

    def wait_relays(self):
        """Wait until all tunnels are up, the relays of both bridges, too."""
        for name in self.cloud.gateways:
            nodes.wait_until(f'the tunnels of {name} are up', lambda n=name:
                             chassis.tunnels_up(self.cloud[n]), base.SETTLE)

        def states():
            return self.cloud['gw1'].out(
                'ovs-vsctl', '--bare', '--columns=bfd_status', 'find',
                'Interface', 'external_ids:ovn-network-agent=managed'
            ).strip().split('\n\n')
        nodes.wait_until(
            lambda: f'two relays are up: {states()}',
            lambda: len(states()) == 2 and all(
                'state=up' in state for state in states()), base.SETTLE)

    def test_a_vlan_device_goes(self):
        """It comes back, with all that was on it."""
        self.cloud['gw1'].run(['ip', 'link', 'del', 'br-ex.101'])
        nodes.wait_until(
            lambda: f'the device is back: {self.devices("gw1")}',
            lambda: self.devices('gw1') == list(DEVICES), base.SETTLE)
        self.reach_all()

    def test_a_device_of_another_program(self):
        """Row D24: a wrong one is not adopted; a right one stays as is."""
        node, since = self.cloud['gw1'], self.mark('gw1')
        self.replace(node, 'br-ex.102 type dummy')
        self.wait_said('gw1', 'br-ex.102 is there and is not VLAN 102', since)
        for address in (self.addresses[1], self.addresses[4]):
            self.reach(self.client, 'icmp', address)
        self.assertIn('dummy', node.out('ip', '-d', 'link', 'show',
                                        'br-ex.102'))
        self.replace(node, 'link br-ex name br-ex.102 type vlan id 102')
        self.reach_all()
        self.assertEqual(list(DEVICES), self.devices('gw1'))
        self.assertNotIn(ownership.LINK_ALIAS, node.out(
            'ip', '-d', 'link', 'show', 'br-ex.102'))
        node.run(['ip', 'link', 'del', 'br-ex.102'])
        self.reach_all()

    def replace(self, node, added):
        """Put another device in the place of br-ex.102.

        The kernel tells of the removal before it ends.  So the agent may make
        its own device before ours is added, and then that one goes, too.

        :param added: arguments of ``ip link add``
        """
        def replaced():
            try:
                node.batch(f'link del br-ex.102\nlink add {added}\n')
            except nodes.NodeError as error:
                self.assertIn('File exists', str(error))
                return False
            return True
        nodes.wait_until('our device is there', replaced, base.SETTLE)

    def test_a_patch_port_is_made_again(self):
        """Row D57: the flows follow its new number."""
        for bridge, address in ((plan.BRIDGE, self.addresses[1]),
                                (plan.FURTHER_BRIDGE, self.addresses[4])):
            before = self.patch_ports('gw1', bridge)
            for port in before:
                self.cloud['gw1'].run(['ovs-vsctl', 'del-port', bridge, port])
            nodes.wait_until(
                'the flows have followed', lambda old=before, of=bridge:
                self.have_followed('gw1', of, old), base.SETTLE)
            self.reach(self.client, 'icmp', address)
        self.reach_all()

    def have_followed(self, name, bridge, before):
        """Whether flows have the numbers of patch ports that are all new.

        A port that ovn-controller makes again before Open vSwitch has seen its
        end keeps its number.
        """
        after = self.patch_ports(name, bridge)
        rows = [{row for row, _number in ports.values()}
                for ports in (before, after)]
        return (before.keys() == after.keys() and rows[0].isdisjoint(rows[1])
                and {number for _row, number in after.values()} ==
                {line.split('in_port=')[1].partition(' ')[0]
                 for line in self.flows_of(name, bridge)
                 if line.startswith(f'{ownership.PRIORITY_MAC_TWEAK:d},')})

    def test_an_unresolved_segment(self):
        """Rows D25 and T50: all that is there stays as it is."""
        network, address = self.networks[1], self.addresses[1]
        since = self.mark('gw1')
        self.cloud.neutron.set_localnet(network, network_name='nowhere')
        try:
            self.wait_said('gw1', 'physical network nowhere', since)
            for others in (0, 2, 3, 4):
                self.reach(self.client, 'icmp', self.addresses[others])
            self.assertEqual(list(DEVICES), self.devices('gw1'))
            self.assertEqual('gw1', self.cloud.announcer(address))
        finally:
            self.cloud.neutron.set_localnet(
                network, network_name=plan.PHYSICAL_NETWORK)
        self.reach_all()
