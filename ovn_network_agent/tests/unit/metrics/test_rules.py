# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The alert rules use metrics that exist, and each alert has a runbook."""

import pathlib
import re
import tomllib

from oslotest import base
import yaml

from ovn_network_agent.metrics import declared

ROOT = pathlib.Path(__file__).resolve().parents[4]
RULES = ROOT / 'contrib' / 'prometheus' / 'ovn-network-agent.rules.yml'
RUNBOOK = ROOT / 'doc' / 'source' / 'admin' / 'alerts.rst'
# What is not of the agent itself.
_FOREIGN = {'up', 'process_start_time_seconds'}
# Words of PromQL that look like metrics.
_WORDS = {'absent', 'and', 'bool', 'changes', 'count_values',
          'histogram_quantile', 'increase', 'max', 'or', 'rate', 'sum', 'time',
          'unless'}


def rules():
    """The rules, a list of dict."""
    found = yaml.safe_load(RULES.read_text())
    return [rule for group in found['groups'] for rule in group['rules']]


def series(expression):
    """Names of the series in an expression of PromQL, a set.

    Names of labels and durations are left out.
    """
    bare = re.sub(r'\{[^}]*\}|\[[^\]]*\]|"[^"]*"|\b(by|on) \([^)]*\)', ' ',
                  expression)
    return set(re.findall(r'[a-z_]\w*', bare)) - _WORDS


def labels(expression):
    """(series, label, value) of the selectors with "=" or "=~"."""
    for name, selector in re.findall(r'(\w+)\{([^}]*)\}', expression):
        for label, values in re.findall(r'(\w+)=~?"([^"]*)"', selector):
            for value in values.split('|'):
                yield name, label, value


class RulesTest(base.BaseTestCase):

    def test_names_are_unique_and_of_the_agent(self):
        names = [rule['alert'] for rule in rules()]
        self.assertEqual(len(set(names)), len(names))
        for name in names:
            self.assertTrue(name.startswith('OVNNetworkAgent'), name)

    def test_metrics_are_declared(self):
        known = {name for metric in declared.METRICS for name in metric.series}
        for rule in rules():
            found = series(rule['expr'])
            self.assertTrue(found, rule)
            self.assertLessEqual(found, known | _FOREIGN, rule['alert'])

    def test_values_of_labels_are_declared(self):
        known = {metric.full: metric.labels for metric in declared.METRICS}
        for rule in rules():
            for name, label, value in labels(rule['expr']):
                if name not in _FOREIGN:
                    self.assertIn(value, known[name][label], rule['alert'])

    def test_each_has_a_runbook(self):
        text = RUNBOOK.read_text()
        project = tomllib.loads(
            (ROOT / 'pyproject.toml').read_text())['project']
        documentation = project['urls']['Documentation']
        for rule in rules():
            anchor = 'alert-' + rule['alert'].removeprefix(
                'OVNNetworkAgent').lower()
            self.assertEqual(f'{documentation}admin/alerts.html#{anchor}',
                             rule['annotations']['runbook_url'])
            line = '-' * len(rule['alert'])
            self.assertIn(f'.. _{anchor}:\n\n{rule["alert"]}\n{line}\n', text)

    def test_the_runbook_has_no_other(self):
        self.assertEqual({rule['alert'] for rule in rules()}, set(
            re.findall(r'^(OVNNetworkAgent\w+)$', RUNBOOK.read_text(), re.M)))

    def test_each_says_how_bad_it_is(self):
        for rule in rules():
            self.assertIn(rule['labels']['severity'],
                          ('warning', 'critical'), rule['alert'])
            self.assertTrue(rule['annotations']['summary'].endswith('.'))
