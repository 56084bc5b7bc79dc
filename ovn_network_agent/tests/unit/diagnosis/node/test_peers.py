# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The check of routers that peer inside OVN."""

from ovn_network_agent.diagnosis.node import tenants
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.tests.unit.diagnosis.node import base


class PeersTest(base.JudgeTestCase):

    def said(self, *verdicts, lock='held', rows='in place', **states):
        """What is said of states, as name=state."""
        return self.judged(tenants.judge_peers, {'lock': lock, 'peerings': [
            {'router_name': 'web', 'name': name, 'state': state,
             'why': f'{name} is bad', 'rows': rows, 'rows_why':
             f'{name} is left'} for name, state in states.items()]},
            *verdicts)

    def test_all_is_well(self):
        for lock in 'held', 'waiting', 'not asked':
            self.assertIn('2 created, 1 pending; '
                          f'{lock_state.WRITERS[lock]}', self.said(
                              base.OK, lock=lock, a='created', b='created',
                              c='pending'))

    def test_conflicts_and_errors(self):
        said = self.said(base.WARN, base.WARN, a='conflict', b='error',
                         c='created', d='conflict')
        self.assertIn('a of router web: a is bad, d of router web: d is bad',
                      said)
        self.assertIn('peerings with error', said)

    def test_no_lock(self):
        self.assertIn('cannot be asked for', self.said(
            base.WARN, lock='not connected', a='created'))

    def test_rows(self):
        """Of peerings that are created; the writer may be another agent."""
        for rows in 'refused', 'unreachable', '':
            said = self.said(base.WARN, rows=rows, a='created', b='pending')
            self.assertIn(f'not in place: a of router web: {rows} (a is left)',
                          said)
            self.assertNotIn('on the node of the writer', said)
        self.assertIn('on the node of the writer', self.said(
            base.WARN, lock='waiting', rows='kept', a='created'))
