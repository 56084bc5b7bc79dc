# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The declarations of the metrics, and the page that is made from them."""

import itertools
import re

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.forward import vip_state
from ovn_network_agent.gateways import drain
from ovn_network_agent.metrics import declared
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.tests import tools

page = tools.load('metrics')

# https://prometheus.io/docs/concepts/data_model/
_NAME = re.compile(r'[a-z][a-z0-9_]*\Z')


class DeclaredTest(base.BaseTestCase):

    def test_names_are_unique_also_as_series(self):
        series = [name for metric in declared.METRICS
                  for name in metric.series]
        self.assertEqual(len(set(series)), len(series))

    def test_names_say_what_they_count(self):
        for metric in declared.METRICS:
            for name in (metric.name, *metric.labels):
                self.assertRegex(name, _NAME)
            self.assertEqual(metric.kind is declared.Kind.COUNTER,
                             metric.name.endswith('_total'), metric.name)
            if metric.kind is declared.Kind.HISTOGRAM:
                self.assertTrue(metric.name.endswith('_seconds'), metric.name)
                self.assertEqual(sorted(metric.buckets), list(metric.buckets))
            self.assertTrue(metric.text.endswith('.'), metric.name)

    def test_a_label_of_an_enumeration_has_all_its_values(self):
        for values, enumeration in (
                (declared.PHASES, model.Phase),
                (declared.VIPS, vip_state.State),
                (declared.DRAINS, drain.Result),
                (declared.LOCKS, lock_state.State),
                (declared.PEERINGS, model.PeerState)):
            self.assertEqual({member.value for member in enumeration},
                             set(values))

    def test_the_page_is_up_to_date(self):
        self.assertEqual(page.PAGE.read_text(), page.text(),
                         'run tools/metrics.py --write')

    def test_the_page_has_all_metrics_with_their_labels(self):
        text = page.text()
        for metric in declared.METRICS:
            for word in itertools.chain((metric.full,), metric.labels,
                                        *metric.labels.values()):
                self.assertIn(f'``{word}``', text)
