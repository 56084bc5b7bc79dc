# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The package for Debian on two bare gateways of the lab."""

import os

from lab import node as nodes
from lab import plan
from lab import withdrawals
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.packaging.inside import gateways

NAME = 'ovn-network-agent'
DEB = 'ovn-network-agent-oslo'
CONF = '/etc/ovn-network-agent/ovn-network-agent.conf'
# Paths of the package, and of the same with a later version.
PACKAGE, NEWER = 'DEPLOYED_PACKAGE', 'DEPLOYED_NEWER_PACKAGE'
# The last agent waits so long for another gateway, seconds.
LAST = 8
CONFIG = f'''[ovn]
ovn_nb_remote = {plan.NB}
ovn_sb_remote = {plan.SB}
[gateway_drain]
drain_timeout = {LAST}
'''
# systemd-sysusers and the programs of passwd keep the former lists.
FORMER = tuple(f'{node}: files: {sign}/etc/{name}- '
               for node in ('gw1', 'gw2') for sign in '+-'
               for name in ('passwd', 'group', 'shadow', 'gshadow'))


class PackageTest(gateways.GatewaysTestCase):
    """On a VLAN; gw2 has the machine of a distributed floating IP.

    With ``EARLIER_PACKAGE``, the former version is that of another commit.
    """

    SEGMENT = 'vlan'

    @classmethod
    def build(cls):
        super().build()
        _vm, cls.near = cls.machine(cls.alpha, host='gw2')
        cls.cloud.neutron.set_distributed(cls.near, True)

    def test_from_the_package_to_nothing(self):
        before = self.everything()
        for name in self.cloud.gateways:
            self._install(name)
        self.settled()
        self.assert_reached()
        self._again()
        self._out_of_memory()
        self.upgraded(self._upgrade)
        for name in self.cloud.gateways:
            self.assertIn('9:1', self.cloud[name].out('dpkg', '-s', DEB))
        self.assert_reached()
        self._downgrade()
        for name in self._leaving():
            self.cloud[name].run(['dpkg', '--purge', DEB], timeout=180)
        self.assert_nothing_left(before, FORMER)

    def _install(self, name):
        node = self.cloud[name]
        node.run(['dpkg', '-i', self.put(os.environ[PACKAGE], name)],
                 timeout=300)
        with open(node.path(CONF), 'w') as opened:
            opened.write(CONFIG)
        node.run(['systemctl', 'enable', '--now', NAME], timeout=180)

    def _state(self):
        found = self.everything()
        for name in self.cloud.gateways:
            found[f'{name}: process'] = [self.cloud[name].out(
                'systemctl', 'show', NAME, '--property',
                'MainPID,NRestarts,NeedDaemonReload')]
        return found

    def _again(self):
        """The same package once more, and the same commands."""
        before = self._state()
        for name in self.cloud.gateways:
            self._install(name)
        self.unchanged(before, self._state())

    def _shown(self, name):
        """Values of the unit: dict of the name of a property to a text."""
        lines = self.cloud[name].out(
            'systemctl', 'show', NAME, '--property',
            'MainPID,NRestarts,MemoryCurrent,MemoryMax').splitlines()
        return dict(line.split('=', 1) for line in lines)

    def _limit(self, name, limit):
        """Give the unit so much memory, bytes or 'infinity'."""
        self.cloud[name].run(['systemctl', 'set-property', '--runtime', NAME,
                              f'MemoryMax={limit}'])
        self.assertEqual(str(limit), self._shown(name)['MemoryMax'])

    def _out_of_memory(self):
        """The kernel ends processes of the unit, by its own choice.

        systemd starts the agent again, and does not stop the agent in good
        order before.
        """
        owner, priorities = self.settled(), self.priorities()
        before = self._shown(owner)
        with (withdrawals.Withdrawals(self.cloud) as withdrawn,
              self.probing(self.fip.address) as running):
            self._limit(owner, int(before['MemoryCurrent']) // 2)
            nodes.wait_until(
                lambda: f'another agent runs: {self.journal(owner, NAME)}',
                lambda: self._shown(owner)['NRestarts'] !=
                before['NRestarts'], base.SETTLE)
            self._limit(owner, 'infinity')
            self.assertEqual(owner, self.settled())
            self.assertEqual([], withdrawn.seen())
            self.lossless(running)
        said = self.journal(owner, NAME)
        self.assertIn('oom', said.lower())
        self.assertNotIn('Drain: ', said)
        self.assertNotIn('Stopping', said)
        self.assertEqual(priorities, self.priorities())
        self.assert_reached()

    def assert_reached(self):
        super().assert_reached()
        self.cloud.wait_alone(self.near.address, 'gw2', base.SETTLE)
        self.reach(self.client, 'icmp', self.near.address)

    def _upgrade(self, package=NEWER):
        for name in self.cloud.gateways:
            node = self.cloud[name]
            node.run(['dpkg', '-i', self.put(os.environ[package], name)],
                     timeout=300)
            node.run(['systemctl', 'restart', NAME], timeout=300)

    def _downgrade(self):
        """Back to the former version, as the page on upgrades has it."""
        with self.probing(self.near.address) as running:
            self.upgraded(lambda: self._upgrade(PACKAGE))
            base.note(f'downgrade, distributed: {running.stop()}')
        for name in self.cloud.gateways:
            self.assertNotIn('9:1', self.cloud[name].out('dpkg', '-s', DEB))
        self.assert_reached()

    def _leaving(self):
        """The gateways; the one that has alpha is the first to leave."""
        owner = self.owner()
        return [owner, *(name for name in self.cloud.gateways
                         if name != owner)]
