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

"""The last lines of the log."""

import logging

from oslotest import base

from ovn_network_agent.conf import last_log


class LastLogTest(base.BaseTestCase):

    def test_only_the_last_lines_stay(self):
        kept = last_log.LastLog()
        for number in range(last_log.KEPT + 3):
            kept.handle(logging.makeLogRecord({'msg': f'line {number}'}))
        self.assertEqual(last_log.KEPT, len(kept.lines))
        self.assertTrue(kept.lines[0].endswith('line 3'))
        self.assertTrue(kept.lines[-1].endswith(f'line {number}'))
