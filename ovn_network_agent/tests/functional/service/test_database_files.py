# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""NB and SB that are restored, converted, or have no disk left."""

import contextlib
import os
import subprocess
import tempfile
import uuid

from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.functional.service import loss

FIRST = {'198.51.100.1/32', '198.51.100.10/32'}


class SmallDisk(ovsdb.Server):
    """An ovsdb-server whose file is alone on a disk of half a megabyte.

    Only the server sees the disk, and the disk goes with the server.
    """

    def create(self, change_schema=None):
        super().create(change_schema)
        disk = self._path('disk')
        os.mkdir(disk)
        os.rename(self.file, self._path('db.first'))
        self.file = os.path.join(disk, 'db')

    def program(self):
        """See :meth:`base.Server.program`."""
        return ['unshare', '--mount', 'sh', '-ec',
                'mount -t tmpfs -o size=512k tmpfs "$1"; cp "$2" "$3"; '
                'shift 3; exec "$@"', 'sh', self._path('disk'),
                self._path('db.first'), self.file, *super().program()]

    def _on_disk(self, name):
        return os.path.join(f'/proc/{self._process.pid:d}/root',
                            self._path('disk')[1:], name)

    def fill(self):
        """Leave no free byte on the disk.

        The last page of the file has room without the disk.
        """
        with open(self._on_disk('ballast'), 'wb', buffering=0) as ballast:
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(4096))
        for size in 1024, 128, 1:
            with contextlib.suppress(AssertionError):
                while True:
                    self.transact(ovsdb.insert(
                        'Address_Set', name=uuid.uuid4().hex + size * 'x'))

    def clear(self):
        """Undo :meth:`fill`."""
        os.unlink(self._on_disk('ballast'))


class FilesTestCase(loss.LossTestCase):

    def stays(self):
        """Nothing was ever withdrawn."""
        self.assertEqual(set(), self.withdrawn())
        self.assertLessEqual(FIRST, self.announced())

    def follows(self, agent, address):
        """A new floating IP is announced, and all is well."""
        self.cloud.add_nat('r1', address)
        self.eventually(lambda: address + '/32' in self.announced(),
                        self.announced)
        self.well(agent)


class BackupTest(FilesTestCase):

    def backup(self, server):
        """A copy of the database, bytes."""
        return subprocess.run(
            ['ovsdb-client', 'backup', server.remote, server.database],
            check=True, capture_output=True).stdout

    def restore(self, server, copy):
        """Put a copy into the running database, as an operator does."""
        # The program wants a file, and no pipe.
        with tempfile.TemporaryFile() as opened:
            opened.write(copy)
            opened.seek(0)
            subprocess.run(['ovsdb-client', 'restore', server.remote,
                            server.database], stdin=opened, check=True,
                           capture_output=True)

    def ids(self, server, table):
        return {row['_uuid'][1] for row in server.rows(table, '_uuid')}

    def test_other_row_ids(self):
        """The same rows with other ids are the same to the agent."""
        agent = self.running()
        for number, (server, table) in enumerate((
                (self.nb, 'NAT'), (self.sb, 'Port_Binding'))):
            before = self.ids(server, table)
            self.restore(server, self.backup(server))
            after = self.ids(server, table)
            self.assertEqual((len(before), set()),
                             (len(after), before & after))
            self.follows(agent, f'198.51.100.{20 + number:d}')
            self.stays()

    def test_an_older_state(self):
        """What came after the copy goes, and nothing else."""
        agent = self.running()
        copy = self.backup(self.nb)
        self.follows(agent, '198.51.100.20')
        self.restore(self.nb, copy)
        self.eventually(lambda: self.announced() == FIRST, self.announced)
        self.well(agent)
        self.assertEqual({'198.51.100.20/32'}, self.withdrawn())


class SchemaTest(FilesTestCase):

    def test_a_column_that_is_gone(self):
        """A database that cannot be used is like one that is not there."""
        agent = self.running()
        self.nb.convert(schemas.without('NAT.external_ip'))
        self.degraded(agent, 'no column external_ip of table NAT')
        waiting.lasts(self.stays, 2 * loss.PROBE / 1000)

    def test_new_columns_and_tables(self):
        """An upgrade of OVN, to a version that nobody knows."""
        agent = self.running()
        for number, server in enumerate(self.servers.values()):
            server.convert(schemas.from_the_future)
            self.follows(agent, f'198.51.100.{20 + number:d}')
            self.stays()


class DiskTest(FilesTestCase):

    def server(self, name):
        return (SmallDisk if name == 'nb' else ovsdb.Server)(name)

    def test_nb_without_a_free_byte(self):
        """The rows that NB refuses are written when there is room."""
        self.cloud.add_router('r2', chassis=cloud.OTHER,
                              networks=['203.0.113.1/24'])
        agent = self.running()
        self.nb.fill()
        self.cloud.move('lrp-r2', loss.HERE)
        self.eventually(lambda: '203.0.113.1/32' in self.announced(),
                        'announced all the same')
        self.degraded(agent, 'No space left on device')
        self.assertEqual([cloud.HOSTNAME], self.routes())
        self.stays()
        self.nb.clear()
        self.eventually(lambda: self.routes() == [cloud.HOSTNAME] * 2,
                        self.routes)
        self.follows(agent, '198.51.100.20')
        self.stays()
