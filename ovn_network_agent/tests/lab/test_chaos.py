# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Three minutes of the chaos runner with a fixed seed: tools/chaos."""

import os
import unittest

import testtools
from testtools import content

from lab.chaos import actions
from lab.chaos import planning
from lab.chaos import profiles
from lab.chaos import runner
from ovn_network_agent.tests import needs

# The plan of this seed has no silence of the whole management network in its
# time: an owner that was silent announces until it hears of OVN again, and
# this alone costs more than the limit.
SEED, SECONDS = 60, 180
# The directory is writable in the machine, and stays.
RESULTS = os.path.abspath('build/chaos-test')
# Episodes that fit into the time on a busy machine.
_LEAST = 5


@needs.needs(os.environ.get('LAB_MACHINE'),
             'makes hosts, and so needs the machine of the lab')
class TestChaos(testtools.TestCase):

    def test_three_minutes(self):
        """No violation, and few losses without an excuse."""
        profile = profiles.PROFILES['static']
        said = []
        self.addOnException(lambda _info: self.addDetail(
            'run', content.text_content('\n'.join(said))))
        summary = runner.Runner(
            profile, planning.permitted(actions.ACTIONS, profile), SEED,
            SECONDS, RESULTS, said.append).run()
        self.assertEqual([], summary['violations'])
        self.assertLessEqual(summary['loss_share'], profile.loss_limit)
        played = [line.split()[1] for line in said
                  if line.split()[0].isdigit()]
        self.assertGreaterEqual(len(played), _LEAST, said)


if __name__ == '__main__':
    unittest.main()
