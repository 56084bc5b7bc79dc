# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Driver gateway_drain in the whole service; OVN is played by the test."""

import fixtures
from ovsdbapp.backend.ovs_idl import event as ovsdb_event

from ovn_network_agent import resources
from ovn_network_agent.backends import gateway_priority
from ovn_network_agent.drivers import gateway_drain
from ovn_network_agent.gateways import drain
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import test_service
from ovn_network_agent.tests.unit import world as worlds

HERE, OTHER = cloud.CHASSIS, cloud.OTHER
TABLES = {'Gateway_Chassis': 'Gateway_Chassis',
          'HA_Chassis_Group': 'HA_Chassis'}
# Nothing here may be found out by the pass that comes anyhow.
NEVER = 3600


class OrderTestCase(test_service.ServiceTestCase):

    drivers = {**test_service.ServiceTestCase.drivers,
               'gateway_drain': gateway_drain.GatewayDrainDriver}
    real = {**test_service.ServiceTestCase.real,
            'gateway_priority': gateway_priority.GatewayPriorityBackend}

    # Nobody makes any here, and a drain would wait for them.
    relay = False
    # Three seconds of each drain; its own tests have it.
    overlap = False

    def setUp(self):
        super().setUp()
        for number, table in enumerate(TABLES, 1):
            self.cloud.add_router(table, chassis=HERE, group=table, networks=[
                '198.51.100.%d/24' % number])
        self.moves = []

    def running(self, **options):
        """The agent of this chassis, once all is in place."""
        agent = self.agent(**{
            'drivers': list(self.drivers), 'reconcile_interval': NEVER,
            'gateway_drain__drain_settle_delay': 0,
            'gateway_drain__relay': self.relay,
            'gateway_drain__overlap': self.overlap, **options})
        self.eventually(
            lambda: agent.status.reasons == () and agent._loop._phase is
            agent._loop._serving, lambda: agent.status.reasons)
        return agent

    def set(self, chassis, **row):
        """Somebody else changes the candidates of a chassis."""
        for table in TABLES.values():
            self.nb.transact(ovsdb.update(table, {'chassis_name': chassis},
                                          **row))

    def candidates(self, table):
        """As the server has them: dict of chassis to (priority, marks)."""
        found = {}
        for row in self.nb.rows(TABLES[table]):
            marks = dict(row['external_ids'][1])
            found[row['chassis_name']] = (row['priority'], *(
                marks[key] for key in ('ovn-network-agent-drained',
                                       'ovn-network-agent-priority')
                if key in marks))
        return found

    def become(self, here, other, tables=tuple(TABLES)):
        """Wait for the candidates of both chassis."""
        wanted = {HERE: here, OTHER: other}
        self.eventually(lambda: all(
            self.candidates(table) == wanted for table in tables),
            lambda: [self.candidates(table) for table in TABLES])

    def ovn(self):
        """What ovn-northd and the ovn-controllers make of the priorities."""
        for table in TABLES:
            best = max((priority, name) for name, (priority, *_marks)
                       in self.candidates(table).items())[1]
            port = self.sb.rows('Port_Binding', 'chassis',
                                where=ovsdb.clauses({
                                    'logical_port': 'cr-lrp-' + table}))[0]
            wanted = self.sb.rows('Chassis', '_uuid', where=ovsdb.clauses(
                {'name': best}))[0]['_uuid']
            if port['chassis'] != wanted:
                self.moves.append((table, best))
                self.cloud.move('lrp-' + table, best)

    def with_ovn(self, condition, what):
        """Wait for a condition while OVN follows."""
        return self.eventually(lambda: self.ovn() or condition(), what)

    def elsewhere(self, chassis, **values):
        """The agent of another chassis, on its own node."""
        server = ovsdb.Server('ovs')
        self.addCleanup(server.close)
        server.start()
        cloud.Cloud(self.nb, self.sb, server).fill_ovs()
        server.transact(ovsdb.update(
            'Open_vSwitch', {}, external_ids=ovsdb.ovsdb_dict({
                'system-id': chassis,
                'ovn-bridge-mappings': 'physnet1:%s' % cloud.BRIDGE})))
        mine, self.world = self.world, worlds.World()
        self.addCleanup(setattr, self, 'world', mine)
        agent = self.running(ovs__ovsdb_connection=server.remote, **values)
        self.world = mine
        return agent


class LeadTest(OrderTestCase):

    def test_a_tie_is_answered_at_once(self):
        # Row EVT-07, trap T8: not at the next reconcile_interval.
        self.running()
        for priority in (2, 3, 4):
            self.set(OTHER, priority=priority)
            self.become((priority + 1,), (priority,))

    def test_at_least_2_beside_a_candidate_at_0(self):
        # Row DRN-12: that one may come back with 1.
        self.running()
        self.set(OTHER, priority=0)
        self.set(HERE, priority=1)
        self.become((2,), (0,))

    def test_without_another_candidate_nothing_is_written(self):
        # Row DRN-13.
        self.running()
        self.nb.transact(ovsdb.update(
            'HA_Chassis_Group', {}, ha_chassis=ovsdb.ovsdb_set([
                ['uuid', row['_uuid'][1]] for row in
                self.nb.rows('HA_Chassis', '_uuid', where=ovsdb.clauses(
                    {'chassis_name': HERE}))])))
        self.set(HERE, priority=1)
        # What is answered here would have been answered there.
        self.become((2,), (1,), ['Gateway_Chassis'])
        self.assertEqual({HERE: (1,)}, self.candidates('HA_Chassis_Group'))

    def test_the_group_is_numbered_anew_at_the_end_of_the_numbers(self):
        # Row DRN-15.
        self.running(gateway_drain__handover_timeout=0)
        for table in TABLES.values():
            self.nb.transact(*(ovsdb.update(
                table, {'chassis_name': chassis}, priority=32767)
                for chassis in (HERE, OTHER)))
        self.become((2,), (1,))

    def test_rows_of_another_name(self):
        # Trap T11, row DRN-16: what refers to them counts.
        for name, chassis in (('x-y', HERE), ('z', OTHER)):
            self.nb.transact(ovsdb.update(
                'Gateway_Chassis', {'chassis_name': chassis}, name=name))
        self.running()
        self.set(OTHER, priority=2)
        self.become((3,), (2,))

    def test_the_owner_of_a_port_that_moves_stops_leading(self):
        # Trap T9: two that both lead would drive each other's numbers up.
        self.running()
        self.cloud.move('lrp-Gateway_Chassis', OTHER)
        self.eventually(lambda: self.announced() == {'198.51.100.2/32'},
                        'gone')
        self.set(OTHER, priority=2)
        # A later one is answered, so this one is not going to be.
        self.become((3,), (2,), ['HA_Chassis_Group'])
        self.become((2,), (2,), ['Gateway_Chassis'])


class StopTest(OrderTestCase):

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
        self.with_ovn(lambda: agent.wait(0), 'the end')
        self.assertIs(drain.Result.COMPLETED, agent.drain.result)
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

    def test_what_an_original_agent_has_drained_is_restored(self):
        self.set(HERE, priority=0)
        self.running(gateway_drain__drain_on_shutdown=False)
        self.ovn()
        self.become((1,), (2,))

    def test_it_comes_back_to_its_place(self):
        # A-05, trap T28.
        self.set(HERE, priority=30)
        self.set(OTHER, priority=20)
        agent = self.running()
        agent.stop()
        self.with_ovn(lambda: agent.wait(0), 'the end')
        self.become((0, 'shutdown', '30'), (20,))
        self.running(gateway_drain__restore='ordered')
        self.become((19,), (20,))

    def test_nobody_to_take_over(self):
        # Row DRN-04, trap T14: it neither waits nor changes anything.
        self.sb.transact(ovsdb.delete('Chassis', {'name': OTHER}))
        agent = self.running(gateway_drain__drain_timeout=3600)
        self.stop(agent)
        self.assertIs(drain.Result.NOBODY, agent.drain.result)
        self.become((2,), (1,))

    def mark_other(self, priority, *marks):
        """The other candidate, as its agent writes it."""
        self.set(OTHER, priority=priority, external_ids=ovsdb.ovsdb_dict(
            dict(zip(('ovn-network-agent-drained',
                      'ovn-network-agent-priority'), marks))))

    def test_nobody_else_could_announce(self):
        # It goes on, and is drained as soon as somebody could.
        self.mark_other(0, 'unfit', '1')
        agent = self.running(gateway_drain__drain_timeout=NEVER)
        before = self.announced()
        agent.stop()
        self.eventually(lambda: agent.drain and agent.drain.waiting,
                        'waiting')
        self.assertIn('%s to be able to announce' % OTHER,
                      agent.drain.waiting[0])
        # What is seen later would have been seen after that.
        self.mark_other(0, 'unfit', '7')
        self.eventually(lambda: self.seen_of_other(agent) == {7}, 'seen')
        self.assertFalse(agent.wait(0))
        self.assertEqual(before, self.announced())
        self.become((2,), (0, 'unfit', '7'))
        self.mark_other(1)
        self.become((0, 'shutdown', '2'), (1,))
        self.with_ovn(lambda: agent.wait(0), 'the end')
        self.assertIs(drain.Result.COMPLETED, agent.drain.result)

    def test_until_a_stopped_agent_is_back(self):
        # Row DRN-24.
        self.mark_other(0, 'shutdown', '1')
        agent = self.running(gateway_drain__drain_timeout=NEVER)
        before = self.announced()
        agent.stop()
        self.eventually(lambda: agent.status.waiting, 'waiting')
        self.assertIn('the agent of %s to be back' % OTHER,
                      agent.status.waiting[0])
        self.mark_other(0, 'shutdown', '7')
        self.eventually(lambda: self.seen_of_other(agent) == {7}, 'seen')
        self.assertFalse(agent.wait(0))
        self.assertEqual(before, self.announced())
        self.become((2,), (0, 'shutdown', '7'))
        self.mark_other(1)
        self.become((0, 'shutdown', '2'), (1,))
        self.with_ovn(lambda: agent.wait(0), 'the end')
        self.assertIs(drain.Result.COMPLETED, agent.drain.result)

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
        self.useFixture(fixtures.MonkeyPatch(
            'ovn_network_agent.ovn.tunnels.DEAD', 1.5))
        self.tunnel_to_other(self.address_of_other(), state='down',
                             diagnostic='Control Detection Time Expired')
        for priority, marks in (1, ()), (0, ('shutdown', '1')):
            self.mark_other(priority, *marks)
            agent = self.running(gateway_drain__drain_timeout=NEVER)
            self.stop(agent)
            self.assertIs(drain.Result.NOBODY, agent.drain.result)
            self.become((0, 'shutdown', '2'), (priority, *marks))
            self.assertEqual(set(), self.announced())
            self.mark_other(0)
            agent.close()
            self.set(HERE, priority=2, external_ids=ovsdb.ovsdb_dict({}))

    def test_one_tunnel_to_the_other_one_is_up(self):
        """A chassis may have several, and lives as long as one is up."""
        self.tunnel_to_other(self.address_of_other(), state='down',
                             diagnostic='Control Detection Time Expired')
        self.tunnel_to_other('192.0.2.22', state='up')
        self.sb.transact(
            ovsdb.insert('Encap', 'encap', type='geneve', ip='192.0.2.22',
                         chassis_name=OTHER),
            ovsdb.mutate('Chassis', {'name': OTHER}, 'encaps', 'insert',
                         ['named-uuid', 'encap']))
        agent = self.running(gateway_drain__drain_timeout=NEVER)
        agent.stop()
        self.with_ovn(lambda: agent.wait(0), 'the end')
        self.assertIs(drain.Result.COMPLETED, agent.drain.result)
        self.become((0, 'shutdown', '2'), (1,))

    def seen_of_other(self, agent):
        """Earlier priorities of the other one in the agent's last view."""
        return {group.candidate(OTHER).earlier
                for group in agent._view.last.groups}

    def test_nobody_else_could_announce_in_time(self):
        self.mark_other(0, 'unfit', '1')
        agent = self.running(gateway_drain__drain_timeout=1)
        self.stop(agent)
        self.assertIs(drain.Result.TIMEOUT, agent.drain.result)
        # Whoever can announce it again is to get it then, with 1.
        self.become((0, 'shutdown', '2'), (0, 'unfit', '1'))
        self.assertEqual(set(), self.announced())

    def test_nobody_else_could_announce_and_everything_stays(self):
        self.mark_other(0, 'unfit', '1')
        agent = self.running(gateway_drain__drain_timeout=1,
                             cleanup_on_shutdown=False)
        before = self.announced()
        self.stop(agent)
        self.assertIs(drain.Result.TIMEOUT, agent.drain.result)
        self.become((2,), (0, 'unfit', '1'))
        self.assertEqual(before, self.announced())

    def test_a_port_that_comes_back(self):
        # Row DRN-19: the next owner died, say.
        agent = self.running(gateway_drain__drain_timeout=NEVER)
        said = self.useFixture(fixtures.FakeLogger())
        before = self.announced()
        agent.stop()
        self.become((0, 'shutdown', '2'), (1,))
        self.cloud.move('lrp-Gateway_Chassis', OTHER)
        self.eventually(lambda: self.announced() == {'198.51.100.2/32'},
                        self.announced)
        self.cloud.move('lrp-Gateway_Chassis', HERE)
        self.eventually(lambda: self.announced() == before, self.announced)
        self.eventually(lambda: 'is bound to this chassis again; it is '
                        'forwarded until' in said.output, lambda: said.output)
        self.assertFalse(agent.wait(0))
        self.with_ovn(lambda: agent.wait(0), 'the end')
        self.assertIs(drain.Result.COMPLETED, agent.drain.result)

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

    def test_drain_on_shutdown_is_off(self):
        # Row DRN-06.
        agent = self.running(gateway_drain__drain_on_shutdown=False,
                             gateway_drain__drain_timeout=3600)
        self.stop(agent)
        self.become((2,), (1,))

    def test_one_port_of_all_is_drained(self):
        # Trap T29.
        agent = self.running(gateway_port='cr-lrp-Gateway_Chassis')
        agent.stop()
        self.become((0, 'shutdown', '2'), (1,), ['Gateway_Chassis'])
        self.cloud.move('lrp-Gateway_Chassis', OTHER)
        self.eventually(lambda: agent.wait(0), 'the end')
        self.become((2,), (1,), ['HA_Chassis_Group'])

    def test_northbound_comes_back_while_it_drains(self):
        agent = self.running(ovn__retry_max_interval=NEVER,
                             gateway_drain__drain_timeout=NEVER)
        self.nb.kill()
        self.eventually(lambda: agent.status.reasons, 'noticed')
        agent.stop()
        self.eventually(lambda: 'gateway_priority' in str(
            agent.status.reasons), lambda: agent.status.reasons)
        self.nb.start()
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

    def test_a_dry_run_writes_nothing(self):
        # Trap T22.
        self.set(HERE, priority=0)
        for table in TABLES:
            self.cloud.move('lrp-' + table, OTHER)
        before = [server.content() for server in self.servers.values()]
        agent = self.agent(start=False, drivers=list(self.drivers))
        changes, outcome = agent.plan(30)
        self.assertEqual(before, [server.content()
                                  for server in self.servers.values()])
        self.assertEqual({1, 2}, {
            resource.priority for verb, resource in changes
            if isinstance(resource, resources.GatewayPriority)})


class FleetTest(OrderTestCase):
    """Two agents, each with its own view."""

    def test_one_after_the_other_is_restarted(self):
        # Row DRN-11, traps T10 and T28b.
        agents = {HERE: self.running(), OTHER: self.elsewhere(OTHER)}
        for turn in range(6):
            chassis, peer = (HERE, OTHER) if turn % 2 == 0 else (OTHER, HERE)
            agents[chassis].stop()
            self.with_ovn(lambda c=chassis: agents[c].wait(0), 'the end')
            self.assertEqual(sorted((table, peer) for table in TABLES),
                             sorted(self.moves))
            self.moves.clear()
            agents[chassis] = (self.running() if chassis == HERE
                               else self.elsewhere(OTHER))
            self.with_ovn(lambda c=chassis, p=peer: all(
                self.candidates(table) == {c: (1,), p: (2,)}
                for table in TABLES), lambda: [
                    self.candidates(table) for table in TABLES])
            self.assertEqual([], self.moves)
            self.eventually(lambda p=peer, c=chassis: self.sees_at_1(
                agents[p], c), 'seen by the other one')

    def sees_at_1(self, agent, chassis):
        with agent._databases['nb'].rows() as nb:
            return all(row.priority == 1 for table in TABLES.values()
                       for row in nb[table].values()
                       if row.chassis_name == chassis)

    def test_both_are_stopped_at_once(self):
        # Row DRN-26.  One of them goes, and the other one keeps everything,
        # until it waits no longer.  They never wait for each other.
        agents = [self.running(gateway_drain__drain_timeout=NEVER),
                  self.elsewhere(OTHER, gateway_drain__drain_timeout=NEVER)]
        for agent in agents:
            agent.stop()
        self.with_ovn(lambda: any(agent.wait(0) for agent in agents), 'one')
        first, = [agent for agent in agents if agent.wait(0)]
        last, = [agent for agent in agents if agent is not first]
        self.assertIs(drain.Result.COMPLETED, first.drain.result)
        self.with_ovn(lambda: last.status.waiting == tuple(
            'the agent of %s to be back, for %s' % (
                first._view.chassis, group.name)
            for group in last._view.last.groups), lambda: last.status.waiting)
        self.assertFalse(last.wait(0))
        for table in TABLES:
            self.assertEqual([False, True], sorted(
                priority > 0 for priority, *_marks
                in self.candidates(table).values()))
        last.stop()
        self.eventually(lambda: last.wait(0), 'the end')
        self.assertIs(drain.Result.TIMEOUT, last.drain.result)
        # Whoever is back first is to get it.
        self.assertEqual([0] * 4, [
            priority for table in TABLES
            for priority, *_marks in self.candidates(table).values()])

    def test_both_are_restarted_at_once(self):
        # Row DRN-26: the second one goes when the first one is back.
        agents = {HERE: self.running(gateway_drain__drain_timeout=NEVER),
                  OTHER: self.elsewhere(
                      OTHER, gateway_drain__drain_timeout=NEVER)}
        for agent in agents.values():
            agent.stop()
        self.with_ovn(lambda: any(
            agent.wait(0) for agent in agents.values()), 'one')
        first, = [c for c, agent in agents.items() if agent.wait(0)]
        last, = set(agents) - {first}
        self.assertFalse(agents[last].wait(0))
        if first == HERE:
            self.running()
        else:
            self.elsewhere(OTHER)
        self.with_ovn(lambda: agents[last].wait(0), 'the other one')
        self.assertEqual([drain.Result.COMPLETED] * 2, [
            agent.drain.result for agent in agents.values()])

    def test_neutron_writes_its_numbers_again(self):
        # Also as new rows, without marks: they agree again, nothing moves.
        self.running()
        self.elsewhere(OTHER)
        for here, other, after in ((2, 1, (2, 1)), (5, 5, (6, 5))):
            self.set(HERE, priority=here)
            self.set(OTHER, priority=other)
            self.become((after[0],), (after[1],))
            self.ovn()
        self.replace(20, 10)
        self.become((20,), (10,))
        self.ovn()
        self.assertEqual([], self.moves)

    def replace(self, here, other):
        """All rows are other rows."""
        for table, member in TABLES.items():
            owner, column = (
                ('Logical_Router_Port', 'gateway_chassis')
                if table == member else (table, 'ha_chassis'))
            names = ({'name': 'lrp-' + table} if table == member
                     else {'name': 'neutron-lrp-' + table})
            self.nb.transact(
                ovsdb.update(owner, names, **{column: ovsdb.ovsdb_set([])}),
                *(ovsdb.insert(
                    member, 'm%d' % n, chassis_name=chassis,
                    priority=priority, **(
                        {'name': 'new-%d' % n} if table == member else {}))
                  for n, (chassis, priority) in enumerate(
                      ((HERE, here), (OTHER, other)))),
                ovsdb.update(owner, names, **{column: ovsdb.ovsdb_set(
                    [['named-uuid', 'm0'], ['named-uuid', 'm1']])}))
