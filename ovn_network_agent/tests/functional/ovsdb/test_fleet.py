# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The benchmark of the fleet, and what it leaves behind."""

import os
import pathlib
import tempfile

from oslotest import base

from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from tools.bench.fleet import clients
from tools.bench.fleet import cloud


@ovsdb.needs_ovsdb
class FleetTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        # Of this test alone, while others run beside it.
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        before, tempfile.tempdir = tempfile.tempdir, self.directory.name
        self.addCleanup(setattr, tempfile, 'tempdir', before)

    def servers(self):
        """Process ids of servers whose files are of this test, a list."""
        found = []
        for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
            try:
                words = path.read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                # The process has ended.
                continue
            if words.startswith(b'ovsdb-server') and (
                    self.directory.name.encode() in words):
                found.append(int(path.parent.name))
        return found

    def assert_nothing_left(self):
        self.assertEqual([], self.servers())
        self.assertEqual([], os.listdir(self.directory.name))

    def test_a_cloud_that_cannot_be_filled_leaves_no_server(self):
        """Without a gateway, there is no chassis for a port."""
        try:
            self.assertRaises(ZeroDivisionError, cloud.Cloud, 0, 1, 0)
            self.assert_nothing_left()
        finally:
            for pid in self.servers():
                os.kill(pid, 9)

    def test_a_cloud_ends_with_its_block(self):
        with cloud.Cloud(2, 1, 1) as made:
            self.assertEqual(2, len(self.servers()))
            self.assertEqual(1, made.relays())
        self.assert_nothing_left()

    def test_clients_that_cannot_connect_leave_no_socket(self):
        before = len(os.listdir('/proc/self/fd'))
        self.assertRaises(OSError, clients.Clients,
                          os.path.join(self.directory.name, 'none'), [], 3)
        self.assertEqual(before, len(os.listdir('/proc/self/fd')))
