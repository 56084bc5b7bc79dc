# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How many lines the log has had."""

import logging

from oslotest import base

from ovn_network_agent.conf import log_levels


class LogCountsTest(base.BaseTestCase):

    def test_lines_are_counted_by_level(self):
        counted = log_levels.LogCounts()
        for level in (logging.DEBUG, logging.INFO, logging.WARNING,
                      logging.WARNING, logging.ERROR):
            counted.handle(logging.LogRecord('x', level, '', 1, 'text', (),
                                             None))
        self.assertEqual({'warning': 2, 'error': 1, 'critical': 0},
                         counted.counts)
