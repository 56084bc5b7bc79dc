# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Files are written together."""

import os

import fixtures
from oslotest import base

from ovn_network_agent.migrate import command


class WriteTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.first = self.path('first')

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def content(self, path):
        with open(path) as opened:
            return opened.read()

    def refused(self, *paths, force=False):
        """The text of the refusal to write some files."""
        return str(self.assertRaises(
            command.Refused, command.write, dict.fromkeys(paths, 'new'),
            force))

    def test_both_are_written(self):
        second = self.path('a', 'folder', 'second')
        command.write({self.first: 'one', second: 'two'}, False)
        self.assertEqual(('one', 'two'),
                         (self.content(self.first), self.content(second)))
        self.assertEqual({'first', 'a'}, {*os.listdir(self.folder)})

    def test_a_second_one_that_cannot_be_written_leaves_none(self):
        command.write({self.path('file'): 'no folder'}, False)
        second = self.path('file', 'second')
        said = self.refused(self.first, second)
        self.assertIn(f'{second}: ', said)
        self.assertNotIn(self.first, said)
        self.assertEqual(['file'], os.listdir(self.folder))

    def test_a_second_one_that_cannot_get_its_name(self):
        # A folder has the name, which is found only at the end.
        second = self.path('second')
        os.mkdir(second)
        said = self.refused(self.first, second, force=True)
        self.assertIn(f'{second}: Is a directory', said)
        self.assertIn(f'written by then: {self.first}', said)
        self.assertEqual('new', self.content(self.first))
        self.assertEqual({'first', 'second'}, {*os.listdir(self.folder)})
