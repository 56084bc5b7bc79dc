# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The report about a running process, in a process of its own."""

import os
import signal
import subprocess
import sys

import fixtures
from oslotest import base

from ovn_network_agent.tests import waiting

_PROGRAM = """
import signal
import sys

from oslo_config import cfg

from ovn_network_agent.runtime.process import signals

signals.set_defaults(cfg.CONF)
cfg.CONF(sys.argv[1:])
signals.arm(cfg.CONF)
print('armed', 'oslo_reports.guru_meditation_report' in sys.modules,
      flush=True)
while True:
    signal.pause()
"""


class ReportTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path

    def start(self, *options):
        """Start the program; returns the process, which is armed."""
        path = os.path.join(self.folder, 'agent.conf')
        with open(path, 'w') as opened:
            opened.write('\n'.join(['[oslo_reports]', *options]))
        process = subprocess.Popen(
            [sys.executable, '-c', _PROGRAM, '--config-file', path],
            stdout=subprocess.PIPE, stderr=open(self.path('said'), 'wb'),
            text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertRegex(process.stdout.readline(), '^armed')
        return process

    def path(self, name):
        return os.path.join(self.folder, name)

    def reports(self):
        """How many reports stand in the standard error, complete ones."""
        with open(self.path('said')) as opened:
            return opened.read().count('Guru Meditation')

    def test_each_signal_gives_a_report(self):
        process = self.start()
        for _n in range(3):
            before = self.reports()
            process.send_signal(signal.SIGUSR2)
            waiting.eventually(
                lambda before=before: self.reports() > before, 'a report')
        self.assertIsNone(process.poll())
        with open(self.path('said')) as opened:
            self.assertIn('file_event_handler', opened.read())

    def test_a_report_goes_into_the_directory(self):
        os.mkdir(self.path('log'))
        self.start(f'log_dir = {self.path("log")}').send_signal(signal.SIGUSR2)
        waiting.eventually(lambda: os.listdir(self.path('log')), 'a file')

    def test_a_file_is_watched_from_the_start(self):
        trigger = self.path('trigger')
        open(trigger, 'w').close()
        self.start(f'file_event_handler = {trigger}',
                   'file_event_handler_interval = 1')
        os.utime(trigger, (2 ** 33, 2 ** 33))
        waiting.eventually(self.reports, 'a report')
