# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""What the agent puts into a report of a bug."""

import json
import logging
import threading

from oslotest import base

from ovn_network_agent.conf import log_levels
from ovn_network_agent.control.reports import bug_report
from ovn_network_agent.control.socket import commands
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.tests.unit import world


class BugReportTest(base.BaseTestCase):

    def report(self, conf=None, status=dict, passes=()):
        made = bug_report.BugReport(conf or world.conf(), {}, status, dict,
                                    lambda: passes)
        return json.loads(made.run(commands.arguments('report', ''), []))

    def test_the_sections(self):
        found = self.report(passes=(pass_log.Done(1.0, ('start',), 3),))
        self.assertEqual(3, found['passes'][0]['changes'])
        self.assertIn('oslo.config', found['versions']['libraries'])
        self.assertIn('Linux', found['versions']['kernel'])
        # No daemon was started for it.
        self.assertIn('no privileged daemon frr',
                      found['versions']['programs']['frr']['error'])

    def test_a_section_that_fails_costs_only_itself(self):
        def fail():
            raise ValueError('a bug')
        found = self.report(status=fail)
        self.assertEqual({'error': 'ValueError: a bug'}, found['status'])
        self.assertTrue(found['configuration'])

    def test_the_stack_of_each_thread(self):
        ready, over = threading.Event(), threading.Event()

        def waits_for_the_end():
            ready.set()
            over.wait(60)
        thread = threading.Thread(target=waits_for_the_end, name='patient')
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(over.set)
        self.assertTrue(ready.wait(60))
        stack, = [lines for name, lines in bug_report.threads().items()
                  if name.startswith('patient ')]
        self.assertIn('waits_for_the_end', ' '.join(stack))
        self.assertTrue(all(line.startswith('File ') for line in stack))
        self.assertEqual(threading.active_count(), len(bug_report.threads()))

    def test_secrets_of_the_configuration_in_the_log(self):
        logger = logging.getLogger('ovn_network_agent.test_bug_report')
        kept = log_levels.LastLog()
        logger.addHandler(kept)
        self.addCleanup(logger.removeHandler, kept)
        logger.warning('ran with %s', 'hunter2')
        logger.warning('password: %s', 'swordfish')
        self.assertIn('hunter2', kept.lines[-2])
        self.addCleanup(setattr, log_levels, 'last_log', log_levels.last_log)
        log_levels.last_log = kept
        found = self.report(world.conf(
            frr__vtysh_wrapper='ssh --password=hunter2 frr'))
        self.assertEqual(2, len(found['log']))
        said = json.dumps(found)
        self.assertNotIn('hunter2', said)
        self.assertNotIn('swordfish', said)
        self.assertIn('ssh --password=*** frr', said)
