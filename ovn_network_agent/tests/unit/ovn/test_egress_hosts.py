# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The machines that nodes translate, from rows of NB."""

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovn.egress import egress_hosts
from ovn_network_agent.tests.unit.ovn import atoms
from ovn_network_agent.tests.unit.ovn import egress
from ovn_network_agent.tests.unit.ovn import peers

HERE = 'gw1'


def marks(name='firewall', address='203.0.113.77', chassis=HERE):
    return egress.marks(name, address, chassis)


class EgressHostsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.tables = atoms.Tables(egress_hosts.EgressHosts())
        self.uplink('r1', '198.51.100.1/24', '2001:db8:5::1/64', vlan=7)

    def put(self, table, name, /, **columns):
        self.tables.set(table, egress.uuid_of(name), columns)
        return egress.uuid_of(name)

    def uplink(self, router, *networks, vlan=0, nat=()):
        """A router with a gateway port in a provider network."""
        lrp = f'lrp-{router}'
        port = self.put('Logical_Router_Port', lrp, name=lrp,
                        mac='FA:16:3E:00:00:01', networks=list(networks),
                        gateway_chassis=[peers.key(9)])
        inner = self.put('Logical_Router_Port', lrp + '-in',
                         name=lrp + '-in', mac='', networks=['10.0.1.1/24'])
        self.put('Logical_Router', router, name='neutron-' + router,
                 external_ids={'neutron:router_name': router},
                 ports=[inner, port], nat=list(nat))
        place = egress.uuid_of('datapath')
        self.put('Port_Binding', 'patch-' + lrp, type='patch',
                 options={'peer': lrp}, datapath=[place])
        self.put('Port_Binding', 'provnet', type='localnet',
                 tag=[vlan] if vlan else [], datapath=[place],
                 options={'network_name': 'physnet1'})

    def nat(self, name, router='r1', machine='10.0.1.9', external_ids=None,
            **columns):
        return self.put('NAT', name, type='snat', logical_ip=machine,
                        external_ip=machine,
                        external_ids=external_ids or marks(), **columns)

    def found(self):
        return sorted((each for alone in self.tables.subjects().values()
                       for each in alone.values()),
                      key=lambda each: (each.router, each.machine))

    def test_both_families(self):
        rows = [self.nat('one'), self.nat(
            'two', machine='fd01::9', external_ids=marks(
                address='2001:db8:7::77'))]
        self.uplink('r1', '198.51.100.1/24', '2001:db8:5::1/64', vlan=7,
                    nat=rows)
        four, six = self.found()
        self.assertEqual(model.EgressHost(
            'firewall', '203.0.113.77', HERE, '10.0.1.9',
            str(egress.uuid_of('r1')), four.called, 'lrp-r1',
            'fa:16:3e:00:00:01', '198.51.100.1', (('physnet1', 7),)), four)
        self.assertIn('r1', four.called)
        self.assertEqual(('fd01::9', '2001:db8:5::1'), (six.machine, six.via))
        self.assertEqual((), self.tables.made.problems)

    def test_rows_of_others(self):
        self.uplink('r1', '198.51.100.1/24', nat=[
            self.nat('one', external_ids={'a': 'b'}),
            self.nat('two', external_ids={
                ownership.EXT_ID_EGRESS_CHASSIS: HERE})])
        self.assertEqual([], self.found())

    def test_no_router_and_no_port(self):
        row = self.nat('one')
        self.assertEqual([], self.found())
        self.uplink('r1', '2001:db8:5::1/64', nat=[row])
        self.assertEqual([('', ())], [
            (each.via, each.segments) for each in self.found()])
        self.uplink('r1', '198.51.100.1/24', nat=[row])
        self.assertEqual(['198.51.100.1'], [each.via for each in self.found()])
        self.put('NAT', 'one')
        self.assertEqual([], self.found())

    def test_two_machines_with_one_address(self):
        self.uplink('r2', '198.51.100.2/24', nat=[self.nat(
            'two', external_ids=marks('database'))])
        self.uplink('r1', '198.51.100.1/24', nat=[self.nat('one')])
        taken = {each.name: each.taken_by for each in self.found()}
        self.assertEqual({'database': '', 'firewall': 'database'}, taken)
        # On two nodes, each has its own.
        self.nat('two', external_ids=marks('database', chassis='gw2'))
        self.assertEqual({''}, {each.taken_by for each in self.found()})

    def test_a_bad_row_costs_itself(self):
        self.uplink('r1', '198.51.100.1/24', nat=[
            self.nat('one'), self.nat('two', machine='10.0.1.8',
                                      external_ids=marks(address='x'))])
        self.assertEqual(['10.0.1.9'], [each.machine for each in self.found()])
        problem, = self.tables.made.problems
        self.assertIn(str(egress.uuid_of('two')), problem)

    def test_the_chosen_port(self):
        row = self.nat('one')
        self.uplink('r1', '198.51.100.1/24', nat=[row])
        other = self.put('Logical_Router_Port', 'a', name='a', mac='',
                         networks=['192.0.2.1/24'],
                         gateway_chassis=[peers.key(9)])
        self.put('Logical_Router', 'r1', name='r1', external_ids={'a': 'b'},
                 nat=[row], ports=[egress.uuid_of('lrp-r1'), other])
        for chosen, port in (([], 'a'), ([egress.uuid_of('lrp-r1')],
                                         'lrp-r1')):
            self.nat('one', gateway_port=chosen)
            self.assertEqual([port], [each.port for each in self.found()])
