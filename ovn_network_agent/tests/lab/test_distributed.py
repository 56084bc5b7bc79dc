# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Distributed floating IPs: the nodes of the machines announce them."""

import contextlib
import datetime
import itertools
import json
import time

from lab import dual
from lab import echo
from lab import machines as announcing
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

# Of the distributed floating IP of IPv6.
MAC6 = 'fa:16:3e:00:66:01'
# Of the network of a machine with SR-IOV.
EXTERNAL_VLAN = 120
# Of a compute node, as the documentation has it.
COMPUTE = {'DEFAULT': {'drivers': 'fip_route,veth_leak'}}


class TestDistributed(base.LabTestCase):
    """gw1 is the gateway; gw2 and gw3 are compute nodes with an uplink."""

    GATEWAYS = 3
    AGENTS = False

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cls.router = cloud.add_router('alpha', ['gw1', 'gw3'])
        cls.other = cloud.add_router('beta', ['gw1'])
        cls.one, cls.one_fip = cls.distributed('gw2')
        cls.two, cls.two_fip = cls.distributed('gw3')
        cls.near, cls.near_fip = cls.distributed('gw2')
        cloud.add_ipv6()
        cls.dual = dual.Dual(cloud.neutron, cls.router, 1)
        cls.one_fip6 = cls.dual.floating_ip(cls.dual.machine(cls.one))
        cls.dual.distribute(cls.one_fip6, cls.one, MAC6)
        tagged = cloud.add_router(
            'tagged', ['gw1'], provider=cloud.neutron.add_provider_network(
                'tagged', next(plan.FURTHER_PROVIDERS.subnets(new_prefix=24)),
                plan.PHYSICAL_NETWORK, 101))
        cls.vlan, cls.vlan_fip = cls.distributed('gw3', tagged)
        cls.central, cls.central_fip = cls.machine(cls.router)
        cls.foreign, cls.foreign_fip = cls.machine(cls.other)
        echo.start(cloud['client'])
        cloud.start_agents(cls.configuration(), ['gw1'])
        cloud.start_agents(cls.compute(), ['gw2', 'gw3'])

    @classmethod
    def compute(cls):
        return {**cls.configuration(), **COMPUTE}

    @classmethod
    def distributed(cls, host, router=None):
        """A machine with a distributed floating IP, of router alpha."""
        vm, fip = cls.machine(router or cls.router, host=host)
        cls.cloud.neutron.set_distributed(fip, True)
        return vm, fip

    def setUp(self):
        super().setUp()
        self.settled()

    def settled(self):
        for fip, name in ((self.one_fip, 'gw2'), (self.two_fip, 'gw3'),
                          (self.near_fip, 'gw2'), (self.vlan_fip, 'gw3'),
                          (self.central_fip, 'gw1'),
                          (self.foreign_fip, 'gw1')):
            self.alone(fip, name)
        self.cloud.wait_announced6(self.one_fip6, 'gw2', base.SETTLE)

    def alone(self, fip, name):
        """Wait until one node alone announces an address."""
        wanted = [plan.UPLINKS[name][1]]
        nodes.wait_until(
            lambda: f'{name} alone announces {fip.address}: '
                    f'{self.hops(fip.address)}',
            lambda: self.hops(fip.address) == wanted, base.SETTLE)

    def sent(self, name):
        return self.transmitted(name, 'uplink')

    def test_from_outside_and_to_the_outside(self):
        """Rows DFR-01 and DFR-02; packets do not cross the gateway."""
        for vm, fip in ((self.one, self.one_fip), (self.two, self.two_fip),
                        (self.near, self.near_fip),
                        (self.vlan, self.vlan_fip),
                        (self.central, self.central_fip)):
            self.reach(self.client, 'icmp', fip.address)
            report = self.reach(vm.node, 'udp', plan.CLIENT)
            self.assertEqual({fip.address}, report.seen_sources)
        for kind in ('tcp', 'udp'):
            self.reach(self.client, kind, self.one_fip6)
            report = self.reach(self.one.node, kind, plan.CLIENT6)
            self.assertEqual({self.one_fip6}, report.seen_sources)
        before = self.cloud['gw1'].out('ovs-ofctl', 'dump-flows', 'br-ex')
        for address in (self.one_fip.address, self.one_fip6):
            self.assertNotIn(f'{address} ', before)

    def test_live_migration(self):
        """Row DFR-05, there and back, under probes."""
        address = self.one_fip.address
        try:
            for source, target in (('gw2', 'gw3'), ('gw3', 'gw2')):
                self.cloud[target].spawn('routes', [
                    'ip', '-timestamp', 'monitor', 'route'])
                with self.probing(address) as running:
                    began = time.time()
                    bound = self.migrate(source, target)
                    self.cloud.wait_announced(address, target, base.SETTLE)
                    followed = time.time() - bound
                    running.wait_answered(base.SETTLE,
                                          after=time.monotonic())
                    report = running.stop()
                base.note(
                    f'{source} to {target}: after OVN had '
                    'bound the port, the kernel had the agent\'s route after '
                    f'{self.routed(target, began) - bound:.3f} s and the '
                    f'spine its own after {followed:.3f} s; {report}')
                self.cloud[target].stop('routes')
                self.alone(self.one_fip, target)
                self.wait_gone(source, address)
                self.cloud.wait_announced6(self.one_fip6, target,
                                           base.SETTLE)
                for kind in ('tcp', 'udp'):
                    self.reach(self.client, kind, self.one_fip6)
        finally:
            if self.cloud.announcer(address) == 'gw3':
                self.cloud.migrate(self.one, 'gw3', 'gw2')

    def migrate(self, source, target):
        """Migrate a machine; returns when OVN has bound the port there.

        :returns: seconds since the epoch
        """
        moments = []

        def listen(row):
            if (row._table.name == 'Port_Binding' and
                    row.logical_port == self.one.port.uuid and
                    [each.hostname for each in row.chassis] == [target] and
                    row.up == [True]):
                moments.append(time.time())

        self.cloud.sb.idl.listeners.append(listen)
        try:
            self.cloud.migrate(self.one, source, target)
            nodes.wait_until('OVN has bound the port', lambda: moments,
                             base.SETTLE)
        finally:
            self.cloud.sb.idl.listeners.remove(listen)
        return moments[0]

    def routed(self, name, since):
        """When the kernel got the agent's route, seconds since the epoch.

        :param since: seconds since the epoch
        """
        stamp = None
        for line in self.cloud[name].log('routes').splitlines():
            if line.startswith('Timestamp:'):
                # Such as "Tue Nov 24 14:38:00 2026 123456 usec".
                _word, _colon, text = line.partition(': ')
                *date, micros, _unit = text.split()
                stamp = datetime.datetime.strptime(
                    ' '.join(date), '%a %b %d %H:%M:%S %Y').timestamp() + (
                        int(micros) / 1e6)
            elif (line.startswith(self.one_fip.address) and stamp and
                  stamp >= since):
                return stamp
        raise LookupError(self.cloud[name].log('routes'))

    def test_the_mode_of_an_address_changes(self):
        """Row DFR-03: Neutron's flag, to and fro under probes."""
        address = self.one_fip.address
        with contextlib.ExitStack() as stack:
            halted = []
            for distributed, name in ((False, 'gw1'), (True, 'gw2')):
                running = stack.enter_context(self.probing(address))
                self.cloud.neutron.set_distributed(self.one_fip, distributed)
                self.alone(self.one_fip, name)
                running.wait_answered(base.SETTLE, after=time.monotonic())
                running.halt()
                halted.append((name, running))
            self.wait_gone('gw1', address)
            for name, running in halted:
                base.note(f'to {name}: {running.stop()}')

    def test_an_agent_is_killed_and_one_stops(self):
        address = self.two_fip.address
        agent = self.cloud.agents['gw3']
        with self.probing(address) as running:
            agent.kill()
            agent.start()
            agent.wait_ready()
            self.lossless(running)
        since = self.mark('gw3')
        self.assertEqual(0, agent.stop())
        self.assertIn('2 distributed floating IPs are withdrawn now '
                      f'({self.vlan_fip.address}, {address})',
                      self.said('gw3', since))
        self.cloud.wait_withdrawn(address, base.SETTLE)
        self.wait_gone('gw3', address)
        agent.start()
        agent.wait_ready()
        self.alone(self.two_fip, 'gw3')
        probe.wait_reachable(self.client, 'icmp', address, base.SETTLE)

    def test_each_to_each(self):
        """Row DFR-13: on one node, between nodes, of other routers."""
        machines = ((self.one, self.one_fip), (self.two, self.two_fip),
                    (self.near, self.near_fip), (self.vlan, self.vlan_fip),
                    (self.central, self.central_fip),
                    (self.foreign, self.foreign_fip))
        # The answers take the other way of each pair.
        for (vm, _own), (_vm, fip) in itertools.combinations(machines, 2):
            self.reach(vm.node, 'icmp', fip.address)

    def test_the_binding_is_of_no_node(self):
        """Row DFR-09, and DFR-10: the route is of the gateway."""
        rows = {row.logical_port: row.mac for row in self.cloud.nb.rows(
            'Static_MAC_Binding')}
        self.assertEqual(ownership.VIRTUAL_GATEWAY_MAC,
                         rows[self.router.lrp])
        self.assertNotEqual(ownership.VIRTUAL_GATEWAY_MAC,
                            rows[self.other.lrp])
        self.assertEqual({'gw1'}, {
            row.external_ids[ownership.EXT_ID_CHASSIS] for row in
            self.cloud.nb.rows('Logical_Router_Static_Route')})

    def test_what_doctor_and_explain_say(self):
        """A compute node is healthy, and each node names the right one."""
        for name in ('gw2', 'gw1'):
            done = self.cloud.agents[name].look('doctor', '--json')
            self.assertEqual([], [
                one for one in json.loads(done.stdout)['findings']
                if one['verdict'] == 'FAIL'], name)
        one, central = self.one_fip.address, self.central_fip.address
        for name, address, wanted in (
                ('gw2', one, 'ok'), ('gw1', central, 'ok'),
                ('gw1', one, 'elsewhere'), ('gw3', one, 'elsewhere'),
                ('gw2', central, 'elsewhere'), ('gw2', self.one_fip6, 'ok'),
                ('gw1', self.one_fip6, 'elsewhere')):
            done = self.cloud.agents[name].look(
                'explain', address, '--json')
            said = json.loads(done.stdout)
            self.assertEqual(wanted, said['outcome'], said)
        self.assertIn('gw2 has the address', self.cloud.agents['gw1'].ctl(
            'explain', self.one_fip.address, check=False).stdout)
        found = json.loads(self.cloud.agents['gw2'].ctl(
            'fips', '--json').stdout)
        rows = {row['address']: row['state'] for row in found['addresses']}
        self.assertEqual({self.one_fip.address: 'announced',
                          self.one_fip6: 'announced',
                          self.near_fip.address: 'announced'}, rows)

    def test_a_port_that_is_down(self):
        """Row DFR-06: nobody announces the address of a machine without."""
        address = self.near_fip.address
        self.cloud.unplug(self.near, 'gw2')
        self.cloud.wait_withdrawn(address, base.SETTLE)
        self.wait_gone('gw2', address)
        self.cloud.replug(self.near, 'gw2')
        self.alone(self.near_fip, 'gw2')
        self.reach(self.client, 'icmp', address)

    def test_the_gateway_moves(self):
        """The machines' addresses have no part in it, not even there."""
        neutron = self.cloud.neutron
        with self.probing(self.two_fip.address) as running:
            for name, other in (('gw3', 'gw1'), ('gw1', 'gw3')):
                neutron.set_priorities(self.router, {name: 20, other: 10})
                self.cloud.wait_owner(self.router, name)
                self.alone(self.central_fip, name)
                self.reach(self.client, 'icmp', self.central_fip.address)
            self.lossless(running)

    def test_a_node_without_the_network(self):
        """Row DFR-11: it says so, and announces nothing new."""
        node, since = self.cloud['gw3'], self.mark('gw3')
        node.run(['ovs-vsctl', 'remove', 'Open_vSwitch', '.', 'external_ids',
                  'ovn-bridge-mappings'])
        try:
            vm, fip = type(self).distributed('gw3')
            self.wait_said('gw3', f'{fip.address}) of machines on this '
                           'chassis cannot be delivered', since)
            # The gateway had it until the address became distributed.
            self.cloud.wait_withdrawn(fip.address, base.SETTLE)
        finally:
            node.run(['ovs-vsctl', 'set', 'Open_vSwitch', '.',
                      'external_ids:ovn-bridge-mappings='
                      f'{plan.PHYSICAL_NETWORK}:{plan.BRIDGE}'])
        self.alone(fip, 'gw3')
        self.reach(self.client, 'icmp', fip.address)
        self.cloud.neutron.remove_fips(self.router, [fip])
        self.cloud.unplug(vm, 'gw3')
        self.cloud.wait_withdrawn(fip.address, base.SETTLE)

    def test_the_first_machine_of_a_node(self):
        """Row DFR-12: its patch port is made for it, and found at once."""
        node = self.cloud['gw2']
        machines = ((self.one, self.one_fip), (self.near, self.near_fip))
        for vm, _fip in machines:
            self.cloud.unplug(vm, 'gw2')
        try:
            for _vm, fip in machines:
                self.cloud.wait_withdrawn(fip.address, base.SETTLE)
            # ovn-controller removes what nobody needs only now and then.
            node.run(['ovn-appctl', '-t', 'ovn-controller', 'recompute'])
            nodes.wait_until('no port needs the network', lambda: (
                'patch-provnet' not in node.out(
                    'ovs-vsctl', 'list-ports', plan.BRIDGE)), base.SETTLE)
        finally:
            for vm, _fip in machines:
                self.cloud.replug(vm, 'gw2')
        for _vm, fip in machines:
            self.alone(fip, 'gw2')
            self.reach(self.client, 'icmp', fip.address)

    def test_a_virtual_port(self):
        """Row DFR-04: an address that machines share, as with VRRP."""
        neutron = self.cloud.neutron
        shared = str(self.router.internal.cidr[200])
        port = neutron.add_virtual_port(
            shared, [self.one.port, self.two.port])
        fip = self.floating_ip(self.router, shared)
        neutron.set_distributed(fip, True, port)
        self.cloud.wait_withdrawn(fip.address, base.SETTLE)
        for vm, name in ((self.one, 'gw2'), (self.two, 'gw3')):
            vm.node.batch(f'addr add {shared}/32 dev eth0\n')
            try:
                # As keepalived does: OVN 25.03 sends to the machine that it
                # has learned, and OVN 23.03 to the parent of the port.
                vm.node.call(announcing.address, shared)
                # OVN learns from the answer who has the address.
                self.near.node.run(['ip', 'neigh', 'flush', 'dev', 'eth0'])
                probe.wait_reachable(self.near.node, 'icmp', shared,
                                     base.SETTLE)
                self.alone(fip, name)
                self.reach(self.client, 'icmp', fip.address)
            finally:
                vm.node.batch(f'addr del {shared}/32 dev eth0\n')

    def test_an_external_port(self):
        """Row DFR-15: the chassis of its group has the address.

        Such a machine, with SR-IOV for example, is on the VLAN of its network,
        past Open vSwitch.
        """
        neutron = self.cloud.neutron
        router = self.cloud.add_router('sriov', ['gw1'])
        self.addCleanup(neutron.remove_router, router)
        vm, fip = self.distributed('gw2', router)
        self.addCleanup(self.cloud.unplug, vm, 'gw2')
        self.cloud.unplug(vm, 'gw2')
        self.cloud.wait_withdrawn(fip.address, base.SETTLE)
        neutron.set_external(vm.port, EXTERNAL_VLAN, {'gw2': 2, 'gw3': 1})
        self.cloud.replug(vm, 'gw2', EXTERNAL_VLAN)
        self.alone(fip, 'gw2')
        self.reach(self.client, 'icmp', fip.address)
        report = self.reach(vm.node, 'udp', plan.CLIENT)
        self.assertEqual({fip.address}, report.seen_sources)
        for priority, name in (3, 'gw3'), (4, 'gw2'):
            self.cloud['central'].run([
                'ovn-nbctl', 'ha-chassis-group-add-chassis',
                'neutron-' + vm.port.uuid, plan.system_id(name),
                str(priority)])
            self.alone(fip, name)
        self.reach(self.client, 'icmp', fip.address)
