# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Distributed floating IPs in the view: which machines are on this chassis."""

from ovn_network_agent import model
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import view_base
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, AWAY = views.HERE, cloud.OTHER
FIP, OTHER = '198.51.100.10', '198.51.100.11'
MAC = 'fa:16:3e:00:00:aa'


class MachinesTest(view_base.ViewTestCase):
    """Router r1 has its gateway elsewhere, and two machines."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=AWAY)
        self.cloud.add_nat('r1', FIP, external_mac=MAC.upper(),
                           logical_port='vm-1')
        self.cloud.add_nat('r1', OTHER, logical_port='vm-2')

    def residents(self, eyes):
        return None if eyes.router('r1') is None else {
            address for address, each in eyes.addresses('r1').items()
            if each.resident and each.answered}

    def become(self, eyes, wanted):
        self.eventually(lambda: self.residents(eyes) == wanted,
                        lambda: f'{self.residents(eyes)} is {wanted}')
        self.assertEqual(views.timeless(views.fresh(eyes)),
                         views.timeless(eyes.look()))

    def test_a_machine_comes_moves_and_goes(self):
        eyes = self.eyes()
        self.become(eyes, None)
        self.cloud.add_machine('vm-1', HERE)
        self.become(eyes, {FIP})
        router = eyes.router('r1')
        port, = router.ports
        self.assertEqual((False, True, (), (port,)), (
            port.local, port.hosting, router.served_ports,
            router.hosting_ports))
        self.assertEqual(
            {FIP: model.ServedAddress(router.uuid, 'r1', FIP, MAC, port,
                                      ('fip',), resident=True)},
            eyes.addresses('r1'))
        self.cloud.move_machine('vm-1', AWAY)
        self.become(eyes, None)
        self.cloud.move_machine('vm-1', HERE)
        self.become(eyes, {FIP})
        self.cloud.move_machine('vm-1', None)
        self.become(eyes, None)

    def test_only_a_port_that_is_up(self):
        self.cloud.add_machine('vm-1', HERE, up=False)
        eyes = self.eyes()
        self.become(eyes, None)
        self.cloud.move_machine('vm-1', HERE, up=True)
        self.become(eyes, {FIP})

    def test_a_virtual_port(self):
        """The chassis of its present parent claims it."""
        self.cloud.add_machine('vm-1', HERE, 'virtual')
        eyes = self.eyes()
        self.become(eyes, {FIP})
        self.cloud.move_machine('vm-1', None)
        self.become(eyes, None)

    def test_the_mode_of_an_address_changes(self):
        for port in ('vm-1', 'vm-2'):
            self.cloud.add_machine(port, HERE)
        eyes = self.eyes()
        self.become(eyes, {FIP})
        self.cloud.change_nat(OTHER, external_mac='fa:16:3e:00:00:bb')
        self.become(eyes, {FIP, OTHER})
        for address in (FIP, OTHER):
            self.cloud.change_nat(address, external_mac=ovsdb.ovsdb_set(()))
        self.become(eyes, None)

    def test_the_gateway_itself_may_have_machines(self):
        self.cloud.add_machine('vm-1', HERE)
        self.cloud.move('lrp-r1', HERE)
        eyes = self.eyes()
        self.become(eyes, {FIP})
        port, = eyes.router('r1').ports
        self.assertEqual((True, True), (port.local, port.hosting))

    def test_the_server_sends_only_machines_of_this_chassis(self):
        for port, where in (('vm-1', HERE), ('vm-2', AWAY),
                            ('vm-3', HERE), ('vm-4', None)):
            self.cloud.add_machine(port, where)
        eyes = self.eyes()

        def machines():
            with eyes.databases['sb'].rows() as sb:
                return {row.logical_port
                        for row in sb['Port_Binding'].values()
                        if row.type == ''}
        self.assertEqual(set(), machines())
        eyes.look()
        self.assertEqual({'vm-1', 'vm-3'}, machines())

    def test_none_are_sent_without_distributed_addresses(self):
        self.cloud.change_nat(FIP, external_mac=ovsdb.ovsdb_set(()))
        self.cloud.add_machine('vm-1', HERE)
        eyes = self.eyes()
        eyes.look()
        with eyes.databases['sb'].rows() as sb:
            self.assertNotIn('', {
                row.type for row in sb['Port_Binding'].values()})

    def test_another_row_of_this_chassis(self):
        """ovn-controller makes its row anew, and claims the port again.

        Row SID-02: until then, the machine counts as here.
        """
        self.cloud.add_machine('vm-1', HERE)
        eyes = self.eyes()
        self.become(eyes, {FIP})
        self.sb.transact(ovsdb.delete('Chassis', {'name': HERE}))
        self.eventually(lambda: eyes.look().problems, 'the row is gone')
        self.assertEqual({FIP}, self.residents(eyes))
        self.sb.transact(
            ovsdb.insert('Encap', 'encap', type='geneve', ip='192.0.2.1',
                         chassis_name=HERE),
            ovsdb.insert('Chassis', name=HERE, hostname=cloud.HOSTNAME,
                         encaps=['named-uuid', 'encap']))
        self.cloud.move_machine('vm-1', HERE)
        self.eventually(lambda: not eyes.look().problems, 'the row is back')
        self.become(eyes, {FIP})

    def test_after_a_restart_of_the_server(self):
        self.cloud.add_machine('vm-1', HERE)
        eyes = self.eyes()
        self.become(eyes, {FIP})
        self.sb.kill()
        self.eventually(lambda: not eyes.databases['sb'].connected,
                        'the server is gone')
        self.assertEqual({FIP}, self.residents(eyes))
        self.sb.start()
        self.eventually(lambda: eyes.databases['sb'].connected,
                        'the server is back')
        self.become(eyes, {FIP})
        self.cloud.add_machine('vm-2', HERE)
        self.cloud.change_nat(OTHER, external_mac='fa:16:3e:00:00:bb')
        self.become(eyes, {FIP, OTHER})

    def test_the_first_one_while_the_southbound_database_is_away(self):
        """This node goes on to follow NB."""
        self.cloud.change_nat(FIP, external_mac=ovsdb.ovsdb_set(()))
        self.cloud.add_machine('vm-1', HERE)
        self.cloud.add_router('r2', chassis=HERE)
        eyes = self.eyes()
        eyes.look()
        self.sb.kill()
        self.eventually(lambda: not eyes.databases['sb'].connected,
                        'the server is gone')
        self.cloud.change_nat(FIP, external_mac='fa:16:3e:00:00:aa')
        self.cloud.add_nat('r2', '198.51.100.20')
        self.eventually(lambda: eyes.fips('r2') == {'198.51.100.20'},
                        'the new address')
        self.assertIsNone(self.residents(eyes))
        self.sb.start()
        self.become(eyes, {FIP})

    def test_a_loss_in_a_view_of_whole_tables_is_confirmed(self):
        self.cloud.add_machine('vm-1', HERE)
        eyes = self.eyes()
        self.become(eyes, {FIP})
        self.eventually(lambda: eyes.view.confirmed, 'the first view')
        self.sb.kill()
        self.eventually(lambda: not eyes.databases['sb'].connected,
                        'the server is gone')
        self.sb.start()
        self.cloud.move_machine('vm-1', AWAY)
        self.become(eyes, None)
        self.eventually(lambda: eyes.look() and eyes.view.confirmed,
                        'the loss is confirmed')

    def test_a_malformed_mac_costs_only_its_row(self):
        self.cloud.add_machine('vm-1', HERE)
        self.cloud.add_machine('vm-2', HERE)
        self.cloud.change_nat(OTHER, external_mac='not-a-mac')
        eyes = self.eyes()
        self.become(eyes, {FIP})
        problem, = eyes.router('r1').problems
        self.assertIn("external_mac 'not-a-mac' is not a MAC address",
                      problem)

    def test_the_port_that_a_row_names(self):
        self.cloud.add_port('r1', 'r1b', ['203.0.113.1/24'], chassis=AWAY)
        self.cloud.add_machine('vm-1', HERE)
        eyes = self.eyes()
        self.become(eyes, {FIP})
        self.assertEqual(['lrp-r1'], [
            port.lrp for port in eyes.router('r1').hosting_ports])
        named, = self.nb.rows('Logical_Router_Port', '_uuid',
                              where=ovsdb.clauses({'name': 'lrp-r1b'}))
        self.cloud.change_nat(FIP, gateway_port=named['_uuid'])
        self.eventually(lambda: [
            port.lrp for port in eyes.router('r1').hosting_ports
            ] == ['lrp-r1b'], 'the row decides')
