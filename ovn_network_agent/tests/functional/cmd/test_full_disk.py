# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A real agent whose disk has no free byte."""

import os

from ovn_network_agent.tests.functional.cmd import quiet

# A disk of 256 kB, for this process and its children.
_SMALL = 'mount -t tmpfs -o size=256k tmpfs "$0"; exec "$@"'


class FullDiskTest(quiet.QuietTestCase):
    """The log is alone on a small disk that only the agent sees."""

    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.directory, 'disk')
        os.mkdir(self.disk)
        config = self.configured(
            log_file=os.path.join(self.disk, 'agent.log'))
        self.agent = self.start(config, 'unshare', '--mount', 'sh', '-ec',
                                _SMALL, self.disk)
        self.eventually(self.seen, self.log)

    def on_disk(self, name):
        return os.path.join(f'/proc/{self.agent.pid:d}/root', self.disk[1:],
                            name)

    def logfile(self):
        """The text of the log, '' before the agent has made the file."""
        try:
            with open(self.on_disk('agent.log')) as opened:
                return opened.read()
        except FileNotFoundError:
            return ''

    def fill(self):
        """Leave no free byte, also in the last page of the log."""
        with open(self.on_disk('ballast'), 'wb', buffering=0) as ballast:
            self.write_all(ballast)
        with open(self.on_disk('agent.log'), 'ab', buffering=0) as log:
            self.write_all(log)

    def write_all(self, opened):
        for size in 4096, 1:
            try:
                while True:
                    opened.write(b'x' * size)
            except OSError:
                pass

    def test_the_agent_does_without_its_log(self):
        self.fill()
        full = len(self.logfile())
        self.assertEqual(0, self.ctl('drain').returncode)
        self.assertEqual('all', self.wished())
        self.assertEqual(full, len(self.logfile()))
        self.assertIn('No space left on device', self.log())
        os.unlink(self.on_disk('ballast'))
        self.assertEqual(0, self.ctl('undrain').returncode)
        self.assertFalse(self.wished())
        self.eventually(lambda: len(self.logfile()) > full, self.log)
        self.assertIsNone(self.agent.poll())
