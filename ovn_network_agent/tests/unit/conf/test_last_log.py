# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The last lines of the log."""

import logging

from oslotest import base

from ovn_network_agent.conf import log_levels


class LastLogTest(base.BaseTestCase):

    def test_only_the_last_lines_stay(self):
        kept = log_levels.LastLog()
        for number in range(log_levels.KEPT + 3):
            kept.handle(logging.makeLogRecord({'msg': f'line {number}'}))
        self.assertEqual(log_levels.KEPT, len(kept.lines))
        self.assertTrue(kept.lines[0].endswith('line 3'))
        self.assertTrue(kept.lines[-1].endswith(f'line {number}'))
