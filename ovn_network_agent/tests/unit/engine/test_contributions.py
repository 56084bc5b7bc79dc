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

"""What drivers are asked, and what their mistakes cost."""

import dataclasses
import gc

import fixtures

from ovn_network_agent import model
from ovn_network_agent import pieces
from ovn_network_agent import resources
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.engine import contributions
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import tracking
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

DST = gateways.DST
FIP = gateways.FIP
HAIRPIN = gateways.HAIRPIN


class DriverTest(gateways.ReconcilerTestCase):

    def two(self):
        one = worlds.router(1, fips=[FIP])
        two = worlds.router(2, fips=['198.51.100.20'])
        return one, two

    def test_an_event_on_one_router_costs_that_router(self):
        gateway = self.gateway()
        routers = [worlds.router(n, [f'198.51.100.{100 + n}'])
                   for n in range(1, 50)]
        gateway.run(*routers)
        del gateway.fip_route.asked[:], gateway.world.journal[:]
        del gateway.world.reads[:]
        routers[7] = worlds.router(8, ['198.51.100.108', '198.51.100.240'])
        outcome = gateway.run(*routers)
        self.assertEqual([routers[7].uuid], gateway.fip_route.asked)
        self.assertEqual(
            ['kernel_route', 'flow', 'announcement'],
            [ref.kind for _verb, ref in gateway.world.journal])
        self.assertEqual(3, outcome.changes)
        self.assertEqual([], gateway.world.reads)

    def test_an_event_on_one_address_costs_that_address(self):
        # A router whose proof is there: before, all addresses count.
        gateway = self.gateway()
        proved = (model.NbDefaultRoute('198.51.100.254', 'lrp-1', True,
                                       worlds.OWNER, worlds.HOSTNAME),)
        nats = tuple(worlds.fip(f'198.51.100.{n}') for n in range(10, 200))
        for wanted, asked in (
                (nats, nats), (nats[1:], ()), (nats[1:100] + nats[101:], ()),
                (nats, (nats[0], nats[100])), (nats, ()), ((), ())):
            del gateway.fip_route.asked_nats[:]
            gateway.run(worlds.router(nats=wanted, default_routes=proved))
            self.assertCountEqual([nat.external_ip for nat in asked],
                                  gateway.fip_route.asked_nats)
            self.assertEqual(
                {'198.51.100.1/32', *(nat.external_ip + '/32'
                                      for nat in wanted)},
                gateway.addresses())

    def test_a_full_comparison_leaves_no_second_value(self):
        """Thousands of equal resources would be there twice from then on."""
        gateway = self.gateway()
        # No other test has this address.
        address = '198.51.100.177'
        for _comparison in range(2):
            gateway.run(worlds.router(fips=[address]), full=True)
        self.assertEqual(1, len([
            each for each in gc.get_objects()
            if type(each) is resources.Flow and each.dst == f'{address}/32']))

    def test_a_comparison_in_pieces_asks_about_all_of_them(self):
        """Also about values that are equal, and other objects."""
        gateway = self.gateway()
        addresses = [f'198.51.100.{n}' for n in range(10, 16)]
        nats = [worlds.fip(address) for address in addresses]
        cut = pieces.cut([(('nb', 'NAT'), n) for n in range(6)], 2)

        def compare(proves=True):
            for number, piece in enumerate(cut):
                del gateway.fip_route.asked_nats[:]
                for at in range(2 * number, 2 * number + 2):
                    nats[at] = worlds.fip(addresses[at])
                gateway.reconciler.run(passes.Pass(
                    worlds.snapshot(worlds.router(nats=tuple(nats))),
                    piece=piece, proves=proves and piece.last))
                self.assertEqual(addresses[2 * number:2 * number + 2],
                                 sorted(gateway.fip_route.asked_nats))

        gateway.run(worlds.router(nats=tuple(nats)))
        del gateway.world.journal[:]
        self.assertFalse(gateway.reconciler.proved)
        compare(proves=False)
        self.assertFalse(gateway.reconciler.proved)
        compare()
        self.assertTrue(gateway.reconciler.proved)
        self.assertEqual([], gateway.world.journal)
        # What is changed afterwards is to be compared again.
        gateway.run(worlds.router(nats=tuple(nats[1:])))
        self.assertFalse(gateway.reconciler.proved)

    def test_a_comparison_in_pieces_finds_what_answers_have_missed(self):
        """As a mistake of the memory, which each comparison is to find."""
        gateway = self.gateway()
        router = worlds.router(fips=[FIP, '198.51.100.20'])
        gateway.run(router)
        piece = pieces.Piece({}, first=True, last=True)
        for divided in gateway.reconciler._wanted._divided.values():
            divided.answers['no row'] = []
        gateway.reconciler.run(passes.Pass(
            worlds.snapshot(worlds.router(fips=[FIP, '198.51.100.20'])),
            piece=piece))
        for divided in gateway.reconciler._wanted._divided.values():
            self.assertNotIn('no row', divided.answers)

    def test_the_rest_is_asked_for_when_a_nat_row_matters_to_it(self):
        gateway = self.gateway()
        proved = (model.NbDefaultRoute(
            '198.51.100.254', 'lrp-1', True, worlds.OWNER,
            worlds.HOSTNAME),)
        nats = [worlds.fip(FIP)]
        gateway.run(worlds.router(nats=tuple(nats), default_routes=proved))
        for nat, matters in (
                (worlds.fip('198.51.100.20'), False),
                # Outside of all networks, and distributed.
                (worlds.fip('192.0.2.20'), True),
                (dataclasses.replace(worlds.fip('198.51.100.21'),
                                     distributed_mac='fa:16:3e:00:00:09'),
                 True)):
            for change in (nats.append, nats.remove):
                del gateway.fip_route.asked[:]
                change(nat)
                gateway.run(worlds.router(nats=tuple(nats),
                                          default_routes=proved))
                self.assertEqual(matters, bool(gateway.fip_route.asked), nat)
        # Without the proof, each address counts for it.
        gateway.run(worlds.router(nats=tuple(nats)))
        del gateway.fip_route.asked[:]
        gateway.run(worlds.router(nats=(
            *nats, worlds.fip('198.51.100.20'))))
        self.assertTrue(gateway.fip_route.asked)

    def test_a_driver_without_interest_is_asked_about_no_nat_row(self):
        asked = []

        class Aloof(drivers.Driver):
            def common(self, router, node):
                return router.label or None

            def for_nats(self, router, nats, node, common):
                asked.extend((common, nat.external_ip) for nat in nats)
                return ()

            def for_rest(self, router, node, of_nats):
                asked.append('rest')
                return of_nats

        gateway = self.gateway()
        gateway.drivers.append(Aloof('aloof', None))
        one, two = worlds.fip(FIP), worlds.fip('198.51.100.20')
        for label, nats, expected in (
                ('', (one,), ['rest']), ('', (one, two), []),
                ('one', (one,), [('one', FIP), 'rest']),
                ('one', (one, two), [('one', two.external_ip), 'rest']),
                ('', (one,), ['rest'])):
            del asked[:]
            gateway.run(worlds.router(nats=nats, label=label))
            self.assertEqual(expected, asked)

    def test_an_address_on_which_a_driver_raises_changes_nothing(self):
        gateway = self.gateway()
        one, two = worlds.fip(FIP), worlds.fip('198.51.100.20')
        gateway.run(worlds.router(nats=(one,)))
        gateway.fip_route.raises_for.add(two.external_ip)
        router = worlds.router(nats=(two,))
        self.assertIn('a bug', gateway.run(router).broken[
            'fip_route', router.uuid])
        self.assertIn(DST, gateway.addresses())
        self.assertNotIn('198.51.100.20/32', gateway.addresses())
        # Nor at the end of the agent does anything stay.
        gateway.run(router, phase=model.Phase.STOPPED)
        self.assertEqual(set(), gateway.addresses())
        gateway.fip_route.raises_for.clear()
        self.assertTrue(gateway.run(router).settled)
        self.assertEqual({'198.51.100.1/32', '198.51.100.20/32'},
                         gateway.addresses())

    def test_a_default_route_makes_no_difference_to_addresses(self):
        """The agent writes it itself, and the router may have thousands."""
        gateway = self.gateway()
        nats = worlds.fip(FIP), worlds.fip('198.51.100.20')
        router = worlds.router(nats=nats)
        more = worlds.router(nats=(*nats, worlds.fip('198.51.100.21')))
        gateway.run(router)
        for advertised in ('', 'gw2', worlds.HOSTNAME, ''):
            route = model.NbDefaultRoute('198.51.100.254', 'lrp-1', True,
                                         worlds.OWNER, advertised)
            del gateway.fip_route.asked_nats[:], gateway.fip_route.asked[:]
            gateway.run(dataclasses.replace(router, default_routes=(route,)))
            self.assertEqual([router.uuid], gateway.fip_route.asked)
            self.assertEqual([], gateway.fip_route.asked_nats)
            # The proof makes a difference to what counts for the rest.
            del gateway.fip_route.asked[:]
            gateway.run(dataclasses.replace(more, default_routes=(route,)))
            self.assertEqual(advertised != worlds.HOSTNAME,
                             bool(gateway.fip_route.asked))
            self.assertEqual(['198.51.100.21'], gateway.fip_route.asked_nats)

    def test_the_log_says_why_everything_is_asked_about(self):
        wanted = contributions.Contributions([], tracking.Tracker(), ())
        first = worlds.snapshot()
        wanted.update(first)
        second = dataclasses.replace(first, node=dataclasses.replace(
            first.node, devices=(), hostname='other'))
        with self.assertLogs(contributions.__name__, 'DEBUG') as logs:
            wanted.update(second)
            wanted.update(second)
        self.assertEqual(
            ['Everything is asked about: node.hostname, node.devices changed'],
            [said.getMessage() for said in logs.records
             if 'Everything' in said.getMessage()])

    def test_a_gateway_that_dies_costs_no_other_router(self):
        # Its relays answer no more at the moment when others take over.
        gateway = self.gateway()
        for alive in (True, False):
            del gateway.fip_route.asked[:]
            gateway.reconciler.run(passes.Pass(worlds.snapshot(
                *self.two(), relays=(
                    model.Relay('br-ex', '192.0.2.2', 9, alive),))))
        self.assertEqual([], gateway.fip_route.asked)

    def test_a_driver_that_raises_keeps_what_it_wanted_last(self):
        gateway = self.gateway()
        one, two = self.two()
        gateway.run(one, two)
        before = gateway.world.values()
        gateway.fip_route.raises_for.add(one.uuid)
        changed = dataclasses.replace(one, nats=())
        two = worlds.router(2, fips=['198.51.100.21'])
        outcome = gateway.run(changed, two)
        self.assertIn('a bug',
                      outcome.broken['fip_route', one.uuid])
        self.assertFalse(outcome.settled)
        self.assertIn(DST, gateway.addresses())
        self.assertIn('198.51.100.21/32', gateway.addresses())
        self.assertNotIn('198.51.100.20/32', gateway.addresses())
        self.assertLess(before - gateway.world.values(), before)
        gateway.fip_route.raises_for.clear()
        self.assertTrue(gateway.run(changed, two).settled)
        self.assertNotIn(DST, gateway.addresses())

    def test_it_is_well_again_when_its_input_is_as_before(self):
        gateway = self.gateway()
        one, _two = self.two()
        gateway.run(one)
        gateway.fip_route.raises_for.add(one.uuid)
        self.assertTrue(gateway.run(
            dataclasses.replace(one, nats=())).broken)
        self.assertEqual({}, gateway.run(one).broken)

    def test_its_trouble_goes_with_the_router(self):
        gateway = self.gateway()
        one, two = self.two()
        gateway.fip_route.raises_for.add(one.uuid)
        self.assertTrue(gateway.run(one, two).broken)
        self.assertEqual({}, gateway.run(two).broken)

    def test_what_is_no_resource_costs_only_its_contribution(self):
        class Careless(drivers.Driver):
            def for_router(self, router, node):
                return [f'route {router.name}']

        gateway = self.gateway()
        gateway.drivers.append(Careless('careless', None))
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertIn('is not a resource', str(outcome.broken))
        self.assertIn(DST, gateway.addresses())

    def test_an_answer_about_what_was_not_asked_costs_only_that(self):
        class Confused(drivers.Driver):
            def for_nats(self, router, nats, node):
                return [(worlds.fip('198.51.100.77'), ())]

        gateway = self.gateway()
        gateway.drivers.append(Confused('confused', None))
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual(['confused'], [name for name, _about
                                        in outcome.broken])
        self.assertIn(DST, gateway.addresses())

    def test_what_nobody_can_make_is_reported(self):
        @dataclasses.dataclass(frozen=True, slots=True)
        class Exotic(resources.Resource):
            name: str
            kind = 'exotic'

            @property
            def key(self):
                return (self.name,)

        class Dreamer(drivers.Driver):
            def for_node(self, node):
                return [Exotic('one')]

        gateway = self.gateway()
        gateway.drivers.append(Dreamer('dreamer', None))
        outcome = gateway.run(worlds.router(fips=[FIP]))
        self.assertEqual(
            ['driver dreamer on node: ValueError: no backend makes resources '
             'of the kind exotic; install the package that has this backend'],
            outcome.degraded)
        self.assertIn(DST, gateway.addresses())

    def test_a_conflict_is_reported_and_changes_nothing_else(self):
        gateway = self.gateway()
        one = worlds.router(1, fips=[FIP])
        two = worlds.router(2, fips=[FIP, '198.51.100.20'])
        outcome = gateway.run(one, two)
        self.assertEqual([HAIRPIN], list(outcome.failures))
        self.assertEqual('fa:16:3e:00:00:01',
                         gateway.world.objects[HAIRPIN].set_dst)
        self.assertIn('198.51.100.20/32', gateway.addresses())
        self.assertTrue(gateway.run(two).settled)
        self.assertEqual('fa:16:3e:00:00:02',
                         gateway.world.objects[HAIRPIN].set_dst)


class Reporting(drivers.Driver):
    """Leaves routers out, and says so."""

    def for_router(self, router, node):
        if not router.nats:
            yield resources.Problem(f'router {router.name} has no NAT')


class ProblemTest(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.made = self.gateway()
        self.made.drivers.append(worlds.driver(
            'reporting', worlds.conf(), Reporting))
        self.made.start()
        self.log = self.useFixture(fixtures.FakeLogger())

    def test_it_lasts_as_long_as_its_reason(self):
        text = f'router {worlds.router().name} has no NAT'
        for _event in range(2):
            outcome = self.made.run(worlds.router())
            self.assertEqual((text,), outcome.problems)
            self.assertIn(text, outcome.degraded)
            # It is nothing that a retry would change.
            self.assertTrue(outcome.settled)
            self.assertIsNone(self.made.reconciler.next_retry())
        self.assertEqual(1, self.log.output.count('Left out: ' + text))
        outcome = self.made.run(worlds.router(fips=[FIP]))
        self.assertEqual([], outcome.degraded)
        self.assertIn('No longer left out: ' + text, self.log.output)

    def test_it_goes_with_its_router(self):
        self.made.run(worlds.router())
        self.assertEqual((), self.made.run().problems)

    def test_it_is_in_the_plan(self):
        _steps, outcome = self.made.reconciler.plan(
            worlds.snapshot(worlds.router()))
        self.assertEqual(1, len(outcome.problems))
