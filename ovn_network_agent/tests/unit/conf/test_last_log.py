# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The last lines of the log."""

import logging

from oslotest import base

from ovn_network_agent.conf.logs import last_log


class LastLogTest(base.BaseTestCase):

    def test_only_the_last_lines_stay(self):
        kept = last_log.LastLog()
        for number in range(last_log.KEPT + 3):
            kept.handle(logging.makeLogRecord({'msg': f'line {number}'}))
        self.assertEqual(last_log.KEPT, len(kept.lines))
        self.assertTrue(kept.lines[0].endswith('line 3'))
        self.assertTrue(kept.lines[-1].endswith(f'line {number}'))
