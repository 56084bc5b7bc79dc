# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The package for Debian and Ubuntu on two gateways of the lab.

The gateways are of the distribution that the package is for.
"""

import ipaddress
import os
import re

from lab import frr
from lab import node as nodes
from lab import plan
from lab import withdrawals
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.packaging.inside import gateways
from ovn_network_agent.tests.packaging.inside import goprogram

NAME = 'ovn-network-agent'
DEB = 'ovn-network-agent-oslo'
CONF = '/etc/ovn-network-agent/ovn-network-agent.conf'
# The package of the original program, in Go.
ORIGINAL = NAME
# Paths of the package, of the same with a later version, and of a package like
# that of the original program.
PACKAGE, NEWER = 'DEPLOYED_PACKAGE', 'DEPLOYED_NEWER_PACKAGE'
FORMER_PACKAGE = 'DEPLOYED_ORIGINAL_PACKAGE'
# The last agent waits so long for another gateway, seconds.
LAST = 8
DROP_IN = f'/etc/systemd/system/{NAME}.service.d'
TAGGED, VLAN = ipaddress.ip_network('198.19.7.0/24'), 107
# Commands that break a layer on a node whose agent has died, and the line of
# explain that names it.
BROKEN = (
    (f'ovs-ofctl del-flows {plan.BRIDGE} cookie=0x999/-1', 'MAC-tweak flow'),
    (f'ip route delete {{fip}}/32 dev {plan.BRIDGE}', 'kernel route'),
    ("vtysh -c 'configure terminal' -c 'no ip prefix-list ANNOUNCED-NETWORKS'",
     'prefix list in bgpd'))
# systemd-sysusers and the programs of passwd keep the former lists.
FORMER = tuple(f'{node}: files: {sign}/etc/{name}- '
               for node in ('gw1', 'gw2') for sign in '+-'
               for name in ('passwd', 'group', 'shadow', 'gshadow'))


class PackageTest(gateways.GatewaysTestCase):
    """A network without a VLAN, which the original program serves on gw1.

    Router beta is on a VLAN; gw2 has the machine of a distributed floating IP.

    With ``EARLIER_PACKAGE``, the former version is that of another commit.
    """

    @classmethod
    def build(cls):
        super().build()
        _vm, cls.near = cls.machine(cls.alpha, host='gw2')
        cls.cloud.neutron.set_distributed(cls.near, True)
        tagged = cls.cloud.neutron.add_provider_network(
            'tagged', TAGGED, plan.PHYSICAL_NETWORK, VLAN)
        beta = cls.cloud.add_router('beta', provider=tagged)
        _vm, cls.tagged = cls.machine(beta)

    def test_from_the_package_to_nothing(self):
        before = self.everything()
        self._as_the_original()
        self._swap()
        self._again()
        self._find_broken_layers()
        self._find_broken_routing()
        self._out_of_memory()
        self.upgraded(self._upgrade)
        for name in self.cloud.gateways:
            self.assertIn('9:1', self.cloud[name].out('dpkg', '-s', DEB))
        self.assert_reached()
        self._downgrade()
        self._remove()
        self.assert_nothing_left(before, FORMER)

    def apt(self, name, *argv):
        return self.cloud[name].run(
            ['apt-get', '--yes', '--allow-downgrades', *argv], timeout=300,
            env=nodes.environ(DEBIAN_FRONTEND='noninteractive')).stdout

    def systemctl(self, name, *argv):
        self.cloud[name].run(['systemctl', *argv], timeout=300)

    # -- from the original program -----------------------------------------

    def _as_the_original(self):
        owner = self.owner()
        for name in self.cloud.gateways:
            self.apt(name, 'install', self.put(os.environ[FORMER_PACKAGE],
                                               name))
            self.systemctl(name, 'enable', '--now', NAME)
            goprogram.settle(self.cloud, name, *(
                (self.alpha, [fip.address for fip in self.fips])
                if name == owner else ()))
        super().assert_reached()

    def _swap(self):
        """In place, as the page on upgrades has it, the standby first."""
        with self.both_ways() as running:
            for name in reversed(self._leaving()):
                self._install(name)
                self._migrate(name)
                self.systemctl(name, 'enable', '--now', NAME)
            self.settled()
            report = self.finished(running)
        base.note(f'swap: {report}')
        self.assertEqual(0, report.lost, str(report))
        self.assert_reached()

    def _install(self, name):
        self.apt(name, 'install', '--reinstall',
                 self.put(os.environ[PACKAGE], name))
        self.assertNotIn('install ok installed', self.cloud[name].run(
            ['dpkg-query', '-W', '-f', '${Status}', ORIGINAL], check=False
            ).stdout)

    def _migrate(self, name):
        node = self.cloud[name]
        self.assertNotEqual('active', node.run(
            ['systemctl', 'is-active', NAME], check=False).stdout.strip())
        node.write(goprogram.YAML, goprogram.SETTINGS)
        node.run([f'{NAME}-migrate', '--force', '--output',
                  os.path.dirname(CONF)])
        self.assertEqual('640 root ovn-network-agent\n', node.out(
            'stat', '-c', '%a %U %G', CONF))
        self.assertEqual('configuration OK\n', node.out(
            NAME, '--check-config'))
        node.run([NAME, '--dry-run'], timeout=180)
        with open(node.path(CONF), 'a') as opened:
            opened.write(f'[gateway_drain]\ndrain_timeout = {LAST}\n')

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
            self.systemctl(name, 'enable', '--now', NAME)
        self.unchanged(before, self._state())

    # -- one command finds the layer ---------------------------------------

    def _assert_explained(self, name, *layers):
        """That explain calls these layers broken, and no others."""
        done = self.cloud[name].run(
            [f'{NAME}-ctl', 'explain', '--client', plan.CLIENT,
             self.fip.address], check=False, timeout=180)
        self.assertEqual(
            (1 if layers else 0, list(layers)),
            (done.returncode, re.findall(r'^BROKEN +(.*?)  ', done.stdout,
                                         re.M)), done.stdout + done.stderr)

    def _find_broken_layers(self):
        """The agent has died, and its next start repairs the layer."""
        owner = self.settled()
        node = self.cloud[owner]
        node.run(['mkdir', '-p', DROP_IN])
        node.write(f'{DROP_IN}/once.conf', '[Service]\nRestart=no\n')
        self.systemctl(owner, 'daemon-reload')
        for command, layer in BROKEN:
            self.systemctl(owner, 'kill', '--signal=KILL', NAME)
            nodes.wait_until('the agent has died', lambda: node.run(
                ['systemctl', 'is-active', NAME], check=False
                ).stdout.strip() == 'failed', base.SETTLE)
            self._assert_explained(owner)
            node.run(['sh', '-ec', command.format(fip=self.fip.address)])
            self._assert_explained(owner, layer)
            self.systemctl(owner, 'start', NAME)
            self.cloud.wait_announced(self.fip.address, owner, base.SETTLE)
            self._assert_explained(owner)
        node.run(['rm', '-r', DROP_IN])
        self.systemctl(owner, 'daemon-reload')
        self.settled()
        self.assert_reached()

    def _find_broken_routing(self):
        """FRR of the standby ends."""
        standby = self._leaving()[-1]
        node = self.cloud[standby]
        frr.stop(node)
        done = node.run([f'{NAME}-ctl', 'doctor', 'frr-daemons'], check=False)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn('FAIL', done.stdout)
        self.assertIn('bgpd', done.stdout)
        frr.start(node, self.cloud.routing(standby))
        self.settled()
        self.assert_reached()

    # -- later --------------------------------------------------------------

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
        already = self.journal(owner, NAME)
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
        said = self.journal(owner, NAME).removeprefix(already)
        self.assertIn('oom', said.lower())
        self.assertNotIn('Drain: ', said)
        self.assertNotIn('Stopping', said)
        self.assertEqual(priorities, self.priorities())
        self.assert_reached()

    def assert_reached(self):
        super().assert_reached()
        self.cloud.wait_alone(self.near.address, 'gw2', base.SETTLE)
        self.reach(self.client, 'icmp', self.near.address)
        nodes.wait_until('the address on the VLAN is announced', lambda: (
            self.cloud.announcers(self.tagged.address)), base.SETTLE)
        self.reach(self.client, 'icmp', self.tagged.address)

    def _upgrade(self, package=NEWER):
        for name in self.cloud.gateways:
            self.apt(name, 'install', self.put(os.environ[package], name))
            self.systemctl(name, 'restart', NAME)

    def _downgrade(self):
        """Back to the former version, as the page on upgrades has it."""
        with self.probing(self.near.address) as running:
            self.upgraded(lambda: self._upgrade(PACKAGE))
            base.note(f'downgrade, distributed: {running.stop()}')
        for name in self.cloud.gateways:
            self.assertNotIn('9:1', self.cloud[name].out('dpkg', '-s', DEB))
        self.assert_reached()

    def _remove(self):
        """All that is left of both programs, as the pages have it."""
        for name in self.cloud.gateways:
            self.apt(name, 'purge', ORIGINAL)
            self.cloud[name].run(['rm', goprogram.YAML])
        first, last = self._leaving()
        self.apt(first, 'purge', DEB)
        self.systemctl(last, 'stop', NAME)
        self.assertEqual({0}, set(self.priorities().values()))
        self.cloud[last].run([f'{NAME}-ctl', 'cleanup', '--last'], timeout=180)
        self.apt(last, 'purge', DEB)

    def _leaving(self):
        """The gateways; the one that has alpha is the first to leave."""
        owner = self.owner()
        return [owner, *(name for name in self.cloud.gateways
                         if name != owner)]
