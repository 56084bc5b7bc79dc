# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A stop that drains: priorities are lowered first, and come back."""

from ovsdbapp.backend.ovs_idl import event as ovsdb_event

from ovn_network_agent.gateways import drain
from ovn_network_agent.tests.functional.gateways import base as gateways
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = gateways.HERE
NEVER = gateways.NEVER
OTHER = gateways.OTHER
TABLES = gateways.TABLES


class StopTest(gateways.OrderTestCase):

    def test_all_are_lowered_in_one_transaction(self):
        # Rows DRN-02, DRN-03, DRN-07, trap T23: the name of the chassis is
        # not that of the host.
        agent = self.running()
        before = self.announced()
        seen, eyes = self.watching()
        agent.stop()
        self.become((0, 'shutdown', '2'), (1,))
        self.synchronise(eyes)
        self.assertEqual({((0, 'shutdown'),) * 2}, seen)
        # They are still here.
        self.assertFalse(agent.wait(0.2))
        self.assertEqual(before, self.announced())
        self.completes(agent)
        self.assertEqual(set(), self.announced())
        self.become((0, 'shutdown', '2'), (1,))

    def watching(self):
        """What somebody else sees of this chassis after each change."""
        eyes, found = self.eyes(), set()

        class Changed(ovsdb_event.RowEvent):
            def run(self, event, row, old):
                with eyes.databases['nb'].rows() as nb:
                    found.add(tuple(
                        (row.priority, row.external_ids.get(
                            'ovn-network-agent-drained'))
                        for table in TABLES.values()
                        for row in nb[table].values()
                        if row.chassis_name == HERE))

        for table in TABLES.values():
            eyes.handlers['nb'].watch_event(Changed(
                (Changed.ROW_UPDATE,), table, None))
        return found, eyes

    def test_the_next_start_restores(self):
        # Rows DRN-08, PRE-12, trap T12: whatever drain_on_shutdown says.
        agent = self.running()
        agent.stop()
        self.with_ovn(lambda: agent.wait(0), 'the end')
        self.running(gateway_drain__drain_on_shutdown=False)
        # Of an owner at 1 the next one would take the port.
        self.become((1,), (2,))

    def mark_other(self, priority, *marks):
        """The other candidate, as its agent writes it."""
        self.set(OTHER, priority=priority, external_ids=ovsdb.ovsdb_dict(
            dict(zip(('ovn-network-agent-drained',
                      'ovn-network-agent-priority'), marks))))

    def tunnel_to_other(self, address, **status):
        """A tunnel of OVN to the other chassis, and its BFD."""
        name = 'ovn-' + address
        self.ovs.transact(ovsdb.insert(
            'Interface', 'tunnel', name=name, type='geneve',
            options=ovsdb.ovsdb_dict({'remote_ip': address, 'key': 'flow'}),
            bfd_status=ovsdb.ovsdb_dict(status)),
            ovsdb.insert('Port', 'port', name=name,
                         interfaces=['named-uuid', 'tunnel']),
            ovsdb.insert('Bridge', 'bridge', name='br-' + address,
                         ports=['named-uuid', 'port']),
            {'op': 'mutate', 'table': 'Open_vSwitch', 'where': [],
             'mutations': [['bridges', 'insert',
                            ['set', [['named-uuid', 'bridge']]]]]})

    def address_of_other(self):
        encap, = self.sb.rows('Encap', 'ip', where=ovsdb.clauses(
            {'chassis_name': OTHER}))
        return encap['ip']

    def test_the_other_one_is_dead(self):
        # Row DRN-25: SB has its chassis still.  It is not waited for, and
        # gets the ports when it is back.
        self.tunnel_to_other(self.address_of_other(), state='down',
                             diagnostic='Control Detection Time Expired')
        for priority, marks in (1, ()), (0, ('shutdown', '1')):
            self.mark_other(priority, *marks)
            agent = self.running(times={'dead_after': 1.5},
                                 gateway_drain__drain_timeout=NEVER)
            self.stop(agent)
            self.assertIs(drain.Result.NOBODY, agent.drain.result)
            self.become((0, 'shutdown', '2'), (priority, *marks))
            self.assertEqual(set(), self.announced())
            self.mark_other(0)
            agent.close()
            self.set(HERE, priority=2, external_ids=ovsdb.ovsdb_dict({}))

    def test_without_clean_up_it_drains_all_the_same(self):
        # Row CLN-02.
        self.cloud.add_router('alone', chassis=HERE,
                              networks=['198.51.100.9/24'])
        other, = self.nb.rows('Gateway_Chassis', where=ovsdb.clauses(
            {'name': 'lrp-alone_' + OTHER}))
        self.nb.transact(ovsdb.mutate(
            'Logical_Router_Port', {'name': 'lrp-alone'}, 'gateway_chassis',
            'delete', other['_uuid']))
        agent = self.running(cleanup_on_shutdown=False)
        self.assertIn('198.51.100.9/32', self.announced())
        agent.stop()
        self.become((0, 'shutdown', '2'), (1,), ['HA_Chassis_Group'])
        self.assertFalse(agent.wait(0))
        for table in TABLES:
            self.cloud.move('lrp-' + table, OTHER)
        self.eventually(lambda: agent.wait(0), 'the end')
        self.assertIs(drain.Result.COMPLETED, agent.drain.result)
        self.assertTrue(agent.complete)
        # What was handed over is gone, and nothing else.
        self.assertEqual({'198.51.100.9/32'}, self.announced())
        self.assertTrue({'veth_pair', 'address', 'rule', 'flow'} <= {
            ref.kind for ref in self.world.objects})

    def test_northbound_comes_back_while_it_drains(self):
        agent = self.running(ovn__retry_max_interval=NEVER,
                             gateway_drain__drain_timeout=NEVER)
        self.nb.kill()
        self.eventually(lambda: agent.status.reasons, 'noticed')
        agent.stop()
        self.eventually(lambda: any(
            text.startswith('OVN NB to answer, for the priority of ')
            for text in agent.status.waiting), lambda: agent.status.waiting)
        self.nb.start()
        self.become((0, 'shutdown', '2'), (1,))
        self.with_ovn(lambda: agent.wait(0), 'the end')

    def test_southbound_was_away(self):
        """The other chassis get the time to connect again."""
        agent = self.running(ovn__retry_max_interval=NEVER,
                             gateway_drain__drain_timeout=NEVER)
        self.sb.kill()
        self.eventually(lambda: agent.status.reasons, 'noticed')
        agent.stop()
        self.eventually(lambda: any(
            text.startswith('all chassis to be connected to OVN SB again, '
                            'for the priority of ')
            for text in agent.status.waiting), lambda: agent.status.waiting)
        self.become((2,), (1,))
        self.sb.start()
        self.become((0, 'shutdown', '2'), (1,))
        self.with_ovn(lambda: agent.wait(0), 'the end')

    def test_a_candidate_that_the_replica_never_saw(self):
        # Trap T3: it is found out, loaded again, and drained.
        agent = self.running(gateway_drain__drain_timeout=NEVER)
        for table in TABLES.values():
            with agent._databases['nb'].rows() as nb:
                for key, row in list(nb[table].items()):
                    if row.chassis_name == HERE:
                        del nb[table][key]
            agent._databases['nb'].dirty.mark_all()
            agent.trigger.fire('test')
            self.eventually(lambda t=table: self.sees(agent, t), 'mended')
        agent.stop()
        self.become((0, 'shutdown', '2'), (1,))
        self.with_ovn(lambda: agent.wait(0), 'the end')

    def sees(self, agent, table):
        try:
            with agent._databases['nb'].rows(5) as nb:
                return HERE in {row.chassis_name
                                for row in nb[table].values()}
        except Exception:
            return False
