# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What "status" says of backends, passes and repairs."""

import json

from ovn_network_agent.common import trigger
from ovn_network_agent.control.reports import report
from ovn_network_agent.control.reports import text
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.runtime import questions
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

TIME = r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$'
ALL = len(worlds.BACKENDS)


class EngineReportTest(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.made = self.gateway()
        self.parts = questions.make(self.made.reconciler, trigger.Trigger(0))

    def run_pass(self, *reasons, **options):
        passes = self.parts.passes
        passes.running = pass_log.Running(reasons or ('test',))
        passes.note(self.made.run(
            cloud.router(fips=[gateways.FIP]), **options),
            options.get('full', False))
        passes.end()

    def report(self):
        found = report.engine(self.parts)
        self.assertEqual(found, json.loads(json.dumps(found)))
        return found, '\n'.join(text.engine(found))

    def backend(self, name):
        found, = (each for each in self.report()[0]['backends']
                  if each['name'] == name)
        return found

    def test_before_the_first_pass(self):
        found, text = self.report()
        self.assertRegex(found['started'], TIME)
        self.assertEqual(('', [], []), tuple(
            found[key] for key in ('working', 'passes', 'repairs')))
        self.assertIn(f'backends: 0 of {ALL} ok', text)
        self.assertIn('not read; last read never', text)

    def test_without_a_loop(self):
        found = report.engine(None)
        self.assertEqual(self.report()[0].keys(), found.keys())
        self.assertEqual([], list(text.engine(found)))

    def test_all_is_well(self):
        self.run_pass('start')
        self.run_pass('a', 'b', 'c', 'd', full=True)
        found, text = self.report()
        self.assertEqual({'ok'}, {each['state'] for each in found['backends']})
        self.assertRegex(self.backend('route')['last_read'], TIME)
        self.assertEqual([['start'], ['a', 'b', 'c', 'd']],
                         [done['reasons'] for done in found['passes']])
        self.assertEqual([False, True],
                         [done['full'] for done in found['passes']])
        self.assertGreater(found['passes'][0]['changes'], 10)
        self.assertIn(f'backends: {ALL} of {ALL} ok', text)
        self.assertIn('0 changes  for a, b, c, ..., everything read', text)

    def test_what_fails(self):
        self.run_pass()
        self.made.world.down.add('route')
        self.made.world.objects.pop(gateways.HAIRPIN)
        self.made.world.refuses[gateways.HAIRPIN] = 'no space'
        self.run_pass(stale=['route', 'flow'])
        route = self.backend('route')
        self.assertEqual(('failing', 'route is down', 0), tuple(
            route[key] for key in ('state', 'reason', 'failed')))
        self.assertIsNotNone(route['retry_in'])
        flow = self.backend('flow')
        self.assertEqual(('failing', 'no space', 1), tuple(
            flow[key] for key in ('state', 'reason', 'failed')))
        text = self.report()[1]
        self.assertRegex(text, r'\n  route +failing; route is down; '
                               r'last read [-\dT:]+Z; again in')
        self.assertRegex(text, r'\n  flow +failing; 1 resource; no space')

    def test_repairs(self):
        self.run_pass()
        self.made.world.objects.pop(gateways.ROUTE)
        self.run_pass(stale=['route'])
        found, text = self.report()
        repair, = found['repairs']
        self.assertRegex(repair.pop('last'), TIME)
        self.assertEqual({'backend': 'route', 'kind': 'kernel_route',
                          'count': 1}, repair)
        self.assertRegex(text, r'kernel_route  1 time, last 2')

    def test_a_pass_that_runs_or_failed(self):
        self.parts.passes.running = pass_log.Running(('slow',))
        found, text = self.report()
        self.assertIn('(slow)', found['working'])
        self.assertIn('at work: a pass has been running', text)
        self.parts.passes.fail('a bug')
        self.parts.passes.end()
        found, text = self.report()
        self.assertEqual('a bug', found['passes'][-1]['trouble'])
        self.assertIn('for slow: a bug', text)
