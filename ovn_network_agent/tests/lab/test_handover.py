# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Gateways that move while all agents stay, and gateways that die."""

import time
import unittest

from lab import neutron
from lab import node as nodes
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import learned
from ovn_network_agent.tests.lab import leaving
from ovn_network_agent.tests.lab import matrix

# Seconds that rows of a chassis are kept; up to 30 come on top.
GRACE = 1
# Floating IPs that the one that takes over has to announce.
MANY = 100


class TestHandover(leaving.LeavingTestCase):
    """With HA_Chassis_Group, static routes and a flat network of IPv6.

    Router lonely has no other gateway than gw1.
    """

    METHOD = 'static'
    FAMILY = 6
    SCHEDULER = neutron.HA_CHASSIS_GROUP
    CONFIG = {'gateway_drain': {'stale_chassis_grace_period': GRACE}}

    @classmethod
    def build(cls):
        super().build()
        cls.lonely = cls.cloud.add_router('lonely', ['gw1'])

    def test_stop(self):
        """Row DRN-17: the drain of a group."""
        owner = self.settled()
        mark = self.mark(owner)
        stopped = self.stopped(owner)
        self.assertEqual((0, 'completed'), (
            stopped.status, self.outcome(owner, mark)))
        self.assertNotIn(stopped.to, ('', owner))
        self.start(owner)
        base.note(f'a drained stop: {stopped.report}')
        self.assert_gap(stopped.report, leaving.DRAINED_GAP_MS)

    def test_power_failure(self):
        """What OVN takes, what the agent adds, and what is left to clean."""
        self.have('gw1')
        fips = self.floating_ips(self.alpha, [
            (None, self.vm.port) for _number in range(MANY)])
        many = [fip.address for fip in fips]
        self.cloud.wait_all_announced(many, 'gw1')
        nodes.wait_until('lonely is tagged', lambda: (
            self.proof(self.lonely) or [''])[0] == 'gw1')
        survivors = [name for name in self.cloud.gateways if name != 'gw1']
        heir = self.successor()
        with (self.both_ways() as running, self.followed() as followed,
              learned.Learned(self.cloud, heir) as found):
            failed = time.monotonic()
            self.cloud.power_off('gw1')
            self.addCleanup(self._on_again)
            self.cloud.wait_owner(self.alpha, heir)
            moved = followed.gained_at(self.alpha, heir)
            announced = found.wait(many)
            report = self.finished(running)
        base.note('power failure: OVN moved after '
                  f'{1000 * (moved - failed):.0f} ms, {MANY} floating IPs '
                  f'announced {1000 * (announced - moved):.0f} ms later: '
                  f'{report}')
        self.assertGreater(report.longest_gap_ms, leaving.DEATH_MS)
        self.assertEqual({heir}, {self.cloud.announcer(address)
                                  for address in many})
        self._stale(survivors, heir)

    def _stale(self, survivors, heir):
        """Rows STL-01 and STL-08: one survivor removes what is left."""
        marks = {name: self.mark(name) for name in survivors}
        self.assertEqual('gw1', self.proof(self.lonely)[0])
        began = time.monotonic()
        self.cloud.delete_chassis('gw1')
        nodes.wait_until('the rows of gw1 are gone', lambda: (
            self.proof(self.lonely) is None and
            self.mac_binding(self.lonely) is None), GRACE + 30 + base.SETTLE)
        base.note(f'rows of gw1 were gone {time.monotonic() - began:.1f} s '
                  'after its chassis')
        self.assertEqual(heir, self.proof()[0])
        self.assertIsNotNone(self.mac_binding(self.alpha))
        nodes.wait_until('a survivor says so', lambda: self._removed(marks))
        self.assertEqual(1, len(self._removed(marks)))

    def _removed(self, marks):
        """Names of those who have removed what somebody left."""
        return [name for name, mark in marks.items()
                if any(change.startswith('deleted stale_route')
                       for change in self.changes(name, mark))]

    def _on_again(self):
        self.cloud.power_on('gw1')
        self.start('gw1')
        self.settled()


globals().update(matrix.others(TestHandover))


if __name__ == '__main__':
    unittest.main()
