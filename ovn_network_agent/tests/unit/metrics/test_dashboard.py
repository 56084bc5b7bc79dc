# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The dashboard is in order and uses only metrics that exist."""

import json
import re

from oslotest import base

from ovn_network_agent.metrics import declared
from ovn_network_agent.tests.unit.metrics import test_rules

DASHBOARD = (test_rules.ROOT / 'contrib' / 'grafana' /
             'ovn-network-agent.json')
# Of Prometheus itself, and of the process.
_FOREIGN = {'up', 'process_start_time_seconds', 'process_cpu_seconds_total',
            'process_resident_memory_bytes'}
# Width of a dashboard of Grafana in its units.
_WIDTH = 24


class DashboardTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.dashboard = json.loads(DASHBOARD.read_text())
        self.panels = self.dashboard['panels']

    def expressions(self):
        return [target['expr'] for panel in self.panels
                for target in panel.get('targets', ())]

    def test_metrics_are_declared(self):
        known = _FOREIGN | {name for metric in declared.METRICS
                            for name in metric.series}
        self.assertGreater(len(self.expressions()), 20)
        for expression in self.expressions():
            found = test_rules.series(expression)
            self.assertTrue(found, expression)
            self.assertLessEqual(found, known, expression)

    def test_the_variables_use_metrics_that_are_declared(self):
        known = {metric.full: metric for metric in declared.METRICS}
        for variable in self.dashboard['templating']['list']:
            if variable['type'] == 'query':
                name = re.match(r'label_values\((\w+)',
                                variable['definition'])[1]
                self.assertIn(name, known)

    def test_labels_of_legends_exist(self):
        of = {name: set(metric.labels) for metric in declared.METRICS
              for name in metric.series}
        for panel in self.panels:
            for target in panel.get('targets', ()):
                known = {'instance', 'job'}.union(*(
                    of.get(name, ()) for name
                    in test_rules.series(target['expr'])))
                known.update(re.findall(r'count_values\("(\w+)"',
                                        target['expr']))
                used = re.findall(r'\{\{(\w+)\}\}', target['legendFormat'])
                self.assertLessEqual(set(used), known, target)

    def test_every_panel_asks_the_chosen_nodes(self):
        for expression in self.expressions():
            self.assertIn('{job=~"$job"', expression)

    def test_panels_have_ids_and_places_of_their_own(self):
        ids = [panel['id'] for panel in self.panels]
        self.assertEqual(len(set(ids)), len(ids))
        taken = set()
        for panel in self.panels:
            place = panel['gridPos']
            self.assertLessEqual(place['x'] + place['w'], _WIDTH)
            cells = {(x, y)
                     for x in range(place['x'], place['x'] + place['w'])
                     for y in range(place['y'], place['y'] + place['h'])}
            self.assertFalse(cells & taken, panel['title'])
            taken |= cells

    def test_a_tile_does_not_show_the_past(self):
        """A question about a time has an answer for an agent that is dead."""
        tiles = [target for panel in self.panels if panel['type'] == 'stat'
                 for target in panel['targets']]
        self.assertEqual(4, len(tiles))
        for target in tiles:
            self.assertTrue(target['instant'], target)
