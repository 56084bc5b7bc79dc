# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Events in any order leave what a pass over everything makes."""

import hypothesis
from hypothesis import stateful
from hypothesis import strategies
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.tests import budget
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

# An address that several routers want: a conflict.
SHARED = '198.51.100.99'


def routers_of(number):
    """Strategies for one of a few routers; now and then they conflict."""
    port = strategies.builds(
        cloud.port, strategies.just(number),
        local=strategies.booleans(),
        segment=strategies.sampled_from(
            [cloud.segment(), cloud.segment(), cloud.segment(
                patch_port=4), cloud.segment(patch_port=0), None]))
    return strategies.builds(
        cloud.router, strategies.just(number),
        fips=strategies.sets(strategies.sampled_from(
            [f'198.51.100.{number * 10 + n:d}' for n in range(9)] +
            [f'2001:db8::{number:d}', SHARED])),
        ports=strategies.tuples(port),
        default_routes=strategies.sampled_from([
            (), (), (model.NbDefaultRoute('198.51.100.9', '', False),)]))


class IncrementalMachine(stateful.RuleBasedStateMachine):
    """Events in any order, with failures: it ends as if built afresh."""

    @stateful.initialize(method=strategies.sampled_from(
        ['static', 'kernel']), table=strategies.sampled_from([0, 201]),
        vrf=strategies.sampled_from(['vrf-provider', '']))
    def start(self, method, table, vrf):
        self.options = {'fip_route__announce_method': method,
                        'fip_route__route_table_id': table,
                        'frr__vrf_name': vrf}
        self.gateway = gateways.Gateway(**self.options)
        self.routers = {}
        self.node = {}
        self.full = False

    # -- what happens -----------------------------------------------------

    @stateful.rule(data=strategies.data(), number=strategies.integers(2, 5))
    def change(self, data, number):
        self.routers[number] = data.draw(routers_of(number))

    @stateful.rule(number=strategies.integers(2, 5))
    def remove(self, number):
        self.routers.pop(number, None)

    @stateful.rule(method=strategies.sampled_from(['static', 'kernel']))
    def change_method(self, method):
        self.options['fip_route__announce_method'] = method
        self.gateway.set('announce_method', method, 'fip_route')
        self.full = True

    @stateful.rule(there=strategies.booleans())
    def change_devices(self, there):
        """The VRF vanishes or comes back."""
        self.node = {} if there else {'devices': cloud.node().devices[:1]}

    @stateful.rule(number=strategies.integers(2, 5),
                   kind=strategies.sampled_from(
                       ['kernel_route', 'announcement', 'announced_route',
                        'flow']))
    def refuse_once(self, number, kind):
        dst = f'198.51.100.{number:d}0/32'
        keys = {'kernel_route': (254, dst), 'announced_route': (10, dst),
                'announcement': ('vrf-provider', dst),
                'flow': ('br-ex', 910, 3, 4, dst)}
        self.gateway.world.refuses_once[
            resources.Ref(kind, keys[kind])] = 'once'

    @stateful.rule(number=strategies.integers(2, 5))
    def a_bug_in_a_driver(self, number):
        self.gateway.fip_route.raises_for ^= {cloud.router(number).uuid}

    @stateful.rule(name=strategies.sampled_from(sorted(worlds.BACKENDS)))
    def drop_out(self, name):
        self.gateway.world.down.add(name)

    @stateful.rule(name=strategies.sampled_from(sorted(worlds.BACKENDS)))
    def come_back(self, name):
        self.gateway.world.down.discard(name)

    @stateful.rule()
    def frr_is_slow(self):
        """It does not know yet what it was told last."""
        self.gateway.world.unknown.update(
            ref for ref in self.gateway.world.objects
            if ref.kind in ('announcement', 'announced_route'))

    @stateful.rule(name=strategies.sampled_from(sorted(worlds.BACKENDS)))
    def lose_something(self, name):
        """Somebody else removes things of one backend, and it is seen."""
        kinds = {k.kind for k in worlds.BACKENDS[name]}
        objects = self.gateway.world.objects
        for ref in [r for r in objects if r.kind in kinds][::2]:
            del objects[ref]
        self.gateway.reconciler.invalidate([name])

    @stateful.rule()
    def restart(self):
        self.gateway.reconciler.close()
        self.gateway.start()

    # -- what follows -----------------------------------------------------

    @stateful.rule(seconds=strategies.sampled_from([0, 5]),
                   urgent=strategies.booleans())
    def run_a_pass(self, seconds, urgent):
        self.gateway.clock += seconds
        self.pass_in_order(urgent)

    # Often enough that most of what happens is seen by a pass of its own.
    run_another = run_one_more = run_a_pass

    def pass_in_order(self, urgent=False):
        """A pass; what it did, it did in the right order."""
        world = self.gateway.world
        del world.journal[:]
        before = dict(world.objects)
        outcome = self.gateway.run(*self.routers.values(), full=self.full,
                                   urgent=urgent, **self.node)
        self.full = False
        made = [ref for verb, ref in world.journal if verb != 'delete']
        gone = [ref for verb, ref in world.journal if verb == 'delete']
        # First all that comes, up the stages, then all that goes, down.
        assert [ref for _verb, ref in world.journal] == made + gone
        # What follows is made last in a hurry, and what leaves early goes
        # first.
        for stages in ([(urgent and world.objects[ref].follows,
                         world.objects[ref].stage) for ref in made],
                       [(before[ref].leaves_early, before[ref].stage)
                        for ref in gone[::-1]]):
            assert stages == sorted(stages), stages
        self.nothing_wanted_goes(gone, before)
        self.nothing_is_announced_too_early(made)
        self.nothing_is_taken_from_under(gone, before)
        return outcome

    def nothing_wanted_goes(self, gone, before):
        """Nor an announcement before what takes its place is known."""
        tracker, world = self.gateway.reconciler.tracker, self.gateway.world
        wanted = {r.subject: r.ref for r in tracker.wanted()
                  if r.stage is resources.Stage.ANNOUNCE}
        for ref in gone:
            assert tracker.desired(ref) is None, ref
            if before[ref].stage is resources.Stage.ANNOUNCE:
                successor = wanted.get(before[ref].subject)
                assert (successor is None or
                        successor in world.objects.keys() - world.unknown)

    def nothing_is_announced_too_early(self, made):
        tracker, world = self.gateway.reconciler.tracker, self.gateway.world
        # What was removed where nobody can look counts as it was last seen.
        unseen = {kind.kind for name in world.down
                  for kind in worlds.BACKENDS[name]}
        for ref in made:
            for needed in tracker.desired(ref).requires:
                assert (needed.kind in unseen or tracker.desired(needed) ==
                        world.objects.get(needed)), (ref, needed)

    def nothing_is_taken_from_under(self, gone, before):
        """What is still announced by mistake keeps what it rests on."""
        tracker = self.gateway.reconciler.tracker
        unwanted = {r.subject for r in tracker.delta(
            ['announcement', 'announced_route']).delete}
        wanted = {r.subject for r in tracker.wanted()
                  if r.stage is resources.Stage.ANNOUNCE}
        for ref in gone:
            if (before[ref].stage is not resources.Stage.ANNOUNCE and
                    not before[ref].leaves_early):
                assert before[ref].subject not in unwanted - wanted, ref

    @stateful.rule()
    def settle(self):
        world = self.gateway.world
        world.down.clear()
        world.refuses_once.clear()
        world.unknown.clear()
        self.gateway.fip_route.raises_for.clear()
        for _pass in range(3):
            self.gateway.clock += 100
            outcome = self.pass_in_order()
        fresh = gateways.Gateway(**self.options)
        expected = fresh.run(*self.routers.values(), **self.node)
        fresh.reconciler.close()
        # Conflicts, and nothing else; and the same ones.
        assert outcome.failures == expected.failures, outcome
        assert outcome.degraded == expected.degraded, outcome
        # Doubtful segments keep what is there, so only what is wanted is
        # determined by the present alone.
        wanted, present = fresh.world.values(), world.values()
        assert wanted <= present, wanted - present
        kept = {k.of for r in self.routers.values()
                for driver in fresh.drivers
                for k in worlds.wanted(
                    driver, r, cloud.node(**self.node)) if k.kind == 'keep'}
        surplus = {r.ref for r in present - wanted if not r.retained}
        assert surplus <= kept, surplus - kept
        # And a full recompute has nothing to do.
        self.full = True
        assert self.pass_in_order().changes == 0, world.journal

    def teardown(self):
        if hasattr(self, 'gateway'):
            self.settle()
            self.gateway.reconciler.close()


class IncrementalTest(base.BaseTestCase):

    def test_it_is_as_if_built_afresh(self):
        stateful.run_state_machine_as_test(
            IncrementalMachine, settings=hypothesis.settings(
                max_examples=budget.examples(60), stateful_step_count=30,
                deadline=None, database=None))
