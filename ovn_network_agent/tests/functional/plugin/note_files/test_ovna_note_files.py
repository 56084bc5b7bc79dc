# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the backend does to a folder: a real one."""

import os
import queue
import tempfile
import unittest

from oslo_config import cfg
import ovna_note
import ovna_note_files

from ovn_network_agent.backends import base

ONE = ovna_note.Note('one', 'first')
OTHER = ovna_note.Note('other', 'second')


class NoteBackendTest(unittest.TestCase):

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        conf = cfg.ConfigOpts()
        conf.register_opts(ovna_note_files.NoteBackend.CONFIG_OPTS,
                           group='note')
        conf([])
        conf.set_override('folder', self.folder, group='note')
        self.backend = ovna_note_files.NoteBackend(conf)
        self.addCleanup(self.backend.close)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), 'w') as opened:
            opened.write(text)

    def create(self, *notes):
        return self.backend.apply(base.Delta(create=notes))

    def read(self):
        return set(self.backend.read(frozenset()))

    def test_a_written_note_is_read_back_equal(self):
        self.assertEqual({}, self.create(ONE, OTHER))
        self.assertEqual({ONE, OTHER}, self.read())

    def test_a_change(self):
        self.create(ONE)
        changed = ovna_note.Note('one', 'changed')
        self.assertEqual({}, self.backend.apply(
            base.Delta(update=((ONE, changed),))))
        self.assertEqual({changed}, self.read())

    def test_a_removal_and_its_repetition(self):
        self.create(ONE)
        for _ in range(2):
            self.assertEqual({}, self.backend.apply(
                base.Delta(delete=(ONE,))))
            self.assertEqual(set(), self.read())

    def test_a_file_without_the_mark_is_not_ours(self):
        self.write('one', 'by hand\n')
        self.assertEqual(set(), self.read())
        failures = self.create(ONE, OTHER)
        self.assertEqual([ONE.ref], list(failures))
        self.assertEqual({OTHER}, self.read())

    def test_a_note_with_more_lines_stays(self):
        self.create(ONE)
        self.write('one', ovna_note_files.MARK + 'first\nby hand\n')
        found, = self.read()
        kept = self.backend.apply(base.Delta(delete=(found,)))
        self.assertIsInstance(kept[ONE.ref], base.Kept)
        self.assertEqual({found}, self.read())

    def test_a_folder_that_is_gone(self):
        os.rmdir(self.folder)
        self.assertRaises(base.BackendError, self.read)
        self.assertIn(self.folder, self.backend.check()[0])
        os.mkdir(self.folder)
        self.assertEqual([], self.backend.check())

    def test_the_return_of_the_folder_wakes_the_loop(self):
        woken = queue.SimpleQueue()
        self.backend.attach(base.Context(
            wake=lambda reason, revived: woken.put(revived)))
        os.rmdir(self.folder)
        self.assertRaises(base.BackendError, self.read)
        os.mkdir(self.folder)
        self.assertEqual(self.backend.revived_by, woken.get(timeout=60))


if __name__ == '__main__':
    unittest.main()
