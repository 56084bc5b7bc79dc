# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Driver gateway_drain: who keeps the lead, and who is a standby again."""

from oslotest import base

from ovn_network_agent.drivers import gateway_drain
from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import world

HERE, OTHER, THIRD = world.CHASSIS, world.OTHER, 'third'


def group(own, *peers, owner=HERE, **values):
    """A group of this chassis and others, with one port."""
    names = (OTHER, THIRD)
    return model.GatewayGroup(**{
        'table': 'Gateway_Chassis', 'key': 'some', 'name': 'lrp-1',
        'candidates': tuple(sorted(
            (model.Candidate(chassis, priority) for chassis, priority in (
                (HERE, own), *zip(names, peers, strict=False))
             if priority is not None), key=lambda c: c.chassis)),
        'ports': (model.GroupPort('cr-lrp-1', owner),), **values})


class GatewayDrainTest(base.BaseTestCase):

    def wanted(self, one, phase=model.Phase.RUNNING):
        """What becomes of the priorities, dict of chassis to int."""
        driver = gateway_drain.GatewayDrainDriver('gateway_drain',
                                                  world.conf())
        self.found = list(driver.for_group(one, world.node(phase=phase)))
        return {r.chassis: r.priority for r in self.found}

    def test_the_active_chassis_takes_the_lead(self):
        # Rows DRN-09 and DRN-12, trap T10.
        for own, peers, lead in (
                (1, (2,), 3), (2, (2,), 3), (1, (1,), 2), (1, (0,), 2),
                (0, (0,), 2), (5, (30, 20), 31)):
            self.assertEqual({HERE: lead}, self.wanted(group(own, *peers)))

    def test_established_it_writes_nothing(self):
        # Row DRN-10.
        for own, peers in ((2, (1,)), (3, (2, 1)), (32767, (1,)), (2, (0,))):
            self.assertEqual({}, self.wanted(group(own, *peers)))

    def test_a_standby_writes_nothing(self):
        for owner in (OTHER, '', 'unknown'):
            for own in (0, 1, 7):
                self.assertEqual({}, self.wanted(group(own, 5, owner=owner)))

    def test_no_row_or_no_peer(self):
        # Row DRN-13.
        self.assertEqual({}, self.wanted(group(1)))
        self.assertEqual({}, self.wanted(group(None, 1, 2)))

    def test_numbers_stay_small(self):
        # Row DRN-15, trap T28b.
        self.assertEqual({HERE: 3, OTHER: 2, THIRD: 1},
                         self.wanted(group(5, 32767, 9)))
        self.assertEqual({HERE: 2, OTHER: 1, THIRD: 1},
                         self.wanted(group(5, 32767, 32767)))
        # What is drained stays so.
        self.assertEqual({HERE: 2, OTHER: 1, THIRD: 0},
                         self.wanted(group(0, 100, 0)))

    def test_a_thousand_failovers(self):
        # Trap T28b.
        priorities = {HERE: 1, OTHER: 2}
        for turn in range(1000):
            owner = (HERE, OTHER)[turn % 2]
            found = self.wanted(self._as_seen_by(owner, priorities))
            priorities.update({
                {HERE: owner, OTHER: HERE if owner == OTHER else OTHER}[c]: p
                for c, p in found.items()})
            self.assertEqual(owner, max(priorities, key=priorities.get))
            self.assertLessEqual(max(priorities.values()), 100)
            self.assertGreaterEqual(min(priorities.values()), 1)

    def _as_seen_by(self, owner, priorities):
        """The group where that chassis is this one."""
        peer = OTHER if owner == HERE else HERE
        return group(priorities[owner], priorities[peer])

    def test_drained_it_is_a_standby_again(self):
        # Row DRN-08, trap T12.
        self.assertEqual({HERE: 1}, self.wanted(
            group(0, 2, owner=OTHER, restore=True)))
        # Somebody has set it to 0 since the start: that counts.
        self.assertEqual({}, self.wanted(group(0, 2, owner=OTHER)))

    def test_a_shared_group(self):
        def ports(*owners):
            return tuple(model.GroupPort('cr-lrp-%d' % n, owner)
                         for n, owner in enumerate(owners))

        shared = group(1, 2, table='HA_Chassis_Group',
                       ports=ports(HERE, HERE, ''))
        self.assertEqual({HERE: 3}, self.wanted(shared))
        # All that are somewhere have to be here when it is written.
        self.assertEqual({('cr-lrp-0', 'cr-lrp-1')},
                         {r.owned for r in self.found})
        self.assertEqual({}, self.wanted(group(1, 2, ports=ports(
            HERE, OTHER))))
        self.assertEqual({}, self.wanted(group(1, 2, ports=())))

    def test_what_it_was_decided_on_goes_along(self):
        self.wanted(group(5, 32767))
        for resource in self.found:
            self.assertEqual({HERE: 5, OTHER: 32767},
                             dict(resource.before))
            self.assertEqual({HERE: 2, OTHER: 1}, dict(resource.after))

    def test_at_the_end_nothing(self):
        for phase in (model.Phase.RESTORING, model.Phase.STOPPED):
            self.assertEqual({}, self.wanted(group(1, 2), phase))

    def test_it_comes_after_all_that_makes_reachable(self):
        # Row LOOP-03.
        self.assertEqual(resources.Stage.LEAD,
                         max(resources.Stage))
        self.assertEqual(resources.Stage.LEAD,
                         resources.GatewayPriority.stage)
