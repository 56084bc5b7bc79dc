# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Findings become results."""

from oslo_upgradecheck import upgradecheck
from oslotest import base

from ovn_network_agent import diagnosis
from ovn_network_agent.cmd import status
from ovn_network_agent.diagnosis.node import examination

Code = upgradecheck.Code
Verdict = diagnosis.Verdict


def found(verdict, evidence='seen', remedy=''):
    return diagnosis.Finding('name', 'layer', verdict, evidence, remedy)


class ResultTest(base.BaseTestCase):

    def test_the_worst_counts(self):
        for verdicts, code in (
                ([Verdict.OK], Code.SUCCESS),
                ([Verdict.OK, Verdict.WARN], Code.WARNING),
                ([Verdict.NOT_CHECKED], Code.WARNING),
                ([Verdict.BROKEN, Verdict.WARN], Code.FAILURE)):
            self.assertEqual(code, status.result(
                [found(verdict) for verdict in verdicts]).code)

    def test_details(self):
        self.assertIsNone(status.result([found(Verdict.OK)]).details)
        self.assertEqual('a; mend it. b', status.result([
            found(Verdict.BROKEN, 'a', 'mend it'), found(Verdict.OK, 'c'),
            found(Verdict.WARN, 'b'), found(Verdict.WARN, 'b')]).details)

    def test_each_check_exists(self):
        known = {check.name for check in examination.CHECKS}
        for _title, names in status.GROUPS:
            self.assertLessEqual(set(names), known)
