# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The minute of fuzzing in each run of the tests; tools/fuzz takes longer.

Each input of the corpus runs again: those that once were a bug, too.  Then
come new inputs, by another seed in each run, which the failure names.
"""

import random
import unittest
import zlib

from ovn_network_agent.tests import budget
from ovn_network_agent.tests.fuzz import corpus
from ovn_network_agent.tests.fuzz import engine
from ovn_network_agent.tests.fuzz import targets

# New inputs of a target; all targets together take less than a minute.
RUNS = 200


class TargetTest(unittest.TestCase):
    """A test for each target that needs no root."""

    def fuzz(self, target):
        # A usual run repeats itself; the scheduled job looks for more.
        seed = (zlib.crc32(target.name.encode()) if budget.FACTOR <= 1
                else random.SystemRandom().randrange(1 << 32))
        inputs = corpus.read(target.name)
        report = engine.search(target, inputs, seed, budget.examples(
            max(1, round(RUNS * target.share))))
        self.assertEqual([], [
            f'seed {seed}: {found.what} for {found.data[:500]!r}\n{found.text}'
            for found in report.findings])
        self.assertLess(len(inputs), report.runs)


def _test(target):
    return lambda self: self.fuzz(target)


for _target in targets.TARGETS.values():
    if not _target.root:
        setattr(TargetTest, 'test_' + _target.name.replace('.', '_'),
                _test(_target))
