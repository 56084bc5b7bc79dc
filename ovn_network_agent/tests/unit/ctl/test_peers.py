# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The peerings as a person sees them."""

import io

from oslotest import base

from ovn_network_agent.ctl import intents
from ovn_network_agent.ovsdb import lock_state

PEER = {'router': 'u', 'router_name': 'web', 'name': 'db', 'target': 'u2',
        'state': 'created', 'why': '', 'gives': ['10.0.1.0/24'],
        'takes': ['10.0.2.0/24', '10.0.3.0/24'], 'rows': 'in place',
        'rows_why': ''}
PENDING = {**PEER, 'name': 'x', 'state': 'pending', 'why': 'not yet',
           'takes': [], 'rows': ''}


class TextTest(base.BaseTestCase):

    def text(self, *peerings, **values):
        return intents.of_peers({'lock': 'held', 'peerings': list(peerings),
                                 **values}, io.StringIO())

    def test_no_peerings(self):
        self.assertEqual('no peerings\n', self.text())

    def test_one_line_an_intent(self):
        head, first, second, _blank, summary = self.text(
            PEER, PENDING).splitlines()
        self.assertEqual('ROUTER NAME OTHER ROUTER STATE GIVES TAKES ROWS WHY',
                         ' '.join(head.split()))
        self.assertEqual('web db u2 created 10.0.1.0/24 10.0.2.0/24 '
                         '10.0.3.0/24 in place', ' '.join(first.split()))
        self.assertEqual('web x u2 pending 10.0.1.0/24 - - not yet',
                         ' '.join(second.split()))
        self.assertEqual('1 created, 1 pending; this agent writes the rows '
                         '(it has the lock)', summary)

    def test_why_the_rows_are_not_there(self):
        self.assertIn('waits  the other one', self.text(
            {**PEER, 'rows': 'waits', 'rows_why': 'the other one'}))

    def test_all_states_of_the_lock(self):
        known = [*(each.value for each in lock_state.State),
                 lock_state.NOT_ASKED]
        self.assertEqual(len(known), len({
            self.text(PEER, lock=each) for each in known}))


class ChangeTest(base.BaseTestCase):

    def test_what_results(self):
        for done, text in (
                ({'state': 'removed'}, 'router web: peering db removed\n'),
                ({}, 'router web: peering db with u2 written, '
                 'created\n'),
                ({'state': 'conflict', 'why': 'too much'},
                 'router web: peering db with u2 written, conflict: too much\n'
                 )):
            self.assertEqual(text, intents.of_change({**PEER, **done}))
