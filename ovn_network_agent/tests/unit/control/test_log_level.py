# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What the command log-level refuses."""

from oslotest import base

from ovn_network_agent.control.socket import commands
from ovn_network_agent.control.socket import endpoint


class CommandTest(base.BaseTestCase):

    def refused(self, *argv):
        arguments = commands.arguments('log-level', endpoint.LEVEL_USAGE)
        return str(self.assertRaises(commands.Refused, endpoint.log_level,
                                     arguments, list(argv)))

    def test_what_cannot_be(self):
        self.assertIn('there is no logger', self.refused(
            'debug', '--logger', 'ovn_network_agent.nothing'))
        self.assertIn('--for needs a LEVEL', self.refused('--for', '5'))
        for seconds in ('0', '-1', '86401', 'nan'):
            self.assertIn('more than 0', self.refused('debug', '--for',
                                                      seconds))
        self.assertIn('invalid choice', self.refused('loud'))
