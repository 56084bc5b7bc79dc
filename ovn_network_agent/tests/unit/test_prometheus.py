# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The alert rules of the tests are those of operators, but faster."""

from oslotest import base
import yaml

from ovn_network_agent.tests import prometheus


class FasterTest(base.BaseTestCase):

    def test_only_the_times_differ(self):
        rules = yaml.safe_load(prometheus.RULES.read_text())
        faster = prometheus.faster(rules, 60)
        times = []
        for old, new in zip(rules['groups'], faster['groups'], strict=True):
            self.assertEqual(old['name'], new['name'])
            for rule, quick in zip(old['rules'], new['rules'], strict=True):
                times.append((rule.pop('for', None), quick.pop('for', None)))
                self.assertEqual(rule, quick)
        self.assertIn(('10m', '10000ms'), times)
        self.assertIn(('1m', '1000ms'), times)
        self.assertIn((None, None), times)

    def test_a_duration_of_another_form(self):
        rules = {'groups': [{'name': 'x', 'rules': [{'for': '1m30s'}]}]}
        self.assertRaisesRegex(ValueError, "'1m30s'", prometheus.faster,
                               rules, 2)
