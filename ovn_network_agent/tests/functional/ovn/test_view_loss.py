# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A replica that lacks something withdraws nothing, and is mended."""

import contextlib
import os
import socket

import fixtures

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import view
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, AWAY = cloud.CHASSIS, cloud.OTHER
FIP, ONE = '198.51.100.10', '198.51.100.20'
MAC = 'fa:16:3e:00:00:aa'
NONE = ovsdb.ovsdb_set(())


@contextlib.contextmanager
def silent(path):
    """A server that answers nothing.

    :returns: function that says whether a replica has asked it
    """
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listening.bind(path)
        stack.callback(os.unlink, path)
        listening.listen()

        def asked():
            peer = stack.enter_context(listening.accept()[0])
            return b'_Server' in peer.recv(1 << 16)
        yield asked


class LossTestCase(base.OvsdbTestCase):

    def confirmed(self, eyes):
        def done():
            with contextlib.suppress(view.NotReady):
                return eyes.look() and eyes.view.confirmed
        self.eventually(done, 'the server has confirmed')

    def doubted(self, eyes, name):
        self.eventually(lambda: not eyes.databases[name].connected,
                        'a doubtful replica')

    def away(self, eyes, name='sb'):
        self.servers[name].kill()
        self.doubted(eyes, name)


class RowsTest(LossTestCase):
    """A row that is not there, with its addresses by way of a driver."""

    def setUp(self):
        super().setUp()
        self.cloud.add_switch()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_machine(
            'vm-1', HERE, network=self.cloud.network, mac=[f'{MAC} {ONE}'],
            external_ids=ovsdb.ovsdb_map(neutron__cidrs=f'{ONE}/24'))
        self.cloud.add_tenant('r1', 'net', '10.0.0.1/24')
        self.cloud.add_tenant('r1', 'own', '10.0.1.1/24')
        self.cloud.add_nat('r1', '198.51.100.1', '10.0.1.0/24', 'snat')
        self.cloud.add_balancer('r1', '10.0.1.200:80', floating=False)

    @staticmethod
    def found(eyes):
        seen = eyes.look()
        return {name for each in (seen.machines, seen.tenants)
                for known in each.values()
                for name, one in known.items() if not one.withheld}

    def test_a_loss_waits_for_the_server(self):
        tenants = ['tenant_network', 'load_balancer']
        for drivers, name, table, lost in (
                (['provider_port'], 'sb', 'Port_Binding', 'vm-1'),
                (['provider_port'], 'sb', 'Port_Binding', 'provnet-1'),
                (tenants, 'sb', 'Port_Binding',
                 self.cloud.ports['lrp-r1-net']),
                (tenants, 'nb', 'Load_Balancer', None)):
            eyes = self.eyes(drivers=drivers,
                             load_balancer__vips_behind_snat=True)
            before = self.found(eyes)
            self.assertEqual({ONE} if drivers != tenants else {
                '10.0.0.0/24', '10.0.1.200/32'}, before)
            self.confirmed(eyes)
            with eyes.databases[name].rows() as tables:
                rows = tables[table]
                del rows[next(key for key, row in rows.items()
                              if not lost or row.logical_port == lost)]
            eyes.databases[name].dirty.mark_all()
            eyes.look()
            self.assertFalse(eyes.view.confirmed)
            self.confirmed(eyes)
            self.assertEqual(before, self.found(eyes))
            eyes.stop()

    def test_a_loss_before_the_server_has_sent_the_machines(self):
        """A view without them would withdraw what a former agent made."""
        eyes = self.eyes(drivers=['provider_port'])
        self.sb.kill()
        self.incomplete(eyes)
        with silent(self.sb.remote.removeprefix('unix:')) as asked:
            self.eventually(asked, 'the replica has asked anew')
            self.incomplete(eyes)
        self.sb.start()
        self.eventually(lambda: self.found(eyes) == {ONE}, 'the machine')

    def incomplete(self, eyes):
        self.assertRaises(view.Incomplete, eyes.view.snapshot,
                          model.Phase.RUNNING)


class MachinesTest(LossTestCase):
    """A distributed floating IP, whose gateway is elsewhere."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=AWAY)
        self.cloud.add_nat('r1', FIP, external_mac=MAC, logical_port='vm-1')
        self.cloud.add_machine('vm-1', HERE)

    def become(self, eyes, *wanted):
        self.eventually(lambda: {
            address for address, each in eyes.addresses('r1').items()
            if each.resident and each.answered} == set(wanted), wanted)

    def test_after_a_restart_of_the_server(self):
        eyes = self.eyes()
        self.become(eyes, FIP)
        self.away(eyes)
        self.become(eyes, FIP)
        self.sb.start()
        self.eventually(lambda: eyes.databases['sb'].connected,
                        'the server is back')
        self.become(eyes, FIP)
        self.cloud.add_machine('vm-2', HERE)
        self.cloud.add_nat('r1', ONE, external_mac=MAC, logical_port='vm-2')
        self.become(eyes, FIP, ONE)

    def test_the_first_one_while_the_southbound_database_is_away(self):
        """This node goes on to follow NB."""
        self.cloud.change_nat(FIP, external_mac=NONE)
        self.cloud.add_router('r2', chassis=HERE)
        eyes = self.eyes()
        eyes.look()
        self.away(eyes)
        self.cloud.change_nat(FIP, external_mac=MAC)
        self.cloud.add_nat('r2', ONE)
        self.eventually(lambda: eyes.fips('r2') == {ONE}, 'the new address')
        self.become(eyes)
        self.sb.start()
        self.become(eyes, FIP)

    def test_a_loss_in_a_view_of_whole_tables_is_confirmed(self):
        eyes = self.eyes()
        self.become(eyes, FIP)
        self.confirmed(eyes)
        self.away(eyes)
        self.sb.start()
        self.cloud.move_machine('vm-1', AWAY)
        self.become(eyes)
        self.confirmed(eyes)


class FullTest(LossTestCase):
    """Full views, which servers have to confirm."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        self.cloud.add_nat('r1', FIP)
        self.look = self.eyes()
        self.eventually(lambda: self.full() and self.look.view.confirmed,
                        'confirmed')

    def full(self, **options):
        """The addresses of a view that is full by default."""
        seen = self.look.look(**{'full': True, **options})
        router, = seen.routers
        return seen.addresses[router.uuid]

    def test_a_loss_without_a_notice_is_confirmed_first(self):
        """Also where a comparison looks at the rows batch by batch."""
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.queries.BATCH_SIZE', 2))
        cut = queries.cut(self.look.view._builder.rows())
        for batch in cut:
            self.look.look(batch=batch)
            self.assertTrue(self.look.view.confirmed)
        self.assertEqual([], self.look.view.batches())
        with self.look.databases['nb'].rows() as nb:
            row, = nb['Logical_Router'].values()
            row._data['nat'].values.clear()
        for batch in cut:
            if FIP not in self.full(full=False, batch=batch):
                break
        self.assertFalse(self.look.view.confirmed)
        self.doubted(self.look, 'nb')

    def test_sb_is_asked_each_time(self):
        """What its replica lacks is noticed without any other change."""
        # Only the next question may find what is taken away now.
        self.look.answered('sb')
        with self.look.databases['sb'].rows() as sb:
            row = next(row for row in sb['Port_Binding'].values()
                       if row.type == 'chassisredirect')
            row._data['chassis'].values.clear()
        self.assertIn(FIP, self.full())
        self.doubted(self.look, 'sb')


class PaceTest(LossTestCase):

    def test_without_another_gateway_the_servers_are_asked_more_often(self):
        """All relays have to be dead, and there has to be one."""
        eyes = self.eyes()

        def probes():
            eyes.look()
            return {eyes.databases[name].connection.idl.session.reconnect
                    .get_probe_interval() for name in ('nb', 'sb')}
        self.assertEqual({60000}, probes())
        for end, state in enumerate(('down', 'up')):
            self.add_relay(end, state)
        self.synchronise(eyes)
        self.assertEqual({60000}, probes())
        for end, state, wanted in ((1, 'down', 2000), (0, 'up', 60000)):
            self.ovs.transact(ovsdb.update(
                'Interface', {'name': self.relay(end)[0]},
                bfd_status=ovsdb.ovsdb_map(state=state)))
            self.eventually(lambda w=wanted: probes() == {w}, f'{wanted} ms')

    @staticmethod
    def relay(end):
        """Name and address of a relay."""
        address = f'192.0.2.{100 + end:d}'
        return ownership.relay_name(address), address

    def add_relay(self, end, state):
        name, address = self.relay(end)
        mark = ovsdb.ovsdb_dict({ownership.EXT_ID_MANAGED:
                                 ownership.EXT_ID_MANAGED_VALUE})
        self.ovs.transact(
            ovsdb.insert('Interface', 'iface', name=name, type='geneve',
                         ofport=90 + end, external_ids=mark,
                         options=ovsdb.ovsdb_map(remote_ip=address),
                         bfd_status=ovsdb.ovsdb_map(state=state)),
            ovsdb.insert('Port', 'port', name=name, external_ids=mark,
                         interfaces=['named-uuid', 'iface']),
            ovsdb.mutate('Bridge', {'name': cloud.BRIDGE}, 'ports', 'insert',
                         ['named-uuid', 'port']))
