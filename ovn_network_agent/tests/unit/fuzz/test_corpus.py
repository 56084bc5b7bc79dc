# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The files of inputs."""

import os
import tempfile
import unittest

from ovn_network_agent.tests.fuzz import corpus
from ovn_network_agent.tests.fuzz import targets


class CorpusTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.directory = made.name

    def write(self, text):
        with open(corpus.path('name', self.directory), 'w') as opened:
            opened.write(text)

    def read(self):
        return corpus.read('name', self.directory)

    def test_nothing_is_there_at_first(self):
        self.assertEqual([], self.read())

    def test_inputs_and_remarks(self):
        inputs = [b'\0\xff\n#', b'#', b'', b'"\'\\']
        self.write('# why\n\n' + ''.join(f'{data!r}\n' for data in inputs))
        self.assertEqual(inputs, self.read())

    def test_a_line_of_something_else(self):
        for line in ("'text'", '1', 'b"open', 'import os'):
            self.write(line + '\n')
            with self.subTest(line), self.assertRaises(
                    (SyntaxError, ValueError)):
                self.read()

    def test_each_file_is_of_a_target_and_each_target_has_one(self):
        self.assertEqual(set(targets.TARGETS), {
            name.removesuffix('.txt')
            for name in os.listdir(corpus.DIRECTORY)})
        for name in targets.TARGETS:
            self.assertTrue(corpus.read(name), name)
