# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Each machine of the lab has a processor of its own, as far as there are."""

import os
import tempfile
import unittest
from unittest import mock

from lab import processor


class ReservedTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        allowed = mock.patch.object(os, 'sched_getaffinity',
                                    return_value={3, 5})
        allowed.start()
        self.addCleanup(allowed.stop)

    def test_another_one_for_each_machine(self):
        with processor.reserved(self.directory) as first:
            with processor.reserved(self.directory) as second:
                self.assertEqual({3, 5}, {first, second})

    def test_given_back(self):
        for _attempt in range(3):
            with processor.reserved(self.directory) as number:
                self.assertEqual(3, number)

    def test_more_machines_than_processors(self):
        with processor.reserved(self.directory), \
                processor.reserved(self.directory), \
                processor.reserved(self.directory) as third:
            self.assertIn(third, {3, 5})


if __name__ == '__main__':
    unittest.main()
