# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which chassis this node is, when the system-id and SB disagree.

Decision record 0037.
"""

import json

from lab import chassis
from lab import node as nodes
from lab import plan
from lab import withdrawals
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.lab import base

# Seconds for which nothing may be withdrawn.
QUIET = 2
OTHER = '00000000-0000-4000-8000-000000000001'


class TestSystemId(base.LabTestCase):
    """Router alpha is on gw1, and gw2 hosts a machine."""

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha', ['gw1'])
        cls.vm, cls.fip = cls.machine(cls.alpha)
        _vm, cls.near = cls.machine(cls.alpha, host='gw2')
        cls.cloud.neutron.set_distributed(cls.near, True)

    def setUp(self):
        super().setUp()
        self.owners = {self.alpha.address: 'gw1', self.fip.address: 'gw1',
                       self.near.address: 'gw2'}
        self.settled()

    def settled(self):
        for address, name in self.owners.items():
            nodes.wait_until(
                f'{name} alone announces {address}', lambda: self.hops(
                    address) == [plan.UPLINKS[name][1]], base.SETTLE)
        for name in self.cloud.gateways:
            self.wait_degraded(name, False)

    def wait_degraded(self, name, wanted):
        agent = self.cloud.agents[name]
        nodes.wait_until(
            f'{name} is degraded: {wanted}', lambda: (
                'degraded: no' in agent.ctl(
                    'status', '--verbose').stdout) is not wanted,
            base.SETTLE, 0.5)

    def identify(self, name, system_id):
        """Give a node another system-id for the rest of the test."""
        self.addCleanup(self.settled)
        self.addCleanup(self._set, name, plan.system_id(name))
        self._set(name, system_id)

    def _set(self, name, system_id):
        words = (['set', 'Open_vSwitch', '.',
                  f'external_ids:system-id={system_id}'] if system_id else
                 ['remove', 'Open_vSwitch', '.', 'external_ids', 'system-id'])
        self.cloud[name].run(['ovs-vsctl', *words])

    def stays(self, name, text, mark):
        """Nothing is withdrawn, and log and status have a text."""
        with withdrawals.Withdrawals(self.cloud) as withdrawn:
            self.wait_said(name, text, mark)
            waiting.lasts(lambda: self.assertEqual([], [
                address for address in self.owners
                if not self.hops(address)]), QUIET)
            self.assertEqual([], withdrawn.seen())
        self.assertIn(text, self.cloud.agents[name].ctl(
            'status', '--verbose').stdout)

    def test_another_system_id(self):
        """Row SID-01: ovn-controller cannot register, and OVN forwards."""
        mark, agent = self.mark('gw1'), self.cloud.agents['gw1']
        with (self.probing(self.fip.address) as running,
              withdrawals.Withdrawals(self.cloud) as withdrawn):
            self.identify('gw1', OTHER)
            self.stays('gw1', f'OVN SB has no chassis {OTHER}', mark)
            said = self.said('gw1', mark)
            self.assertIn(f'system-id={plan.system_id("gw1")}"', said)
            self.assertIn(f'chassis-del {plan.system_id("gw1")}"', said)
            fip = self.floating_ip(self.alpha, self.vm.port)
            self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
            agent.kill()
            agent.start()
            agent.wait_ready()
            waiting.lasts(lambda: self.assertEqual(
                [plan.UPLINKS['gw1'][1]], self.hops(self.fip.address)), QUIET)
            base.note(f'another system-id: {self.lossless(running)}')
            self.assertEqual([], withdrawn.seen())
        found = json.loads(agent.ctl('doctor', '--json', check=False).stdout)
        finding, = [each for each in found['findings']
                    if each['check'] == 'chassis']
        self.assertEqual('FAIL', finding['verdict'])
        self.assertIn(plan.system_id('gw1'), str(finding))
        self.assertIn(f'no chassis {OTHER}', agent.ctl(
            'explain', self.fip.address, check=False).stdout)

    uuid = ''

    def row(self, name):
        """The row of a node in SB, or None."""
        return self.cloud.sb.find('Chassis', name=plan.system_id(name))

    def test_a_row_that_is_gone_for_a_moment(self):
        """Row SID-02: the ports are bound to no chassis meanwhile."""
        for name in ('gw1', 'gw2'):
            former = self.row(name).uuid
            with withdrawals.Withdrawals(self.cloud) as withdrawn:
                self.cloud['central'].run([
                    'ovn-sbctl', 'chassis-del', plan.system_id(name)])
                nodes.wait_until(f'{name} has another row', lambda: (
                    self.row(name) or self).uuid not in (former, ''),
                                 base.SETTLE)
                self.settled()
                self.assertEqual([], withdrawn.seen())

    def test_a_controller_that_ends_and_comes_back(self):
        """Row SID-03: a clean end takes the row away for some seconds."""
        mark = self.mark('gw1')
        with withdrawals.Withdrawals(self.cloud) as withdrawn:
            self.cloud.stop_controller('gw1')
            try:
                self.stays('gw1', 'OVN SB has no chassis', mark)
            finally:
                # No group has two chassis here, so no tunnel has BFD.
                chassis.start_controller(self.cloud['gw1'])
            self.settled()
            self.assertEqual([], withdrawn.seen())

    def test_no_system_id(self):
        """Row SID-04."""
        mark = self.mark('gw1')
        with self.probing(self.fip.address) as running:
            self.identify('gw1', '')
            self.stays('gw1', 'external_ids:system-id is not set', mark)
            self.lossless(running)

    def test_the_system_id_of_another_living_node(self):
        """Row SID-05: both nodes announce what they announced."""
        mark = self.mark('gw2')
        with self.probing(self.fip.address) as running:
            self.identify('gw2', plan.system_id('gw1'))
            self.stays('gw2', 'has in OVN SB the tunnel address '
                       f'{plan.HOSTS["gw1"]} of host gw1', mark)
            self.assertEqual([plan.UPLINKS['gw1'][1]],
                             self.hops(self.fip.address))
            self.lossless(running)
