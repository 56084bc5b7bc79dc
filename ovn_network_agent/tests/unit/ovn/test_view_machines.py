# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Distributed floating IPs in the view: which machines are on this chassis."""

from ovn_network_agent import model
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = clouds.HERE, clouds.AWAY
FIP, OTHER = '198.51.100.10', '198.51.100.11'
MAC = 'fa:16:3e:00:00:aa'
NONE = ovsdb.ovsdb_set(())


class MachinesTest(clouds.CloudTestCase):
    """Router r1 has its gateway elsewhere, and two machines."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=AWAY)
        self.cloud.add_nat('r1', FIP, external_mac=MAC.upper(),
                           logical_port='vm-1')
        self.cloud.add_nat('r1', OTHER, logical_port='vm-2')

    def residents(self, eyes):
        """The addresses of machines here, None without the router."""
        return None if eyes.router('r1') is None else {
            address for address, each in eyes.addresses('r1').items()
            if each.resident and each.answered}

    def become(self, eyes, *wanted):
        self.assertEqual(set(wanted) or None, self.residents(eyes))
        self.as_new(eyes)

    def test_a_machine_comes_moves_and_goes(self):
        eyes = self.eyes()
        self.become(eyes)
        self.cloud.add_machine('vm-1', HERE)
        self.become(eyes, FIP)
        router = eyes.router('r1')
        port, = router.ports
        self.assertEqual((False, True, (), (port,)), (
            port.local, port.hosting, router.served_ports,
            router.hosting_ports))
        self.assertEqual(
            {FIP: model.ServedAddress(router.uuid, 'r1', FIP, MAC, port,
                                      ('fip',), resident=True)},
            eyes.addresses('r1'))
        for chassis in (AWAY, HERE, None):
            self.cloud.move_machine('vm-1', chassis)
            self.become(eyes, *([FIP] if chassis == HERE else []))

    def test_only_a_port_that_is_up(self):
        self.cloud.add_machine('vm-1', HERE, up=False)
        eyes = self.eyes()
        self.become(eyes)
        self.cloud.move_machine('vm-1', HERE, up=True)
        self.become(eyes, FIP)

    def test_a_virtual_port(self):
        """The chassis of its present parent claims it."""
        self.cloud.add_machine('vm-1', HERE, 'virtual')
        eyes = self.eyes()
        self.become(eyes, FIP)
        self.cloud.move_machine('vm-1', None)
        self.become(eyes)

    def test_the_mode_of_an_address_changes(self):
        for port in ('vm-1', 'vm-2'):
            self.cloud.add_machine(port, HERE)
        eyes = self.eyes()
        self.become(eyes, FIP)
        self.cloud.change_nat(OTHER, external_mac='fa:16:3e:00:00:bb')
        self.become(eyes, FIP, OTHER)
        for address in (FIP, OTHER):
            self.cloud.change_nat(address, external_mac=NONE)
        self.become(eyes)

    def test_the_gateway_itself_may_have_machines(self):
        self.cloud.add_machine('vm-1', HERE)
        self.cloud.move('lrp-r1', HERE)
        eyes = self.eyes()
        self.become(eyes, FIP)
        port, = eyes.router('r1').ports
        self.assertEqual((True, True), (port.local, port.hosting))

    def test_the_server_sends_only_machines_of_this_chassis(self):
        """And none without distributed addresses."""
        for port, where in (('vm-1', HERE), ('vm-2', AWAY),
                            ('vm-3', HERE), ('vm-4', None)):
            self.cloud.add_machine(port, where)
        for mac, sent in ((MAC, {'vm-1', 'vm-3'}), (NONE, set())):
            self.cloud.change_nat(FIP, external_mac=mac)
            eyes = self.eyes()
            eyes.look()
            self.assertEqual(sent, {
                row.logical_port for row in eyes.rows('sb', 'Port_Binding')
                if row.type == ''})

    def test_another_row_of_this_chassis(self):
        """ovn-controller makes its row anew, and claims the port again.

        Row SID-02: until then, the machine counts as here.
        """
        self.cloud.add_machine('vm-1', HERE)
        eyes = self.eyes()
        self.become(eyes, FIP)
        self.sb.delete('Chassis', name=HERE)
        self.assertTrue(eyes.look().problems)
        self.assertEqual({FIP}, self.residents(eyes))
        self.add_chassis()
        self.cloud.move_machine('vm-1', HERE)
        self.assertEqual((), eyes.look().problems)
        self.become(eyes, FIP)

    def test_a_malformed_mac_costs_only_its_row(self):
        for port in ('vm-1', 'vm-2'):
            self.cloud.add_machine(port, HERE)
        self.cloud.change_nat(OTHER, external_mac='not-a-mac')
        eyes = self.eyes()
        self.become(eyes, FIP)
        problem, = eyes.router('r1').problems
        self.assertIn("external_mac 'not-a-mac' is not a MAC address", problem)

    def test_the_port_that_a_row_names(self):
        self.cloud.add_port('r1', 'r1b', ['203.0.113.1/24'], chassis=AWAY)
        self.cloud.add_machine('vm-1', HERE)
        eyes = self.eyes()
        named, = self.nb.rows('Logical_Router_Port', '_uuid',
                              where=ovsdb.clauses({'name': 'lrp-r1b'}))
        for reference, lrp in ((NONE, 'lrp-r1'), (named['_uuid'], 'lrp-r1b')):
            self.cloud.change_nat(FIP, gateway_port=reference)
            self.assertEqual([lrp], [
                port.lrp for port in eyes.router('r1').hosting_ports])
