# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The judge of the chaos runner sees what is broken by hand."""

import os
import unittest

import testtools

from lab import cloud as clouds
from lab import forks
from lab import neutron
from lab import plan
from lab.chaos import judge
from lab.chaos import operators
from lab.chaos import planning
from lab.chaos import values
from lab.chaos import world as worlds
from ovn_network_agent.tests import needs

# Seconds until all is as it should be, and in which nothing gets well.
_WELL, _BROKEN = 120, 5
_LEAKING = '198.51.100.200'


@needs.needs(os.environ.get('LAB_MACHINE'),
             'makes hosts, and so needs the machine of the lab')
class TestJudge(testtools.TestCase):
    """Router alpha is on gw1, whose agent is frozen, without an excuse."""

    def setUp(self):
        super().setUp()
        forks.use()
        self.addCleanup(forks.use, False)
        profile = planning.PROFILES['static']
        self.cloud = clouds.Cloud(gateways=profile.gateways,
                                  scheduler=neutron.GATEWAY_CHASSIS)
        self.addCleanup(self.cloud.close)
        self.world = worlds.World(self.cloud, profile, lambda _text: None)
        self.world.build()
        self.alpha = self.world.routers['alpha']
        self.address, = self.world.state().fips
        self.judge = judge.Judge(self.cloud, self.world, profile,
                                 lambda _text: None)
        self.judge.start()
        self.addCleanup(self.judge.close)
        self.assertEqual([], self.judge.settled(_WELL))

    def broken(self, seconds=_BROKEN):
        """What the judge sees: set of (kind, subject, detail)."""
        return {(one.kind, one.subject, one.detail)
                for one in self.judge.settled(seconds)}

    def test_sabotage(self):
        agent = self.world.agent('gw1')
        agent.freeze()
        self._break()
        found = self.broken(judge.invariants.DOUBLE + _BROKEN)
        self.assertLessEqual({
            (values.ORACLE, 'gw1',
             f'missing: route main {self.address} dev br-ex'),
            (values.ORACLE, 'spine',
             f'too much: announced by gw2 {self.address}'),
            (values.RANK, 'alpha', 'gw1 has 7, gw2 7'),
            (values.LEAK, 'sink', '2 packets of the provider network left '
             'by the management network')}, found)
        kinds = {kind for kind, _subject, _detail in found}
        self.assertEqual({
            values.ORACLE, values.RANK, values.LEAK, values.FOREIGN,
            values.DOUBLE, values.PROBE}, kinds)
        self._mend()
        agent.thaw()
        self.assertEqual([], self.judge.settled(_WELL))
        self.judge.stop()
        self._summary(self.judge.summary([]))

    def _break(self):
        """One object of each kind; two packets leak."""
        self.cloud['gw1'].batch(
            f'route del {self.address}/32 dev br-ex\n'
            f'rule del priority {operators.PRIORITY:d}\n')
        self.cloud['gw2'].batch(self._second('add'))
        # OVN does not move the port as long as northd hears nothing.
        self.cloud['central'].pause('northd')
        self.cloud.neutron.set_priorities(self.alpha, {'gw1': 7, 'gw2': 7})
        backend = self.cloud['backend']
        backend.batch(f'addr add {_LEAKING}/32 dev eth0\n')
        backend.run(['ping', '-c', '2', '-i', '0.2', '-W', '1', '-I',
                     _LEAKING, plan.SINK], check=False)

    def _mend(self):
        """What no agent restores."""
        self.cloud['gw2'].batch(self._second('del'))
        self.world.operator.plant('gw1')
        self.cloud.neutron.set_priorities(self.alpha, {'gw1': 8})
        self.cloud['central'].resume('northd')

    def _second(self, action):
        return (f'route {action} {self.address}/32 via 169.254.0.1 dev '
                f'veth-provider table {plan.VRF_TABLE:d}\n')

    def _summary(self, summary):
        """The violations are in it; the losses have no excuse."""
        self.assertEqual(
            {values.ORACLE, values.RANK, values.LEAK, values.FOREIGN,
             values.DOUBLE, values.PROBE},
            {one['kind'] for one in summary['violations']})
        self.assertGreater(summary['lost'], 0)
        self.assertEqual(0, summary['excused'])
        self.assertEqual(summary['sent'], sum(
            one['answered'] + one['lost'] + one['excused'] + one['pending']
            for one in summary['targets']))


if __name__ == '__main__':
    unittest.main()
