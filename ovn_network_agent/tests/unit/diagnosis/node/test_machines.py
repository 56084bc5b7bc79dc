# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The check of machines on provider networks."""

from ovn_network_agent.diagnosis.node import tenants
from ovn_network_agent.tests.unit.diagnosis.node import base


class MachinesTest(base.JudgeTestCase):

    def judge(self, *verdicts, **values):
        return self.judged(tenants.judge_machines, tenants.Machines(
            3, **values), *verdicts)

    def test_all_is_well(self):
        self.assertIn('3 addresses of machines are here', self.judge(base.OK))

    def test_a_network_that_cannot_be_reached(self):
        said = self.judge(base.BROKEN, networks=(('public', 'why not'),))
        self.assertIn('network public: its machines here cannot be reached: '
                      'why not', said)

    def test_addresses_that_are_not_announced(self):
        said = self.judge(base.WARN, base.WARN,
                          outside=tuple(f'192.0.2.{n:d}' for n in range(9)),
                          claimed=(('198.51.100.20', 'port vm-2'),))
        self.assertIn('192.0.2.0, ', said)
        self.assertIn('more: in no subnet', said)
        self.assertIn('198.51.100.20 (port vm-2): something else', said)
