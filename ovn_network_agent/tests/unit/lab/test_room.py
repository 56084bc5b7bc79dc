# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A machine has its memory where there is room for all of it."""

from oslotest import base

from lab import boot

GIB = 1 << 30


class RoomTest(base.BaseTestCase):

    def test_the_first_with_enough(self):
        self.assertEqual('/dev/shm', boot.roomy(
            [('/dev/shm', 4 * GIB), ('/tmp', 50 * GIB)], 3 * GIB))

    def test_a_full_tmpfs_would_kill_the_machine(self):
        self.assertEqual('/tmp', boot.roomy(
            [('/dev/shm', 2 * GIB), ('/tmp', 50 * GIB)], 3 * GIB))

    def test_the_most_where_none_has_enough(self):
        self.assertEqual('/dev/shm', boot.roomy(
            [('/dev/shm', 2 * GIB), ('/tmp', GIB)], 3 * GIB))

    def test_units_are_those_of_the_kernel(self):
        for text, size in (('3G', 3 * GIB), ('512M', GIB // 2),
                           ('64k', 65536), ('4096', 4096)):
            self.assertEqual(size, boot.bytes_of(text), text)

    def test_what_is_no_size(self):
        for text in ('', 'G', '3T', 'much', '-1G'):
            self.assertIn(text, str(self.assertRaises(
                boot.BootError, boot.bytes_of, text)))
