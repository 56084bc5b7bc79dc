# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One announcement takes the place of another one, without a gap."""



from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import executor
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

DST = gateways.DST
FIP = gateways.FIP


class MethodTest(gateways.ReconcilerTestCase):
    """The announce method changes while addresses are announced."""

    FIPS = (FIP, '198.51.100.11')

    def setUp(self):
        super().setUp()
        self.routers = [cloud.router(fips=self.FIPS)]
        self.prefixes = {a + '/32' for a in (*self.FIPS, '198.51.100.1')}

    def announced(self, gateway, kind):
        return {r.subject for r in gateway.world.found(kind).values()}

    def switched(self, gateway, old, new):
        """All of it, each address without a gap, nothing else touched."""
        self.assertEqual(self.prefixes, self.announced(gateway, new))
        self.assertEqual(set(), self.announced(gateway, old))
        changes = gateway.world.journal
        self.assertEqual(
            ['create'] * 3 + ['delete'] * 3, [v for v, _ref in changes])
        self.assertEqual({old.kind, new.kind},
                         {ref.kind for _verb, ref in changes})

    def methods(self):
        static, kernel = resources.Announcement, resources.AnnouncedRoute
        return (('static', static, 'kernel', kernel),
                ('kernel', kernel, 'static', static))

    def started(self, method, **options):
        gateway = self.gateway(fip_route__announce_method=method, **options)
        self.assertTrue(gateway.run(*self.routers).settled)
        del gateway.world.journal[:]
        return gateway

    def test_while_it_runs(self):
        for vrf in ('vrf-provider', ''):
            for before, old, after, new in self.methods():
                gateway = self.started(before, frr__vrf_name=vrf)
                gateway.set('announce_method', after, 'fip_route')
                self.assertTrue(gateway.run(*self.routers, full=True).settled)
                self.switched(gateway, old, new)

    def test_over_a_restart(self):
        for before, old, after, new in self.methods():
            world = self.started(before).world
            gateway = self.gateway(world=world,
                                   fip_route__announce_method=after)
            gateway.run(prune=False)
            del world.journal[:]
            self.assertTrue(gateway.run(*self.routers).settled)
            self.switched(gateway, old, new)

    def test_the_old_one_waits_until_frr_knows_the_new_one(self):
        for before, old, after, new in self.methods():
            world = self.started(before).world
            gateway = self.gateway(world=world,
                                   fip_route__announce_method=after)
            ref = next(r.ref for r in fip_announcements(gateway)
                       if r.subject == DST)
            world.unknown.add(ref)
            outcome = gateway.run(*self.routers)
            self.assertEqual({DST}, self.announced(gateway, old))
            self.assertEqual(self.prefixes, self.announced(gateway, new))
            self.assertIn('until FRR knows', str(outcome.failures))
            self.assertIsNotNone(gateway.reconciler.next_retry())
            world.unknown.clear()
            self.assertTrue(gateway.run(*self.routers).settled)
            self.switched(gateway, old, new)

    def test_an_answer_that_takes_long_counts_when_it_comes(self):
        for before, old, after, new in self.methods():
            world = self.started(before).world
            gateway = self.gateway(
                world=world, fip_route__announce_method=after,
                threads=lambda wake: executor.Threads(wake, 0.01))
            slow = gateway.backend(
                'frr_static' if after == 'static' else 'route')
            self.addCleanup(slow.answers.set)
            slow.answers.clear()
            for _pass in range(3):
                outcome = gateway.run(*self.routers)
                self.assertIn('until FRR knows', str(outcome.failures))
                self.assertEqual(self.prefixes, self.announced(gateway, old))
            self.assertEqual([], gateway.woken)
            slow.answers.set()
            waiting.eventually(lambda made=gateway: made.woken,
                               'somebody is woken', 10)
            self.assertEqual([slow.name + ' answered'], gateway.woken)
            # No further question: the answer is there.
            slow.answers.clear()
            self.assertTrue(gateway.run(*self.routers).settled)
            self.switched(gateway, old, new)

    def test_the_old_one_stays_while_the_new_one_fails(self):
        for before, old, after, new in self.methods():
            for trouble in ('down', 'raises', 'refuses'):
                world = self.started(before).world
                gateway = self.gateway(world=world,
                                       fip_route__announce_method=after)
                if trouble == 'refuses':
                    world.refuses.update(
                        (r.ref, 'no') for r in fip_announcements(gateway))
                elif after == 'static':
                    world.down.add('frr_static')
                    if trouble == 'raises':
                        world.raises['frr_static'] = KeyError('a bug')
                else:
                    continue
                gateway.run(*self.routers)
                self.assertEqual(self.prefixes, self.announced(gateway, old))
                for what in (world.refuses, world.down, world.raises):
                    what.clear()
                gateway.clock += 100
                self.assertTrue(gateway.run(*self.routers).settled)
                self.switched(gateway, old, new)

    def test_what_is_withdrawn_meanwhile_goes(self):
        # Nothing takes its place.
        world = self.started('kernel').world
        gateway = self.gateway(world=world)
        self.assertTrue(gateway.run().settled)
        self.assertEqual(set(), self.announced(
            gateway, resources.AnnouncedRoute))

    def test_the_end_does_not_wait(self):
        world = self.started('kernel').world
        gateway = self.gateway(world=world)
        world.unknown.update(r.ref for r in fip_announcements(gateway))
        gateway.run(*self.routers)
        self.assertTrue(gateway.run(
            *self.routers, phase=model.Phase.STOPPED).settled)
        self.assertEqual(set(), self.announced(
            gateway, resources.AnnouncedRoute) | gateway.addresses())


class ListTest(gateways.ReconcilerTestCase):

    def test_the_lines_of_the_former_list_go_last(self):
        """No route loses its permission when another list is named."""
        gateway, router = self.announcing(), cloud.router(fips=[FIP])
        kind = resources.PrefixListEntry
        former = set(gateway.world.found(kind))
        new = {('OTHER', *key[1:]) for key in former}
        gateway.world.refuses.update(
            (resources.Ref(kind.kind, key), 'no') for key in new)
        gateway.set('frr_prefix_list', 'OTHER', 'frr')
        gateway.run(router, full=True)
        self.assertEqual(former, set(gateway.world.found(kind)))
        gateway.world.refuses.clear()
        gateway.clock += 100
        self.assertTrue(gateway.run(router).settled)
        self.assertEqual(new, set(gateway.world.found(kind)))


def fip_announcements(gateway):
    """What fip_route announces for the routers of MethodTest."""
    return [r for r in worlds.wanted(
        gateway.fip_route, cloud.router(fips=MethodTest.FIPS), cloud.node())
        if r.kind in ('announcement', 'announced_route')]
