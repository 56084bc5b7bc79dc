# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The benchmark's command, with real programs, for a few addresses."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from oslotest import base

from lab import frr as daemons
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import tools
from tools.bench import results


@needs.needs(
    os.geteuid() == 0 and shutil.which('ovs-vswitchd') and
    shutil.which('ovsdb-server') and
    os.path.exists(os.path.join(daemons.PROGRAMS, 'bgpd')),
    'needs root, Open vSwitch and FRR')
class BenchTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.path = os.path.join(self.directory, 'results.json')

    def bench(self, *arguments):
        """Run the command; what its worlds leave behind lies in one place.

        :returns: subprocess.CompletedProcess
        """
        return subprocess.run(
            [sys.executable, '-m', 'tools.bench', *arguments, '--json',
             self.path], cwd=tools.ROOT, stdin=subprocess.DEVNULL,
            capture_output=True, text=True,
            env={**os.environ, 'TMPDIR': self.directory})

    def worlds(self):
        """Process ids of worlds of this test, a list of text."""
        found = []
        for path in pathlib.Path('/proc').glob('[0-9]*/environ'):
            try:
                words = path.read_bytes()
            except (OSError, ProcessLookupError):
                # The process has ended.
                continue
            if f'TMPDIR={self.directory}'.encode() in words:
                found.append(path.parent.name)
        return found

    def test_a_few_addresses(self):
        ended = self.bench(
            'run', '--sizes', '3', '--routers', '2', '--repeat', '2',
            '--large', '2', '--burst', '4', '--methods', 'kernel', '--rest',
            '0.5', '--events', '20', '--settled', '1', '--passes', '1',
            '--interval', '3', '--compare-every', '2', '--spread', '1')
        self.assertEqual(0, ended.returncode, ended.stderr)
        run, = results.by_run(results.read(self.path))
        for subject in ('ours', 'floor'):
            for what, count in (
                    ('start', 2), ('one added', 2), ('one removed', 2),
                    ('one, compared every 2 s removed', 2),
                    ('4 at once removed', 2), ('takeover of a gateway', 2),
                    ('takeover of a gateway, last at the neighbour', 2),
                    ('hand-over of a gateway, first at the neighbour', 2)):
                if subject == 'floor' and 'compared' in what:
                    continue
                found = run[results.Key(what, 'all', 'ms', subject, 'kernel',
                                        3, 2)]
                self.assertEqual(count, len(found))
                self.assertTrue(all(value > 0 for value in found))
        self.assertNotIn(self.path, str(results.read(self.path)['runs']))
        for what, place, unit in (
                ('resync without change', 'processor', 'ms'),
                ('SIGHUP', 'processor', 'ms'), ('memory', 'PSS', 'MB'),
                ('day of 20 changes', 'all', 'ms')):
            self.assertGreater(run[results.Key(
                what, place, unit, 'ours', 'kernel', 3, 2)][0], 0)
        # Less than nothing is possible, beside other work of the machine.
        self.assertEqual(1, len(run[results.Key(
            'periodic pass without change', 'processor', 'ms', 'ours',
            'kernel', 3, 2)]))
        self.assertIn('x floor', ended.stdout)
        self.assertEqual([], self.worlds())
        self.assertEqual(['results.json'], os.listdir(self.directory))

    def test_a_few_ports(self):
        ended = self.bench(
            'run', '--addresses', 'ports', '--sizes', '0', '3', '--repeat',
            '1', '--large', '1', '--burst', '4', '--methods', 'kernel',
            '--scenarios', 'one', 'burst', 'memory', 'start', 'takeover')
        self.assertEqual(0, ended.returncode, ended.stderr)
        run, = results.by_run(results.read(self.path))
        for subject in ('ours', 'floor'):
            for what in ('start', 'one added', 'one removed',
                         '4 at once added', '4 at once removed'):
                self.assertGreater(run[results.Key(
                    f'ports: {what}', 'all', 'ms', subject, 'kernel', 3,
                    0)][0], 0)
        self.assertEqual({3}, {key.size for key in run})
        self.assertNotIn('takeover', ended.stdout)

    def test_a_revision_that_does_not_exist(self):
        ended = self.bench('run', '--against', 'no-such-revision')
        self.assertEqual(1, ended.returncode)
        self.assertIn('no-such-revision is no revision', ended.stderr)
        self.assertEqual([], os.listdir(self.directory))
