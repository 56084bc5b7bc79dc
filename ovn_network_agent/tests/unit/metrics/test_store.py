# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The page of the metrics: what is on it before anything has happened."""

from oslotest import base
from prometheus_client import parser

from ovn_network_agent.metrics import declared
from ovn_network_agent.metrics import store


def samples(text):
    """The values of a page, dict of (series, frozenset of labels) to float."""
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples}


class StoreTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.gauges = {}
        self.store = store.Store(
            {'backend': ['route'], 'kind': ['flow', 'rule']},
            lambda: self.gauges, ['frr_restarts_total'])

    def page(self):
        return samples(self.store.page().decode())

    def value(self, name, **labels):
        return self.page().get(
            (declared.PREFIX + name, frozenset(labels.items())))

    def test_counters_and_histograms_begin_at_0(self):
        names = {name for (name, _labels), value in self.page().items()
                 if not value}
        for metric in declared.METRICS:
            if (metric.kind is not declared.Kind.GAUGE and
                    metric.name != 'frr_restarts_total'):
                self.assertLessEqual(set(metric.series), names)
        self.assertEqual(0, self.value('drain_total', result='nobody'))
        self.assertEqual(0, self.value('backend_failures_total',
                                       backend='route'))
        self.assertEqual(0, self.value('changes_total', kind='rule',
                                       verb='deleted'))

    def test_what_is_not_known_has_no_series(self):
        self.assertIsNone(self.value('desired_ips'))
        self.gauges = {'desired_ips': None, 'vips': {}}
        self.assertIsNone(self.value('desired_ips'))
        self.gauges = {'desired_ips': 3, 'vips': {('down',): 2}}
        self.assertEqual(3, self.value('desired_ips'))
        self.assertEqual(2, self.value('vips', state='down'))
        self.gauges = {}
        self.assertIsNone(self.value('vips', state='down'))

    def test_counting(self):
        self.store.count('takeovers_total')
        self.store.count('repairs_total', 2, kind='flow')
        self.store.observe('announce_seconds', 0.25)
        self.gauges = {'frr_restarts_total': 4}
        self.assertEqual(1, self.value('takeovers_total'))
        self.assertEqual(2, self.value('repairs_total', kind='flow'))
        self.assertEqual(0, self.value('announce_seconds_bucket', le='0.2'))
        self.assertEqual(1, self.value('announce_seconds_bucket', le='0.3'))
        self.assertEqual(4, self.value('frr_restarts_total'))

    def test_every_name_on_the_page_is_declared(self):
        self.gauges = {
            metric.name: 1 if not metric.labels else
            {tuple(metric.labels): 1} for metric in declared.METRICS
            if metric.kind is declared.Kind.GAUGE}
        known = {name for metric in declared.METRICS for name in metric.series}
        found = {name for name, _labels in self.page()
                 if not name.startswith('process_')}
        self.assertEqual(known - {'ovn_network_agent_frr_restarts_total'},
                         found)

    def test_a_hostile_name_stays_one_value(self):
        name = 'a"b\\c\nup 0'
        self.gauges = {'gateway_port_served': {(name,): 1}}
        self.assertEqual(1, self.value('gateway_port_served', port=name))
