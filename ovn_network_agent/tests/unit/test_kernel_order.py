# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""In which order what FRR attracts is supported, and what a failure costs."""

import dataclasses

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import golden
from ovn_network_agent.tests.unit import world as worlds

FIP, OTHER = '198.51.100.10/32', '198.51.100.11/32'
ROUTER = cloud.router(1, ['198.51.100.10', '198.51.100.11'])


class OrderTest(base.BaseTestCase):
    """An agent on a world, its host routes in a table of their own."""

    def setUp(self):
        super().setUp()
        self.world = worlds.World()
        self.clock = 1000.0
        conf = worlds.conf(fip_route__route_table_id=100)
        self.reconciler = reconciler.Reconciler(
            [worlds.driver('fip_route', conf),
             worlds.driver('veth_leak', conf)],
            worlds.backends(self.world), lambda reason: None,
            lambda: self.clock)

    def run_pass(self, *routers, **values):
        return self.reconciler.run(passes.Pass(
            cloud.snapshot(*routers, **values), full=True))

    def announced(self):
        return {key[1] for key in self.world.found(resources.Announcement)}

    def _rule_of(self, address):
        return resources.Ref('rule', (1000, None, address, None, None, None))

    def test_without_its_rule_an_address_is_not_announced(self):
        """Row FIP-04: the route is in a table that nobody looks at then."""
        self.world.refuses[self._rule_of(FIP)] = 'on purpose'
        outcome = self.run_pass(ROUTER)
        self.assertEqual('on purpose', outcome.failures[self._rule_of(FIP)])
        self.assertEqual({'198.51.100.1/32', OTHER}, self.announced())
        self.world.refuses.clear()
        self.reconciler.invalidate(['rule'])
        self.assertEqual([], self.run_pass(ROUTER).degraded)
        self.assertIn(FIP, self.announced())

    def test_the_rule_goes_before_the_route_and_after_the_announcement(self):
        """Row FIP-05, and FIP-11."""
        self.run_pass(ROUTER)
        self.world.journal.clear()
        self.run_pass(dataclasses.replace(ROUTER, nats=ROUTER.nats[1:]))
        self.assertEqual(
            [resources.Ref('announcement', ('vrf-provider', FIP)),
             self._rule_of(FIP), resources.Ref('kernel_route', (100, FIP))],
            [ref for verb, ref in self.world.journal
             if verb == 'delete' and ref.kind in (
                 'announcement', 'rule', 'kernel_route')])

    def test_a_rule_that_cannot_go_keeps_its_route(self):
        self.run_pass(ROUTER)
        self.world.refuses[self._rule_of(FIP)] = 'on purpose'
        self.run_pass(dataclasses.replace(ROUTER, nats=ROUTER.nats[1:]))
        self.assertNotIn(FIP, self.announced())
        self.assertIn((100, FIP), self.world.found(resources.KernelRoute))

    def test_a_step_of_the_end_that_fails_stops_no_other(self):
        """Row CLN-04."""
        self.run_pass(ROUTER)
        self.world.down.update(('rule', 'flow', 'frr_prefix_list',
                                'northbound'))
        outcome = self.run_pass(ROUTER, phase=model.Phase.STOPPED)
        self.assertNotEqual([], outcome.degraded)
        self.assertEqual(set(), self.announced())
        for kind in (resources.VethPair, resources.Address,
                     resources.Neighbour):
            self.assertEqual({}, self.world.found(kind))
        self.world.down.clear()
        for _pass in range(30):
            # What is down is asked again after a while.
            self.clock += self.reconciler.next_retry() or 0
            outcome = self.run_pass(ROUTER, phase=model.Phase.STOPPED)
            if not outcome.degraded:
                break
        self.assertEqual([], outcome.degraded)
        self.assertEqual({'sysctl', 'link_up', 'advertised'},
                         {r.kind for r in self.world.values()})

    def test_no_flow_of_ours_is_left_where_no_router_is(self):
        """Trap T53: MAC-tweak goes on standby; what uses it has gone.

        But for that of a network that this node is a candidate for.
        """
        away = cloud.away(ROUTER)
        self.run_pass(ROUTER, groups=[cloud.group(ROUTER)])
        self.assertEqual({ownership.COOKIE_MAC_TWEAK,
                          ownership.COOKIE_HAIRPIN}, self._cookies())
        self.run_pass(away, groups=[cloud.group(away)])
        self.assertEqual({ownership.COOKIE_MAC_TWEAK}, self._cookies())
        self.run_pass(away)
        self.assertEqual(set(), self._cookies())

    def _cookies(self):
        return {flow.cookie for flow in
                self.world.found(resources.Flow).values()}


class ForwardOrderTest(base.BaseTestCase):
    """What a VIP rests on is there before it, and goes after it."""

    RESTS_ON = ('veth_pair', 'kernel_route', 'rule', 'nft_table',
                'prefix_list_entry', 'vip_address')

    def setUp(self):
        super().setUp()
        self.world = worlds.World()
        conf = worlds.conf()
        self.reconciler = reconciler.Reconciler(
            [worlds.driver('veth_leak', conf),
             worlds.driver('port_forward', conf)],
            worlds.backends(self.world), lambda reason: None)

    def run_pass(self, *vips, **values):
        return self.reconciler.run(passes.Pass(dataclasses.replace(
            cloud.snapshot(ROUTER, **values),
            forwards=port_forwards.Forwards(vips, True)), full=True))

    def order(self, verb):
        """When the first (last) of each kind was made (removed)."""
        kinds = [ref.kind for done, ref in self.world.journal
                 if done == verb and ref.kind in self.RESTS_ON]
        if verb == 'create':
            # What counts is when the last one of a kind was there.
            kinds.reverse()
        return list(dict.fromkeys(kinds))

    def test_made_last_and_removed_first(self):
        """Row PF-27, too: the pair outlives all of it."""
        self.assertEqual([], self.run_pass(golden.vip()).degraded)
        self.assertEqual(list(reversed(self.RESTS_ON)), self.order('create'))
        self.world.journal.clear()
        self.run_pass(golden.vip(), phase=model.Phase.STOPPED)
        self.assertEqual(list(reversed(self.RESTS_ON)), self.order('delete'))
        self.assertEqual({}, self.world.found(resources.NftElement))

    def test_without_its_table_a_vip_is_not_attracted(self):
        """Row PF-28: tried again, and until then nothing is announced."""
        table = resources.Ref('nft_table', ('ip',))
        self.world.refuses[table] = 'on purpose'
        outcome = self.run_pass(golden.vip())
        self.assertIn('on purpose', outcome.failures[table])
        self.assertEqual({}, self.world.found(resources.VipAddress))
        self.world.refuses.clear()
        self.reconciler.invalidate(['nftables'])
        self.assertEqual([], self.run_pass(golden.vip()).degraded)
        self.assertEqual(1, len(self.world.found(resources.VipAddress)))

    def test_no_answer_is_dropped_before_its_route_is_there(self):
        """Nor after: the rule that drops, and the route that it waits for."""
        route = resources.Ref('kernel_route', (201, '0.0.0.0/0'))
        guard = resources.Ref(
            'rule', (152, None, None, None, (0x200, 0x200), None))
        self.world.refuses[route] = 'on purpose'
        self.run_pass(golden.vip())
        self.assertNotIn(guard.key, self.world.found(resources.Rule))
        self.world.refuses.clear()
        self.reconciler.invalidate(['route', 'rule'])
        self.assertEqual([], self.run_pass(golden.vip()).degraded)
        self.assertIn(guard.key, self.world.found(resources.Rule))
        self.world.journal.clear()
        self.run_pass()
        self.assertEqual([guard, route], [
            ref for _verb, ref in self.world.journal
            if ref in (guard, route)])

    def test_a_table_that_cannot_be_changed_withdraws_nothing(self):
        """Row PF-28: the former one is in force."""
        self.run_pass(golden.vip())
        self.world.refuses[resources.Ref('nft_table', ('ip',))] = 'no'
        other = golden.vip(address='192.0.2.54')
        self.run_pass(golden.vip(), other)
        self.assertEqual([('loopback1', '192.0.2.53/32')],
                         list(self.world.found(resources.VipAddress)))

    def test_the_last_vip_takes_everything_along(self):
        """Row PF-01."""
        self.run_pass(golden.vip())
        self.run_pass()
        for kind in (resources.NftTable, resources.NftElement,
                     resources.VipAddress, resources.PrefixListEntry):
            self.assertEqual({}, self.world.found(kind))
        self.assertEqual([], [rule for rule in self.world.found(
            resources.Rule).values() if rule.fwmark])
        self.assertNotIn((201, '0.0.0.0/0'),
                         self.world.found(resources.KernelRoute))
