# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A minute of the chaos runner with a fixed seed: tools/chaos."""

import os
import unittest

import testtools
from testtools import content

from lab import forks
from lab.chaos import actions
from lab.chaos import planning
from lab.chaos import runner
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.lab import base

SEED, SECONDS = 60, 50
# The directory is writable in the machine, and stays.
RESULTS = os.path.abspath('build/chaos-test')
# Episodes that fit into the time on a busy machine.
_LEAST = 3


@needs.needs(os.environ.get('LAB_MACHINE'),
             'makes hosts, and so needs the machine of the lab')
class TestChaos(testtools.TestCase):

    def test_some_episodes(self):
        """No violation.

        The share of lost probes is only noted: it is judged by ``tools/chaos``
        on a machine that has nothing else to do.
        """
        forks.use()
        self.addCleanup(forks.use, False)
        profile = planning.PROFILES['static']
        said = []
        self.addOnException(lambda _info: self.addDetail(
            'run', content.text_content('\n'.join(said))))
        summary = runner.Runner(
            profile, planning.permitted(actions.ACTIONS, profile), SEED,
            SECONDS, RESULTS, said.append).run()
        base.note(f'{100 * summary["loss_share"]:.3f} % of the probes lost '
                  'without an excuse')
        self.assertEqual([], summary['violations'])
        played = [line.split()[1] for line in said
                  if line.split()[0].isdigit()]
        self.assertGreaterEqual(len(played), _LEAST, said)


if __name__ == '__main__':
    unittest.main()
