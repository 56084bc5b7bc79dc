# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""An agent that is killed and started again; a dry run."""

import random
import re
import signal
import threading
import unittest

from lab import dump
from lab import node as nodes
from lab import plan
from lab import withdrawals
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import dry_runs
from ovn_network_agent.tests.lab import matrix

# Random moments, in each kind of cloud.
KILLS = 5
_OF_A_NEW_DEVICE = re.compile(
    r'sysctl path=net/ipv[46]/(conf|neigh)/(veth-|br-ex\.)')


class Restart:
    """The tests: router alpha on gw1, router beta on gw2."""

    # A stop leaves alpha where it is: what the next start finds is tested.
    CONFIG = {'gateway_drain': {'drain_on_shutdown': 'false'}}

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.beta = cls.cloud.add_router('beta', ['gw2', 'gw1'])
        cls.vm, cls.fip = cls.machine(cls.alpha)
        _vm, cls.fip_beta = cls.machine(cls.beta)

    def test_kill_and_restart_lose_nothing(self):
        """SIGKILL, and a start that adopts what is there."""
        agent = self.cloud.agents['gw1']
        before = self.state('gw1')
        northbound = dump.northbound(self.cloud)
        flows = self.flows('gw1')
        with self.probing(self.fip.address) as running, \
                self.probing(self.fip.address, 'tcp') as tcp:
            agent.kill()
            self.assertEqual(['gw1'],
                             self.cloud.announcers(self.fip.address))
            mark = self.mark('gw1')
            agent.start()
            agent.wait_ready()
            # What comes right after the first pass counts as well.
            fip = self.floating_ip(self.alpha, self.vm.port)
            self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
            self.cloud.neutron.remove_fips(self.alpha, [fip])
            self.cloud.wait_withdrawn(fip.address, base.SETTLE)
            self.wait_gone('gw1', fip.address)
            self.assertEqual([], [
                change for change in self.changes('gw1', mark)
                if self.family.prefix(fip.address) not in change])
            base.note(f'{self.kind}: killed and restarted: '
                      f'{self.lossless(running)}')
            self.lossless(tcp)
        self.assertEqual([], dump.difference(before, self.state('gw1')))
        self.assertEqual([], dump.difference(
            northbound, dump.northbound(self.cloud)))
        for text, (_packets, age) in flows.items():
            self.assertGreater(self.flows('gw1')[text][1], age)

    # -- the other announce method ----------------------------------------

    def test_other_method_and_back(self):
        """Over SIGKILL, a stop without clean-up, by command, and by SIGHUP.

        Nothing is lost and the fabric sees no withdrawal.
        """
        agent = self.cloud.agents['gw1']
        other = {'static': 'kernel', 'kernel': 'static'}[self.METHOD]
        before = self.state('gw1')
        self.addCleanup(self._set, announce_method=self.METHOD)
        # It is there when the agent starts, and may be torn down by it.
        with self.probing(self.fip.address) as running, \
                self.probing(self.fip.address, 'tcp') as tcp, \
                withdrawals.Withdrawals(self.cloud,
                                        self.FAMILY) as withdrawn:
            with self.subTest('SIGKILL'):
                agent.kill()
                self._set(announce_method=other)
                agent.start()
                agent.wait_ready()
                self._only(other)
            with self.subTest('command'):
                usual = self._by_command(self.METHOD)
                self._only(self.METHOD)
            with self.subTest('stop without clean-up'):
                self._set(cleanup_on_shutdown=False)
                agent.process.send_signal(signal.SIGHUP)
                self.assertEqual(0, agent.stop())
                self._set(announce_method=other, cleanup_on_shutdown=True)
                agent.start()
                agent.wait_ready()
                self._only(other)
            self._set(announce_method=self.METHOD)
            agent.process.send_signal(signal.SIGHUP)
            self._only(self.METHOD)
            base.note(f'{self.kind}, other method and back twice: '
                      f'{self.lossless(running)}')
            self.lossless(tcp)
            self.assertEqual([], withdrawn.seen())
        # FRR may withdraw routes when their route map changes.
        self._typed(*usual)
        self._typed('no route-map KERNEL')
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.assertEqual([], dump.difference(before, self.state('gw1')))

    def _by_command(self, method):
        """Change the method as an operator does, after each refusal.

        :returns: the lines of FRR's configuration that were there before
        """
        agent = self.cloud.agents['gw1']
        family = [f'router bgp {plan.GATEWAY_AS["gw1"]} vrf {plan.VRF}',
                  'address-family ipv4 unicast']
        usual = {'static': 'redistribute static', 'kernel':
                 'redistribute kernel route-map PROVIDER-KERNEL'}[method]
        self._typed(*family, f'no {usual}')
        refused = agent.ctl('announce-method', method, check=False)
        base.note(refused.stdout)
        self.assertEqual((1, ''), (refused.returncode, refused.stderr))
        self.assertIn('nothing has been changed', refused.stdout)
        self._only({'static': 'kernel', 'kernel': 'static'}[method])
        # What the command prints is typed in, line by line.
        lines = [line.strip() for line in refused.stdout.splitlines()]
        self.assertIn(usual.replace('PROVIDER-', ''), lines)
        self._typed(*lines[lines.index('configure terminal') + 1:
                           lines.index('end')])
        self._set(announce_method=method)
        self.assertIn('ready', agent.ctl(
            'announce-method', method, '--check').stdout)
        self._only({'static': 'kernel', 'kernel': 'static'}[method])
        if method == 'static':
            self._hindered(agent)
        done = agent.ctl('announce-method', method)
        base.note(done.stdout)
        self.assertRegex(done.stdout, f'{method} alone announces [1-9]')
        self.assertIn('each address was announced', done.stdout)
        return [*family, usual]

    def _hindered(self, agent):
        """A static route of the operator stands in the way of the change."""
        line = f'{self.family.static(self.fip.address)} tag 77'
        self._typed(f'vrf {plan.VRF}', line)
        try:
            left = agent.ctl('announce-method', 'static', '--timeout', '5',
                             check=False)
        finally:
            self._typed(f'vrf {plan.VRF}', f'no {line}')
        base.note(left.stdout + left.stderr)
        self.assertEqual(3, left.returncode)
        self.assertIn(self.fip.address, left.stderr)
        agent.ctl('resync')

    def _typed(self, *lines):
        """Lines of FRR's configuration on gw1."""
        self.cloud['gw1'].out('vtysh', *(
            word for line in ('configure terminal', *lines)
            for word in ('-c', line)))

    def _set(self, **values):
        """Other values in the file, for the next start or SIGHUP."""
        config = self.cloud.agents['gw1'].config
        for name, value in values.items():
            group = ('fip_route' if name == 'announce_method'
                     else 'DEFAULT')
            config[group][name] = value
        self.cloud.agents['gw1'].write_config()

    def _only(self, method):
        """Wait until all is announced by one method and not the other."""
        def announced():
            return [self.methods('gw1', address) for address in (
                self.fip.address, self.alpha.address)]

        nodes.wait_until(
            lambda: f'announced by {method} alone: {announced()}',
            lambda: announced() == 2 * [{method}], base.SETTLE)

    def test_kills_at_random_moments(self):
        """While floating IPs come and go; what was right stays right."""
        seed = random.SystemRandom().randrange(10 ** 6)
        base.note(f'{self.kind}: seed {seed:d}')
        dice = random.Random(seed)
        agent = self.cloud.agents['gw1']
        before = self.state('gw1')
        last = []
        with self.probing(self.fip.address) as running, \
                self.probing(self.fip.address, 'tcp') as tcp:
            for _kill in range(KILLS):
                # Something to do, in which it is killed; the start takes
                # about as long as this.
                fip = self.floating_ip(self.alpha, self.vm.port)
                if last and dice.random() < 0.5:
                    self.cloud.neutron.remove_fips(self.alpha, [last.pop()])
                last.append(fip)
                # Not a wait for anything: the moment is what is random.
                threading.Event().wait(dice.uniform(0, 2.5))
                agent.kill()
                agent.start()
            agent.wait_ready()
            for fip in last:
                self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
            self.reach(self.client, 'icmp', last[-1].address)
            self.cloud.neutron.remove_fips(self.alpha, last)
            for fip in last:
                self.cloud.wait_withdrawn(fip.address, base.SETTLE)
            self.wait_gone('gw1', *(fip.address for fip in last))
            base.note(f'{self.kind}: killed {KILLS} times, seed {seed:d}: '
                      f'{self.lossless(running)}')
            self.lossless(tcp)
        self.assertEqual([], dump.difference(before, self.state('gw1')))


def _known(steps):
    """Without what depends on devices and ports that are made first.

    What a new device inherits only the kernel knows, and the number of a new
    relay only Open vSwitch.
    """
    return sorted(step for step in steps
                  if not _OF_A_NEW_DEVICE.search(step) and
                  f'cookie={ownership.COOKIE_RELAY:#x} ' not in step)


class TestRestartStatic(dry_runs.DryRuns, Restart, base.LabTestCase):
    """With static routes of FRR, and a VLAN of IPv4; and dry runs."""

    METHOD = 'static'
    SEGMENT = 'vlan'

    def test_dry_run(self):
        """Trap T22: it writes nothing, and the real start does as it said."""
        agent = self.cloud.agents['gw1']
        # Beside an agent that has done all, there is nothing to do.
        self.assertEqual([], self.dry_run('gw1'))
        # After a kill and a change there is exactly this.
        agent.kill()
        fip = self.floating_ip(self.alpha, self.vm.port)
        nodes.wait_until('NB has it', lambda: self.cloud.nb.find(
            'NAT', external_ip=fip.address), base.SETTLE)
        self._as_planned()
        self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
        # After a stop there is everything.
        self.assertEqual(0, agent.stop())
        steps = self._as_planned()
        self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
        kinds = {step.split()[1] for step in steps}
        self.assertLessEqual({'veth_pair', 'kernel_route', 'flow', 'rule',
                              'default_route', 'mac_binding'}, kinds)
        self.reach(self.client, 'icmp', self.fip.address)

    def _as_planned(self):
        """A dry run, then the real start; returns the plan."""
        planned = self.dry_run('gw1')
        self.assertNotEqual([], planned)
        mark = self.mark('gw1')
        agent = self.cloud.agents['gw1']
        agent.start()
        agent.wait_ready()
        self.assertEqual(_known(planned),
                         _known(self.changes('gw1', mark)))
        return planned


globals().update(matrix.others(TestRestartStatic))


if __name__ == '__main__':
    unittest.main()
