# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents whose peerings are in a file, beside those in OVN."""

import json
import os

import fixtures

from ovn_network_agent.tests.functional.service import test_peering


class FileTest(test_peering.PeeringTestCase):
    """Peerings in a file, which come, change and go."""

    def setUp(self):
        super().setUp()
        self.path = self.useFixture(fixtures.TempDir()).join('peers.yaml')

    def write(self, text):
        with open(self.path + '.new', 'w') as opened:
            opened.write(text)
        os.rename(self.path + '.new', self.path)

    def put(self, *pairs):
        """The text of a file with entries of two routers each."""
        self.write(json.dumps({'network_peers': [
            {'name': f'x{number}',
             'routers': [self.routers[one], self.routers[other]]}
            for number, (one, other) in enumerate(pairs)]}))

    def agent(self, **options):
        return super().agent(network_peer__peers_file=self.path, **options)

    def test_entries_come_and_go(self):
        self.put(('r1', 'r2'))
        agent = self.agent()
        self.written(1)
        self.well(agent)
        self.transactions.since()
        for number, pairs in enumerate((
                (('r1', 'r2'), ('r2', 'r3')), (('r1', 'r2'),), ())):
            self.put(*pairs)
            self.written(2 - number)
            self.well(agent)
            self.assertEqual(1, self.transactions.since())

    def test_a_file_in_doubt_withdraws_nothing(self):
        self.put(('r1', 'r2'))
        agent = self.agent()
        self.written(1)
        self.well(agent)
        before = self.nb.content()
        for change, part in ((lambda: os.unlink(self.path), 'No such file'),
                             (lambda: self.write(''), 'one key'),
                             (lambda: self.write('['), 'no YAML')):
            change()
            self.degraded(agent, part)
            self.degraded(agent, f'stay as they were: {self.path}')
            self.assertEqual(before, self.nb.content())
        # What a router says counts as before, and so does the next good file.
        self.agree('r2', 'r3', 'y')
        self.written(2)
        self.put(('r1', 'r3'))
        self.peer(('r1', 'r3'), ('r2', 'r3'))
        self.well(agent)

    def test_another_file_after_a_reload(self):
        self.put()
        agent = self.agent()
        self.well(agent)
        self.path += '2'
        self.put(('r1', 'r2'))
        agent._conf.set_override('peers_file', self.path, 'network_peer')
        self.written(1)
