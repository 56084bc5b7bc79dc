# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The check of networks of machines."""

from ovn_network_agent.diagnosis.node import tenants
from ovn_network_agent.tests.unit.diagnosis.node import base


class TenantsTest(base.JudgeTestCase):

    def test_all_is_well(self):
        self.assertIn('3 prefixes of tenants can be announced', self.judged(
            tenants.judge_tenants, tenants.Tenants(3, {}), base.OK))

    def test_each_fault(self):
        said = self.judged(
            tenants.judge_tenants, tenants.Tenants(9, {
                ('overlaps with x', 'change it'): [
                    f'10.0.{n:d}.0/24' for n in range(9)],
                ('overlaps with y', 'change it'): ['10.9.0.0/24']}),
            base.WARN, base.WARN)
        self.assertIn('more: overlaps with x', said)
        self.assertIn('10.9.0.0/24: overlaps with y', said)
