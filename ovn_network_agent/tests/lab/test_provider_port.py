# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines on provider networks: the nodes of the machines announce them."""

import contextlib
import itertools
import signal
import statistics
import time

from lab import dump
from lab import echo
from lab import frr
from lab import machines as announcing
from lab import node as nodes
from lab import plan
from lab import probe
from lab import withdrawals
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import captured
from ovn_network_agent.tests.lab import leaving

# VLAN tag between a machine and its trunk, and a routing table there.
SUBPORT = 55
# Of the network with a VLAN, by family.
VLAN = 101
TAGGED = {4: next(plan.FURTHER_PROVIDERS.subnets(new_prefix=24)),
          6: plan.FURTHER_PROVIDER6}
# What the agent and BGP may add to the outage of OVN in a live migration,
# milliseconds.
MIGRATION_MS = 300


class ProviderPorts:
    """The tests: machines on two nodes, on a flat network and on a VLAN.

    Router alpha on gw1 is on the flat network, and no router on the VLAN.

    :cvar PAIRS: whether the agents announce allowed address pairs
    """

    PAIRS = False

    CONFIG = {
        'DEFAULT': {
            'drivers':
                'fip_route,veth_leak,gateway_drain,port_forward,provider_port',
            # Events alone have to do.
            'reconcile_interval': 3600},
        # What stays behind is tested, and not the drain.
        'gateway_drain': {'drain_on_shutdown': 'false'}}

    @classmethod
    def build(cls):
        cloud = cls.cloud
        echo.start(cloud['client'])
        cls.router = cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.inner, cls.fip = cls.machine(cls.router, host='gw1')
        flat = cloud.neutron.provider
        vlan = cloud.neutron.add_provider_network(
            'tagged', TAGGED[cls.FAMILY], plan.PHYSICAL_NETWORK, VLAN)
        cls.homes = {cls.machine(network, False, name)[0]: name
                     for network, name in (
                         (flat, 'gw1'), (flat, 'gw1'), (flat, 'gw2'),
                         (vlan, 'gw1'), (vlan, 'gw2'))}
        cls.one, cls.near, cls.far, cls.tagged, cls.tagged_far = cls.homes
        cls.before = cls.state('gw1')

    def setUp(self):
        super().setUp()
        self.settled()

    def settled(self):
        """Wait until each machine is announced where it is."""
        for vm, name in self.homes.items():
            self.cloud.wait_announced(vm.port.address, name, base.SETTLE)
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)

    @contextlib.contextmanager
    def nothing_lost(self, *machines):
        """Probes both ways: none may be lost, and no route withdrawn."""
        with contextlib.ExitStack() as stack:
            withdrawn = stack.enter_context(
                withdrawals.Withdrawals(self.cloud, self.FAMILY))
            running = [stack.enter_context(each) for vm in machines
                       for each in (self.probing(vm.port.address),
                                    self.probing(self.family.client,
                                                 node=vm.node))]
            yield
            for each in running:
                self.lossless(each)
            addresses = {vm.port.address for vm in machines}
            self.assertEqual([], [line for line in withdrawn.seen()
                                  if addresses & set(line.split())])

    # -- traffic ----------------------------------------------------------

    def test_from_and_to_the_client(self):
        """Both ways, and with the machines' own addresses."""
        for vm in self.homes:
            for kind in ('tcp', 'udp'):
                self.reach(self.client, kind, vm.port.address, patience=0)
            report = self.reach(vm.node, 'udp', self.family.client,
                                patience=0)
            self.assertEqual({vm.port.address}, report.seen_sources)

    def test_each_to_each(self):
        """On one node and on two, and on another network."""
        for one, other in itertools.combinations(self.homes, 2):
            report = self.reach(one.node, 'udp', other.port.address,
                                patience=0)
            self.assertEqual({one.port.address}, report.seen_sources)

    def test_nothing_leaves_for_another_node(self):
        """Neither by the uplink, nor by a port of the bridge.

        Not even from machines with the MAC of the other node as gateway.
        """
        ways = [(self.one, self.near.port.address),
                (self.one, self.far.port.address),
                (self.tagged, self.tagged_far.port.address),
                (self.near, self.family.client)]
        others = {self.mac('gw2'), self.far.port.mac, self.tagged_far.port.mac}
        for vm in self.one, self.near, self.tagged:
            self.gateway_is(vm, 'gw2')
        agent, before = self.cloud.agents['gw1'], self.flows('gw1')
        with captured.leaving(self.cloud['gw1'], 'eth1') as macs:
            for vm, target in ways:
                self.reach(vm.node, 'udp', target, patience=0)
            left = macs()
            self.assertIn(self.mac('spine', 'to-gw1'), left)
            self.assertEqual(set(), left & others)
            # Without the flows, it is seen.
            agent.freeze()
            try:
                self.cloud['gw1'].run([
                    'ovs-ofctl', 'del-flows', plan.BRIDGE, 'cookie='
                    f'{ownership.COOKIE_MAC_TWEAK:#x}/-1'])
                for vm, target in ways[1:]:
                    self.assertTrue(probe.unreachable(
                        vm.node, 'udp', target, 3, 0.02, 0.1))
                self.assertEqual(others, macs() & others)
            finally:
                agent.thaw()
        nodes.wait_until('the flows are back', lambda: (
            self.flows('gw1').keys() == before.keys()), base.SETTLE)

    # -- machines that move -----------------------------------------------

    def gateway_is(self, vm, name):
        """A machine takes the MAC of a node as that of its gateway.

        :returns: text for "ip -batch"
        """
        line = (f'neigh replace {vm.port.network.gateway} lladdr '
                f'{self.mac(name)} dev eth0 nud permanent\n')
        vm.node.batch(line)
        self.addCleanup(vm.node.batch, line.replace('permanent', 'stale'))
        return line

    def _add(self, vm, address):
        """A machine has a further address, from which it begins nothing."""
        vm.node.batch(f'addr add {self.family.prefix(address)} dev eth0 '
                      f'preferred_lft 0 {self.family.unchecked}\n')

    def _give_up(self, vm, address):
        vm.node.batch(f'addr del {self.family.prefix(address)} dev eth0\n')

    def test_a_trunk_and_address_pairs(self):
        """A subport is like any port; pairs are announced by option."""
        vm, network = self.tagged, self.cloud.neutron.provider
        pair = str(vm.port.network.cidr[202])
        self.cloud.neutron.set_addresses(vm.port, vm.port.address,
                                         pairs=[pair])
        self._add(vm, pair)
        subport = self.cloud.neutron.add_subport(vm.port, network, SUBPORT)
        address = subport.address
        length = network.cidr.prefixlen
        vm.node.batch(
            f'link add link eth0 name sub0 type vlan id {SUBPORT}\n'
            'link set sub0 up\n'
            f'addr add {address}/{length:d} dev sub0 {self.family.unchecked}\n'
            f'route add {self.family.default} via {network.gateway} dev sub0 '
            f'table {SUBPORT}\n')
        vm.node.batch(f'rule add from {address} table {SUBPORT}\n',
                      self.family.option)
        self.cloud.wait_announced(address, 'gw1', base.SETTLE)
        self.reach(self.client, 'udp', address)
        report = self.reach(vm.node, 'udp', self.family.client,
                            source=address)
        self.assertEqual({address}, report.seen_sources)
        self.assertEqual(['gw1'] if self.PAIRS else [],
                         self.cloud.announcers(pair))
        if self.PAIRS:
            self.reach(self.client, 'tcp', pair)
        self.cloud.neutron.set_addresses(vm.port, vm.port.address)
        self.cloud.neutron.remove_port(subport.uuid)
        self._give_up(vm, pair)
        vm.node.batch('link del sub0\n')
        for gone in address, pair:
            self.cloud.wait_withdrawn(gone, base.SETTLE)
            self.wait_gone('gw1', gone)

    # -- programs that die ------------------------------------------------


class TestProviderPortStatic(ProviderPorts, base.LabTestCase):
    """With static routes, IPv4, pairs, no VRF; and what no kind concerns."""

    VRF = False
    PAIRS = True
    CONFIG = {**ProviderPorts.CONFIG,
              'provider_port': {'allowed_address_pairs': 'true'}}

    def test_kill_and_restart_of_frr(self):
        """The machines of the node come back, the others notice nothing."""
        node, there = self.cloud['gw2'], (self.far, self.tagged_far)
        with self.nothing_lost(self.one):
            frr.stop(node, signal.SIGKILL)
            for vm in there:
                self.cloud.wait_withdrawn(vm.port.address, base.SETTLE)
            frr.start(node, self.cloud.routing('gw2'))
            self.settled()
        for vm in there:
            self.reach(self.client, 'icmp', vm.port.address)
            self.reach(vm.node, 'icmp', self.family.client)

    def test_a_port_that_is_down(self):
        for vm in (self.far, self.tagged_far):
            address = vm.port.address
            self.cloud.unplug(vm, 'gw2')
            self.cloud.wait_withdrawn(address, base.SETTLE)
            self.wait_gone('gw2', address)
            self.cloud.replug(vm, 'gw2')
            self.cloud.wait_announced(address, 'gw2', base.SETTLE)
            self.reach(self.client, 'icmp', address)

    def test_a_second_address(self):
        """It comes and goes, and the first one stays."""
        vm, second = self.tagged, str(self.tagged.port.network.cidr[201])
        with self.nothing_lost(vm):
            self.cloud.neutron.set_addresses(vm.port, vm.port.address, second)
            self._add(vm, second)
            self.cloud.wait_announced(second, 'gw1', base.SETTLE)
            self.reach(self.client, 'icmp', second)
            self.cloud.neutron.set_addresses(vm.port, vm.port.address)
            self.cloud.wait_withdrawn(second, base.SETTLE)
            self.wait_gone('gw1', second)
        self._give_up(vm, second)

    def test_kill_and_restart_of_ovn_controller(self):
        """SB shows nothing of it, and all stays."""
        since = self.mark('gw1')
        with self.nothing_lost(self.one, self.tagged):
            self.replace_controller('gw1')
        self.assertEqual([], self.changes('gw1', since))

    def test_a_floating_ip_of_this_node(self):
        for vm in (self.near, self.tagged):
            self.reach_each_other(vm)

    def test_a_floating_ip_of_another_node(self):
        for vm in (self.far, self.tagged_far):
            self.reach_each_other(vm)

    def reach_each_other(self, vm):
        """A machine and that of the floating IP, with these addresses."""
        report = self.reach(vm.node, 'udp', self.fip.address, patience=0)
        self.assertEqual({vm.port.address}, report.seen_sources)
        report = self.reach(self.inner.node, 'udp', vm.port.address,
                            patience=0)
        self.assertEqual({self.fip.address}, report.seen_sources)

    def test_live_migration(self):
        """There and back, beside a migration that is none of our business.

        OVN alone takes the machine of the floating IP along, since its router
        stays.  The other machine takes the MAC of its gateway along.
        """
        vm = self.tagged if self.FAMILY == 4 else self.one
        vm.lines = self.gateway_is(vm, 'gw1')
        self.addCleanup(setattr, vm, 'lines', '')
        added = []
        for source, target in (('gw1', 'gw2'), ('gw2', 'gw1')):
            alone, ours = self.migrated(vm, source, target)
            base.note(f'{self.kind}, {vm.port.network.name}, {source} to '
                      f'{target}: {ours}; OVN alone: {alone}')
            added.append(ours.longest_silence_ms - alone.longest_silence_ms)
        # One trip varies: all nodes share a processor.
        self.assertLessEqual(statistics.mean(added), MIGRATION_MS, added)

    def migrated(self, vm, source, target):
        """Reports of a live migration by OVN alone, and of a machine's."""
        with (self.probing(self.fip.address) as floor,
              self.probing(vm.port.address) as running):
            self.homes[vm] = target
            for each, migrating in ((floor, self.inner), (running, vm)):
                self.cloud.activate(migrating, source, target)
                each.wait_answered(base.SETTLE, after=time.monotonic())
                self.cloud.unplug(migrating, source)
            self.each_alone()
            for each in floor, running:
                each.halt()
            return floor.stop(), running.stop()

    def test_a_virtual_ip(self):
        """Machines of one node and of two have it in turn, as with VRRP."""
        shared = str(self.family.provider[200])
        self.addCleanup(
            self.cloud.neutron.remove_port,
            self.cloud.neutron.add_virtual_port(
                shared, [vm.port for vm in (self.one, self.near, self.far)]))
        self._take(self.one, shared)
        with self.probing(shared) as running:
            for former, vm in itertools.pairwise(
                    (self.one, self.near, self.far, self.one)):
                self._give_up(former, shared)
                self._take(vm, shared)
                running.wait_answered(base.SETTLE, after=time.monotonic())
            report = running.stop()
        self._give_up(self.one, shared)
        base.note(f'{self.kind}, virtual IP: {report}')
        self.assertLess(report.longest_gap_ms, leaving.DEATH_MS)

    def _take(self, vm, shared):
        """A machine takes a virtual IP, and says so until all have heard.

        As from keepalived, a first announcement may come too early for OVN.
        """
        self._add(vm, shared)

        def taken():
            vm.node.call(announcing.address, shared)
            return self.cloud.announcers(shared) == [self.homes[vm]]
        nodes.wait_until(f'{vm.node.name} has {shared}', taken, base.SETTLE)

    def test_kill_and_restart_of_the_agent(self):
        """What changed meanwhile is taken in, and nothing else changes."""
        agent, gone = self.cloud.agents['gw1'], self.near.port.address
        with self.nothing_lost(self.one, self.tagged):
            agent.kill()
            self.cloud.unplug(self.near, 'gw1')
            since = self.mark('gw1')
            agent.start()
            agent.wait_ready()
            self.cloud.wait_withdrawn(gone, base.SETTLE)
            self.cloud.replug(self.near, 'gw1')
            self.cloud.wait_announced(gone, 'gw1', base.SETTLE)
            self.assertEqual([], [
                change for change in self.changes('gw1', since)
                if self.family.prefix(gone) not in change])

    def test_a_stop_leaves_nothing(self):
        """No route, rule, flow, line of FRR, device; and all comes back."""
        agent = self.cloud.agents['gw1']
        here = [vm for vm, name in self.homes.items() if name == 'gw1']
        try:
            self.assertEqual(0, agent.stop())
            for vm in here:
                self.cloud.wait_withdrawn(vm.port.address, base.SETTLE)
            # Machines have come and gone meanwhile.
            self.assertEqual([], [
                line for line in dump.difference(self.before,
                                                 self.state('gw1'))
                if not line.startswith(('ip -br link: -tap',
                                        'ip -br link: +tap'))])
        finally:
            agent.start()
            agent.wait_ready()
        self.settled()
        for vm in here:
            self.reach(self.client, 'icmp', vm.port.address)

    def each_alone(self):
        """No other node announces a machine, or has anything of it."""
        for vm, name in self.homes.items():
            other, = set(self.cloud.gateways) - {name}
            self.cloud.wait_alone(vm.port.address, name, base.SETTLE)
            self.wait_gone(other, vm.port.address)
