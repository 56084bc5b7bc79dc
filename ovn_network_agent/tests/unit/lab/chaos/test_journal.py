# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The journal can be read while the run goes on."""

import json
import os
import tempfile
import unittest

from lab.chaos import journal
from lab.chaos import values


class JournalTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.directory = os.path.join(made.name, 'new')
        self.said = []

    def test_lines(self):
        episode = values.Episode(
            1, 'nb', 'gw1', {'seconds': 1.5}, 10.0, 12.0, 15.0,
            violations=(values.Violation(values.ACTION, 'gw1', 'why', 11.0),
                        values.Violation(values.LEAK, 'sink', '3', 11.0),))
        with journal.Journal(self.directory, self.said.append) as opened:
            opened.note('run', seed=7)
            opened.settled(episode)
            with open(os.path.join(self.directory, journal.NAME)) as again:
                run, settled = map(json.loads, again)
        self.assertEqual(('run', 7), (run['what'], run['seed']))
        self.assertEqual({'seconds': 1.5}, settled['episode']['parameters'])
        self.assertEqual(['action', 'leak'], [
            one['kind'] for one in settled['episode']['violations']])
        self.assertEqual(['VIOLATION action gw1: why',
                          '  2.0 s, settled after 3.0 s'], self.said)

    def test_what_json_cannot_write(self):
        self.assertEqual(['a', 'b'], journal.plain({'b', 'a'}))
        with self.assertRaises(TypeError):
            journal.plain(object())
