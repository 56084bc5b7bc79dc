# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Two agents, each with its own view of one cloud."""

from ovn_network_agent.gateways import drain
from ovn_network_agent.tests.functional.gateways import base as gateways
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = gateways.HERE
NEVER = gateways.NEVER
OTHER = gateways.OTHER
TABLES = gateways.TABLES


class FleetTest(gateways.OrderTestCase):
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
            f'the agent of {first._view.chassis} to be back, for {group.name}'
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
                    member, f'm{n}', chassis_name=chassis,
                    priority=priority, **(
                        {'name': f'new-{n}'} if table == member else {}))
                  for n, (chassis, priority) in enumerate(
                      ((HERE, here), (OTHER, other)))),
                ovsdb.update(owner, names, **{column: ovsdb.ovsdb_set(
                    [['named-uuid', 'm0'], ['named-uuid', 'm1']])}))
