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

"""How many lines the log has had."""

import logging

from oslotest import base

from ovn_network_agent.conf import log_counts


class LogCountsTest(base.BaseTestCase):

    def test_lines_are_counted_by_level(self):
        counted = log_counts.LogCounts()
        for level in (logging.DEBUG, logging.INFO, logging.WARNING,
                      logging.WARNING, logging.ERROR):
            counted.handle(logging.LogRecord('x', level, '', 1, 'text', (),
                                             None))
        self.assertEqual({'warning': 2, 'error': 1, 'critical': 0},
                         counted.counts)
