# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the check of a configuration says about a file of peerings."""

import fixtures
from oslotest import base

from ovn_network_agent.files import file_problems
from ovn_network_agent.runtime import reloads
from ovn_network_agent.runtime import rows_files
from ovn_network_agent.tests.unit import world

GOOD = 'network_peers: [{name: x, routers: [r1, r2]}'


class PeersFileTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = self.useFixture(fixtures.TempDir()).join('peers.yaml')

    def conf(self, text, drivers=('network_peer',)):
        if text is not None:
            with open(self.path, 'w') as opened:
                opened.write(text)
        return world.conf(network_peer__peers_file=self.path,
                          drivers=list(drivers))

    def made(self, conf):
        made, = rows_files.of_drivers(
            conf, [world.driver('network_peer', conf)]).values()
        return made

    def test_a_file_that_cannot_be_used_prevents_a_start(self):
        for text in (None, '', '- x', 'network_peers: [', 'network_peers: {}'):
            conf = self.conf(text)
            message, = reloads.file_problems(conf)
            self.assertIn(self.path, message)
            self.assertRaises(file_problems.BadFile, rows_files.of_drivers,
                              conf, [world.driver('network_peer', conf)])

    def test_a_bad_entry_does_not(self):
        conf = self.conf(GOOD + ', 7, {name: y}]')
        self.assertEqual([], reloads.file_problems(conf))
        found = [text for text in reloads.warnings(conf) if self.path in text]
        self.assertEqual(2, len(found), found)
        for number, text in enumerate(found, 1):
            self.assertIn(f'line 1: network_peers[{number}]', text)
        made = self.made(conf)
        self.assertEqual(2, len(made.content.rows))
        reason, = made.reasons
        self.assertEqual(f'{found[0]} (and 1 more, see the log)', reason)

    def test_without_the_driver(self):
        conf = self.conf(GOOD + ']', ['fip_route'])
        self.assertIn('without the driver network_peer no router peers',
                      ' '.join(reloads.warnings(conf)))
        self.assertEqual({}, rows_files.of_drivers(conf, [
            world.driver('fip_route', conf)]))

    def test_without_a_file(self):
        made = self.made(world.conf())
        self.assertEqual(({}, ()), (made.content.rows, made.reasons))
