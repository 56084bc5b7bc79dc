# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each target of the fuzzer has its inputs."""

import os
import unittest

from ovn_network_agent.tests.fuzz import corpus
from ovn_network_agent.tests.fuzz import targets


class CorpusTest(unittest.TestCase):

    def test_each_file_is_of_a_target_and_each_target_has_one(self):
        self.assertEqual(set(targets.TARGETS), {
            name.removesuffix('.txt')
            for name in os.listdir(corpus.DIRECTORY)})
        for name in targets.TARGETS:
            self.assertTrue(corpus.read(name), name)
