# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""ovn-network-agent-ctl starts fast: what a start imports."""

import subprocess
import sys

from oslotest import base

from ovn_network_agent.control.socket import client

# The import of each takes longer than all that a command needs.
HEAVY = ('oslo_config', 'oslo_log.log', 'importlib.metadata', 'dataclasses',
         'difflib', 'stevedore', 'ovsdbapp', 'ovs', 'pyroute2')
START = '''
import sys
from ovn_network_agent.cmd import ctl
print(ctl.main(sys.argv[1:]), *sys.modules)
'''


class ImportsTest(base.BaseTestCase):

    def imported(self, *argv):
        """(exit status, set of imported modules) of a command."""
        ended = subprocess.run([sys.executable, '-I', '-c', START, *argv],
                               capture_output=True, text=True, check=True)
        status, *modules = ended.stdout.splitlines()[-1].split()
        return int(status), set(modules)

    def test_a_command_with_a_socket(self):
        # A module of the start of this Python itself is nobody's fault.
        bare = subprocess.run(
            [sys.executable, '-I', '-c', 'import sys; print(*sys.modules)'],
            capture_output=True, text=True, check=True).stdout.split()
        for command, expected in (('health', 2), ('status', 4)):
            status, modules = self.imported('--socket', '/nowhere/socket',
                                            command)
            self.assertEqual(expected, status)
            self.assertIn(client.__name__, modules)
            self.assertEqual(set(), modules & set(HEAVY) - set(bare))

    def test_without_a_socket_the_configuration_is_read(self):
        _status, modules = self.imported('status')
        self.assertIn('oslo_config', modules)
        self.assertNotIn('oslo_log.log', modules)
