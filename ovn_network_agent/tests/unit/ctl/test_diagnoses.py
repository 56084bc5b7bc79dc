# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The text of doctor."""

from oslotest import base

from ovn_network_agent import diagnosis
from ovn_network_agent.ctl import diagnoses
from ovn_network_agent.diagnosis.node import check

Verdict = diagnosis.Verdict
# By name, what a check depends on.
AFTER = {'kernel': (), 'frr': (), 'ovs': (), 'rows': ('ovs',),
         'routes': ('frr', 'ovs'), 'lists': ('frr',), 'tls': ()}


def found(name, verdict, evidence='seen', remedy=''):
    return diagnosis.Finding(name, 'layer', verdict, evidence, remedy)


class SummaryTest(base.BaseTestCase):

    def text(self, *findings):
        return diagnoses._summary(findings, [
            check.Check(name, 'layer', '', None, None, after)
            for name, after in AFTER.items()]).splitlines()

    def test_failures_come_first_then_warnings_then_numbers(self):
        self.assertEqual([
            'FAIL        ovs                  seen',
            '                                 -> start it',
            'WARN        frr                  slow',
            '                                 -> wait',
            'PASS        1 check',
            'NOT CHECKED 2 checks wait for ovs',
            'NOT CHECKED tls: no remote begins with "ssl:"',
            '1 PASS, 1 WARN, 1 FAIL, 3 NOT CHECKED ("--all" shows each '
            'check)'], self.text(
                found('kernel', Verdict.OK),
                found('frr', Verdict.WARN, 'slow', 'wait'),
                found('ovs', Verdict.BROKEN, remedy='start it'),
                found('rows', Verdict.NOT_CHECKED),
                found('routes', Verdict.NOT_CHECKED),
                found('tls', Verdict.NOT_CHECKED,
                      'no remote begins with "ssl:"')))

    def test_what_is_waited_for_has_the_order_of_a_repair(self):
        self.assertIn('NOT CHECKED 3 checks wait for frr, ovs', self.text(
            found('ovs', Verdict.BROKEN), found('frr', Verdict.BROKEN),
            *(found(name, Verdict.NOT_CHECKED)
              for name in ('rows', 'routes', 'lists'))))

    def test_one_reason_of_many_checks(self):
        self.assertIn('NOT CHECKED 4 checks: needs root', self.text(
            *(found(name, Verdict.NOT_CHECKED, 'needs root')
              for name in ('kernel', 'frr', 'ovs', 'tls'))))
