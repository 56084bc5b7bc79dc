# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The memory of a process goes back to the kernel after it has grown."""

import resource
import threading

from oslotest import base

from ovn_network_agent.privileged.daemon import memory_trim

MEGA = 1 << 20


class KeeperTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.size = 10 * MEGA
        self.released = threading.Semaphore(0)
        self.keeper = memory_trim.Keeper(self.release, lambda: self.size,
                                         (0, 0))

    def release(self):
        self.size = min(self.size, 11 * MEGA)
        self.released.release()

    def releases(self):
        """Wait for the releases after one growth, of which no more come."""
        for _pause in range(2):
            self.assertTrue(self.released.acquire(timeout=20))
        self.assertFalse(self.released.acquire(blocking=False))

    def test_each_growth_is_released(self):
        self.keeper.start()
        self.keeper.look()
        for _growth in range(2):
            self.size = 20 * MEGA
            self.keeper.look()
            self.releases()

    def test_a_growth_counts_from_what_is_left(self):
        self.size = 30 * MEGA
        self.keeper.tidy()
        self.assertTrue(self.released.acquire(blocking=False))
        self.keeper.start()
        for size in 12, 15:
            self.size = size * MEGA
            self.keeper.look()
        self.releases()


class ReleaseTest(base.BaseTestCase):

    def test_the_size_is_that_of_this_process(self):
        with open('/proc/self/status') as opened:
            resident = next(int(line.split()[1]) for line in opened
                            if line.startswith('VmRSS:'))
        self.assertAlmostEqual(resident / 1024, memory_trim.Size()() / MEGA,
                               delta=8)

    def test_the_size_is_told_without_a_free_file_descriptor(self):
        size = memory_trim.Size()
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        self.assertRaises(OSError, open, '/proc/self/statm')
        self.assertGreater(size(), MEGA)

    def test_free_pages_between_pages_in_use_are_given_back(self):
        """Without malloc_trim(3) the last block holds those before it."""
        blocks = [bytearray(8000) for _number in range(4000)]
        before = memory_trim.Size()()
        del blocks[:-1]
        memory_trim.release()
        self.assertLess(memory_trim.Size()(), before - 20 * MEGA)
