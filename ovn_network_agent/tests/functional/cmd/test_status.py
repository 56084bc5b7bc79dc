# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""ovn-network-agent-status upgrade check, as an operator runs it."""

import json
import os

from ovn_network_agent.cmd import status
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

PLAIN = '[frr]\nvrf_name =\nfrr_prefix_list =\n'
SUCCESS, WARNING, FAILURE = 0, 1, 2


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class StatusTest(running.RunningTestCase):

    def check(self, config):
        """Run the command; gives a dict of check to (code, details)."""
        ended = self.run_program('status', '--config-file', config, 'upgrade',
                                 'check', '--json', inside=self.inside)
        self.assertEqual('', ended.stderr)
        said = json.loads(ended.stdout)['checks']
        self.assertEqual([title for title, _names in status.GROUPS],
                         [one['check'] for one in said])
        self.assertEqual(max(one['result'] for one in said),
                         ended.returncode)
        return {one['check']: (one['result'], one['details'])
                for one in said}

    def good(self, more='', **default):
        return self.config(PLAIN + more, self.remotes, drivers='fip_route',
                           bridge_dev=cloud.BRIDGE, **default)

    def test_ready(self):
        self.write_vtysh()
        found = self.check(self.good())
        for title in ('Configuration', 'Needs of the node',
                      'Databases of OVN and Open vSwitch',
                      'One agent on the node', 'Original program'):
            self.assertEqual((SUCCESS, None), found[title])

    def test_an_option_that_is_gone_is_a_warning(self):
        self.write_vtysh()
        found = self.check(self.good('vty_timeout = 3\n'))
        code, details = found['Configuration']
        self.assertEqual(WARNING, code)
        self.assertIn('unknown option vty_timeout in section [frr]', details)

    def test_what_stops_an_upgrade(self):
        """A database that is away, and a device that is not there."""
        found = self.check(self.config(
            PLAIN, {**self.remotes, 'nb': 'tcp:127.0.0.1:1'},
            bridge_dev='br-none', reconcile_interval='often'))
        code, details = found['Configuration']
        self.assertEqual(FAILURE, code)
        self.assertIn("'often' is not a whole number", details)
        self.assertEqual(FAILURE,
                         found['Databases of OVN and Open vSwitch'][0])
