# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Findings become results."""

from oslo_upgradecheck import upgradecheck
from oslotest import base

from ovn_network_agent.diagnosis import finding
from ovn_network_agent.diagnosis.node import registry
from ovn_network_agent.upgrade import checks

Code = upgradecheck.Code
Verdict = finding.Verdict


def found(verdict, evidence='seen', remedy=''):
    return finding.Finding('name', 'layer', verdict, evidence, remedy)


class ResultTest(base.BaseTestCase):

    def test_the_worst_counts(self):
        for verdicts, code in (
                ([Verdict.OK], Code.SUCCESS),
                ([Verdict.OK, Verdict.WARN], Code.WARNING),
                ([Verdict.NOT_CHECKED], Code.WARNING),
                ([Verdict.BROKEN, Verdict.WARN], Code.FAILURE)):
            self.assertEqual(code, checks.result(
                [found(verdict) for verdict in verdicts]).code)

    def test_details(self):
        self.assertIsNone(checks.result([found(Verdict.OK)]).details)
        self.assertEqual('a; mend it. b', checks.result([
            found(Verdict.BROKEN, 'a', 'mend it'), found(Verdict.OK, 'c'),
            found(Verdict.WARN, 'b'), found(Verdict.WARN, 'b')]).details)

    def test_each_check_exists(self):
        known = {check.name for check in registry.CHECKS}
        for _title, names in checks.GROUPS:
            self.assertLessEqual(set(names), known)
