# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether this node could announce a gateway, by what was seen when."""


from oslotest import base

from ovn_network_agent import model
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.watches.frr import frr_fitness
from ovn_network_agent.watches.frr import frr_observers

UP = {'10.0.0.2': 'Established', '10.0.0.3': 'Active'}
DOWN = {'10.0.0.2': 'Idle (Admin)', '10.0.0.3': 'Active'}
DRAINS = ['fip_route', 'gateway_drain']


class LackTest(base.BaseTestCase):

    def test_what_is_lacking(self):
        """Without neighbours nobody is judged, but for daemons."""
        for daemons, neighbours, vrf, said in (
                ([], UP, 'vrf-provider', ''), ([], {}, '', ''),
                ([], DOWN, 'vrf-provider', 'no BGP neighbour of VRF '
                 'vrf-provider is established (2 configured)'),
                *((['bgpd', 'zebra'], each, '',
                   'bgpd and zebra of FRR not running')
                  for each in (UP, DOWN, {}))):
            self.assertEqual(said, frr_fitness.lack(daemons, neighbours, vrf))
        self.assertIn('the default VRF', frr_fitness.lack([], DOWN, ''))

    def test_which_daemons(self):
        for method, needed in (('static', {'zebra', 'bgpd', 'staticd'}),
                               ('kernel', {'zebra', 'bgpd'})):
            self.assertEqual(needed, set(frr_fitness.daemons(
                world.conf(fip_route__announce_method=method))))

    def test_wanted(self):
        self.assertTrue(frr_fitness.wanted(world.conf(drivers=DRAINS)))
        for values in ({'drivers': ['fip_route']},
                       {'frr__bgp_check': False},
                       {'gateway_drain__standby_needs_bgp': False}):
            self.assertFalse(frr_fitness.wanted(world.conf(**{
                'drivers': DRAINS, **values})))

    def test_without_vtysh_nobody_looks(self):
        self.assertEqual([], frr_observers.make(world.conf(
            drivers=DRAINS, frr__vtysh_wrapper='/nowhere/at-all'), None))


class NeededTest(base.BaseTestCase):

    def needed(self, owner, *candidates):
        made = frr_fitness.Fitness(world.conf(drivers=DRAINS))
        made.seen(model.Snapshot(cloud.node(), groups=(model.GatewayGroup(
            'HA_Chassis_Group', candidates=(
                model.Candidate(cloud.CHASSIS, 0), *candidates),
            ports=(model.GroupPort('cr-lrp-1', owner),)),)))
        return made._needed

    def test_who_else_could_take_over(self):
        owner, other = model.Candidate('a', 2), model.Candidate('b', 1)
        self.assertTrue(self.needed('a', owner))
        self.assertFalse(self.needed('a', owner, other))
        for away in ({'priority': 0}, {'known': False}):
            self.assertTrue(self.needed('a', owner, other._replace(**away)))
        # The owner is on its way down, or has gone.
        self.assertTrue(self.needed('a', model.Candidate('a', 0)))
        self.assertFalse(self.needed('', owner))

    def test_not_who_has_it(self):
        self.assertFalse(self.needed(cloud.CHASSIS, model.Candidate('a', 0)))


class JudgementTest(base.BaseTestCase):

    def history(self, *looks, at_once=False):
        """Take one look each second; (what is lacking then, of each)."""
        made = frr_fitness.Judgement()
        found = []
        for now, look in enumerate(looks):
            before = made.lack
            self.assertEqual(made.take(look, float(now), at_once),
                             made.lack != before)
            found.append(made.lack)
        return found

    def test_at_the_start_the_first_look_counts(self):
        self.assertEqual(['x'], self.history('x'))
        self.assertEqual([''], self.history(''))
        # As soon as there is one.
        self.assertEqual(['', '', 'x'], self.history(None, None, 'x'))

    def test_a_moment_without_bgp_does_not_count(self):
        self.assertEqual(3, frr_fitness.SETTLE)
        self.assertEqual([''] * 6, self.history('', 'x', 'x', 'x', '', 'x'))
        self.assertEqual(['', '', '', '', 'x'],
                         self.history('', 'x', 'x', 'x', 'x'))

    def test_a_moment_with_bgp_does_not_count_either(self):
        self.assertEqual(5, frr_fitness.STABLE)
        self.assertEqual(['x'] * 8, self.history(
            'x', '', '', '', '', '', 'x', ''))
        self.assertEqual(['x'] * 6 + [''], self.history(
            'x', '', '', '', '', '', ''))

    def test_who_is_needed_is_back_at_once(self):
        self.assertEqual(['x', '', '', '', '', 'x'], self.history(
            'x', '', 'x', 'x', 'x', 'x', at_once=True))

    def test_nothing_follows_from_no_answer(self):
        self.assertEqual([''] * 9, self.history('', *[None] * 8))
        self.assertEqual(['x'] * 9, self.history('x', *[None] * 8))
        # And what was on the way begins anew.
        self.assertEqual([''] * 7, self.history(
            '', 'x', 'x', None, 'x', 'x', 'x'))

    def test_another_reason_is_said_at_once(self):
        self.assertEqual(['x', 'y', 'y'], self.history('x', 'y', 'y'))
        # While it is on the way to be right again, it is not.
        self.assertEqual(['x', 'x', 'y'], self.history('x', '', 'y'))
