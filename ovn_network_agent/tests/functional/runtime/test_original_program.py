# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The original program takes no lock, and is found all the same."""

import os
import shutil
import subprocess
import sys
import tempfile

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.cmd import node

# As the agent does: the lock first.  Prints the processes.
LOOK = '''
from ovn_network_agent.runtime.process import single_instance
place = single_instance.Place('test')
print(*single_instance.running())
'''
# Of the service: no right to look into processes of root.
NOBODY = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')


class OriginalTest(node.NodeTestCase):
    """An executable file of its name stands for it."""

    def setUp(self):
        super().setUp()
        self.sh(node.BRIDGE)
        # As in /usr/bin, any user may read it.
        folder = tempfile.mkdtemp(prefix='original-', dir='/tmp')
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        self.original = shutil.copy('/bin/sleep', os.path.join(
            folder, 'ovn-network-agent'))

    def runs(self, place, *prefix):
        """Run it somewhere; gives its process id."""
        process = subprocess.Popen(place.inside(
            *prefix, self.original, '600'))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def look(self, *prefix):
        """Processes that a program on the node finds."""
        ended = subprocess.run(
            self.inside(*prefix, sys.executable, '-c', LOOK), env=self.env,
            cwd='/', check=True, capture_output=True, text=True,
            timeout=base.LIMIT)
        return [int(pid) for pid in ended.stdout.split()]

    def test_the_agent_does_not_start_beside_it(self):
        pid = self.runs(self.node)
        before = self.sh('ip -d address; ip rule; ip route show table all')
        agent = self.start(self.config(node.PLAIN))
        self.assertEqual(1, agent.wait(base.LIMIT), self.log())
        self.assertIn('ovn-network-agent: environment: the original program '
                      f'runs here as process {pid}', self.log())
        self.assertNotIn('Traceback', self.log())
        self.assertEqual(before, self.sh(
            'ip -d address; ip rule; ip route show table all'))

    def test_by_any_user(self):
        here = self.runs(self.node)
        self.runs(namespaces.hold(self))
        self.assertEqual([here], self.look())
        self.assertEqual([here], self.look(*NOBODY))

    def test_a_process_without_rights_is_not_the_original(self):
        own_users = ('unshare', '--user', '--map-root-user')
        pids = [self.runs(self.node, *prefix)
                for prefix in (NOBODY, own_users)]
        for pid in pids:
            waiting.eventually(
                lambda: self.executed(pid) == self.original,
                'the program has not begun')
        for prefix in ((), NOBODY):
            self.assertEqual([], self.look(*prefix))

    def executed(self, pid):
        """Path of the program that a process has executed."""
        return os.readlink(f'/proc/{pid}/exe')
