# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What drivers are asked, and what their mistakes cost."""

import dataclasses
import gc

import fixtures
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.engine import contributions
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import tracking
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

DST = gateways.DST
FIP = gateways.FIP
HAIRPIN = gateways.HAIRPIN


class DriverTest(gateways.ReconcilerTestCase):

    def two(self):
        one = cloud.router(1, fips=[FIP])
        two = cloud.router(2, fips=['198.51.100.20'])
        return one, two

    def test_an_event_on_one_address_costs_that_address(self):
        # A router whose proof is there: before, all addresses count.
        gateway = self.gateway()
        proved = (model.NbDefaultRoute('198.51.100.254', 'lrp-1', True,
                                       cloud.OWNER, cloud.HOSTNAME),)
        nats = tuple(cloud.fip(f'198.51.100.{n}') for n in range(10, 200))
        for wanted, asked in (
                (nats, nats), (nats[1:], ()), (nats[1:100] + nats[101:], ()),
                (nats, (nats[0], nats[100])), (nats, ()), ((), ())):
            del gateway.fip_route.asked_addresses[:]
            gateway.run(cloud.router(nats=wanted, default_routes=proved))
            own = ['198.51.100.1'] if asked is nats else []
            self.assertCountEqual([*own, *(nat.external_ip for nat in asked)],
                                  gateway.fip_route.asked_addresses)
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
            gateway.run(cloud.router(fips=[address]), full=True)
        self.assertEqual(1, len([
            each for each in gc.get_objects()
            if type(each) is resources.Flow and each.dst == f'{address}/32']))

    def test_a_driver_is_asked_about_its_kinds_alone(self):
        asked = []

        class Aloof(drivers.Driver):
            SUBJECTS = (model.GatewayGroup, model.Router)

            def resources(self, subject, node):
                asked.append(type(subject))
                return ()

        gateway = self.gateway()
        gateway.drivers.append(Aloof('aloof', None))
        router = cloud.router(fips=[FIP])
        gateway.run(router)
        self.assertEqual([model.Router], asked)

    def test_an_address_on_which_a_driver_raises_costs_only_itself(self):
        gateway = self.gateway()
        one, two = cloud.fip(FIP), cloud.fip('198.51.100.20')
        gateway.run(cloud.router(nats=(one,)))
        gateway.fip_route.raises_for.add(two.external_ip)
        router = cloud.router(nats=(two,))
        self.assertIn('a bug', gateway.run(router).broken[
            'fip_route', router.uuid, two.external_ip])
        self.assertEqual({'198.51.100.1/32'}, gateway.addresses())
        # Nor at the end of the agent does anything stay.
        gateway.run(router, phase=model.Phase.STOPPED)
        self.assertEqual(set(), gateway.addresses())
        gateway.fip_route.raises_for.clear()
        self.assertTrue(gateway.run(router).settled)
        self.assertEqual({'198.51.100.1/32', '198.51.100.20/32'},
                         gateway.addresses())

    def test_no_proof_while_a_driver_raises(self):
        """The former owner goes on announcing the address."""
        gateway = self.gateway()
        gateway.fip_route.raises_for.add(FIP)
        router = cloud.router(fips=[FIP])
        gateway.run(router)
        self.assertNotIn(gateways.PROOF, gateway.world.objects)
        gateway.fip_route.raises_for.clear()
        gateway.run(router)
        self.assertIn(gateways.PROOF, gateway.world.objects)

    def test_what_ovn_sends_makes_no_difference_to_other_addresses(self):
        """It has each floating IP in nat_addresses, too."""
        gateway = self.gateway()
        router = cloud.router(fips=[FIP, '198.51.100.20'])
        gateway.run(router)
        for sent, asked in (((FIP,), []), ((FIP, '198.51.100.30'),
                                           ['198.51.100.30']), ((), [])):
            del gateway.fip_route.asked[:]
            del gateway.fip_route.asked_addresses[:]
            gateway.run(dataclasses.replace(router, sent=sent))
            self.assertEqual([], gateway.fip_route.asked)
            self.assertEqual(asked, gateway.fip_route.asked_addresses)

    def test_a_default_route_makes_no_difference_to_addresses(self):
        """The agent writes it itself, and the router may have thousands."""
        gateway = self.gateway()
        nats = cloud.fip(FIP), cloud.fip('198.51.100.20')
        router = cloud.router(nats=nats)
        more = cloud.router(nats=(*nats, cloud.fip('198.51.100.21')))
        gateway.run(router)
        for advertised in ('', 'gw2', cloud.HOSTNAME, ''):
            route = model.NbDefaultRoute('198.51.100.254', 'lrp-1', True,
                                         cloud.OWNER, advertised)
            del gateway.fip_route.asked[:]
            del gateway.fip_route.asked_addresses[:]
            gateway.run(dataclasses.replace(router, default_routes=(route,)))
            self.assertEqual([router.uuid], gateway.fip_route.asked)
            self.assertEqual([], gateway.fip_route.asked_addresses)
            del gateway.fip_route.asked[:]
            gateway.run(dataclasses.replace(more, default_routes=(route,)))
            self.assertEqual([], gateway.fip_route.asked)
            self.assertEqual(['198.51.100.21'],
                             gateway.fip_route.asked_addresses)

    def test_the_log_says_why_everything_is_asked_about(self):
        wanted = contributions.Contributions(
            [drivers.Driver('one', None)], tracking.Tracker(), ())
        first = cloud.snapshot()
        wanted.update(first)
        second = dataclasses.replace(first, node=first.node._replace(
            devices=(), hostname='other'))
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
            gateway.reconciler.run(passes.Pass(cloud.snapshot(
                *self.two(), relays=(
                    model.Relay('br-ex', '192.0.2.2', 9, alive),))))
        self.assertEqual([], gateway.fip_route.asked)

    def test_a_driver_that_raises_keeps_what_it_wanted_last(self):
        gateway = self.gateway()
        one, two = self.two()
        gateway.run(one, two)
        gateway.fip_route.raises_for.add(FIP)
        moved = dataclasses.replace(one, ports=(
            cloud.port(1, mac='fa:16:3e:00:00:77'),))
        two = cloud.router(2, fips=['198.51.100.21'])
        outcome = gateway.run(moved, two)
        self.assertIn('a bug', outcome.broken['fip_route', one.uuid, FIP])
        self.assertFalse(outcome.settled)
        self.assertIn(DST, gateway.addresses())
        self.assertEqual(one.ports[0].mac,
                         gateway.world.objects[HAIRPIN].set_dst)
        self.assertIn('198.51.100.21/32', gateway.addresses())
        self.assertNotIn('198.51.100.20/32', gateway.addresses())
        gateway.fip_route.raises_for.clear()
        self.assertTrue(gateway.run(moved, two).settled)
        self.assertEqual('fa:16:3e:00:00:77',
                         gateway.world.objects[HAIRPIN].set_dst)

    def test_a_driver_that_raises_since_the_start(self):
        """What a former run has left stays, and all else goes as ever."""
        gateway = self.gateway()
        one, two = self.two()
        for answers in (False, True):
            gateway.fip_route.raises_for.clear()
            gateway.run(one, two)
            gateway.start()
            gateway.fip_route.raises_for.add(FIP)
            # Before there is a view of OVN; FRR answers late.
            gateway.world.mute.add('frr_static')
            gateway.run(prune=False)
            gateway.run(one, two)
            gateway.world.mute.clear()
            gateway.clock += 60
            gateway.run(one, two)
            self.assertIn(DST, gateway.addresses())
            gateway.run(one)
            self.assertIn(DST, gateway.addresses())
            self.assertNotIn('198.51.100.20/32', gateway.addresses())
            # It stays until the driver answers, or the subject is gone.
            gateway.fip_route.raises_for -= {FIP} if answers else set()
            gateway.run(*[one][:answers])
            self.assertEqual(answers, DST in gateway.addresses())

    def test_a_subject_that_is_unknown_since_the_start(self):
        gateway = self.gateway()
        one, _two = self.two()
        gateway.run(one)
        gateway.start()
        unknown = dataclasses.replace(cloud.snapshot(), unmade=True)
        gateway.reconciler.run(passes.Pass(unknown))
        self.assertIn(DST, gateway.addresses())
        gateway.run()
        self.assertEqual(set(), gateway.addresses())

    def test_what_is_no_resource_costs_only_its_contribution(self):
        class Careless(drivers.Driver):
            SUBJECTS = (model.Router,)

            def resources(self, subject, node):
                return [f'route {subject.name}']

        gateway = self.gateway()
        gateway.drivers.append(Careless('careless', None))
        outcome = gateway.run(cloud.router(fips=[FIP]))
        self.assertIn('is not a resource', str(outcome.broken))
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
            SUBJECTS = (model.Node,)

            def resources(self, subject, node):
                return [Exotic('one')]

        gateway = self.gateway()
        gateway.drivers.append(Dreamer('dreamer', None))
        outcome = gateway.run(cloud.router(fips=[FIP]))
        self.assertEqual(
            ['driver dreamer on node: ValueError: no backend makes resources '
             'of the kind exotic; install the package that has this backend'],
            outcome.degraded)
        self.assertIn(DST, gateway.addresses())

    def test_a_conflict_is_reported_and_changes_nothing_else(self):
        gateway = self.gateway()
        one = cloud.router(1, fips=[FIP])
        two = cloud.router(2, fips=[FIP, '198.51.100.20'])
        self.assertEqual([HAIRPIN], list(gateway.run(one, two).failures))
        self.assertEqual('fa:16:3e:00:00:01',
                         gateway.world.objects[HAIRPIN].set_dst)
        self.assertIn('198.51.100.20/32', gateway.addresses())
        self.assertTrue(gateway.run(two).settled)
        self.assertEqual('fa:16:3e:00:00:02',
                         gateway.world.objects[HAIRPIN].set_dst)


class ProofTest(base.BaseTestCase):
    """The proof of a router, without an engine around it."""

    def setUp(self):
        super().setUp()
        conf = worlds.conf(frr__vrf_name='')
        self.tracker = tracking.Tracker()
        self.made = contributions.Contributions(
            [worlds.driver(name, conf) for name
             in ('fip_route', 'tenant_network')], self.tracker,
            [kind.kind for kinds in worlds.BACKENDS.values()
             for kind in kinds])
        self.router = cloud.router(fips=[FIP])

    def prefixes(self, **tenant):
        """The prefixes that the proof of the router is about."""
        known = model.TenantPrefix(
            self.router.uuid, 'r1', '10.0.0.0/24', '10.0.0.0/24', 'net',
            self.router.ports[0], '198.51.100.1', **tenant)
        self.made.update(model.Snapshot(
            cloud.node(), (self.router.bare,),
            addresses={self.router.uuid: cloud.addresses(self.router)},
            tenants={self.router.uuid: {known.prefix: known}}))
        proof = self.tracker.desired(gateways.PROOF)
        return None if proof is None else proof.prefixes

    def test_it_waits_for_prefixes(self):
        """The former owner announces them until the proof."""
        alone = self.prefixes(withheld='no')
        self.assertIn(f'{FIP}/32', alone)
        self.assertEqual({'10.0.0.0/24', *alone}, {*self.prefixes()})

    def test_a_conflict_of_tenants_is_no_doubt(self):
        alone = self.prefixes(withheld='no')
        for claim in (model.Claim.UNKNOWN, model.Claim.REFUSED):
            self.assertEqual(alone, self.prefixes(rivals=('x',), claim=claim))

    def test_no_proof_while_the_driver_raises(self):
        """Of a prefix that nobody has answered about, nothing is known."""
        self.assertIn('10.0.0.0/24', self.prefixes())
        self.made.broken['tenant_network', self.router.uuid, 'x'] = 'a bug'
        before = self.tracker.desired(gateways.PROOF)
        self.prefixes(tag=4400001)
        self.assertIs(before, self.tracker.desired(gateways.PROOF))


class Reporting(drivers.Driver):
    """Leaves routers out, and says so."""

    SUBJECTS = (model.Router,)

    def resources(self, subject, node):
        if not subject.label:
            yield resources.Problem(f'router {subject.name} has no label')


class ProblemTest(gateways.ReconcilerTestCase):

    def setUp(self):
        super().setUp()
        self.made = self.gateway()
        self.made.drivers.append(worlds.driver(
            'reporting', worlds.conf(), Reporting))
        self.made.start()
        self.log = self.useFixture(fixtures.FakeLogger())

    def test_it_lasts_as_long_as_its_reason(self):
        text = f'router {cloud.router().name} has no label'
        for _event in range(2):
            outcome = self.made.run(cloud.router())
            self.assertEqual((text,), outcome.problems)
            self.assertIn(text, outcome.degraded)
            # It is nothing that a retry would change.
            self.assertTrue(outcome.settled)
            self.assertIsNone(self.made.reconciler.next_retry())
        self.assertEqual(1, self.log.output.count('Left out: ' + text))
        outcome = self.made.run(cloud.router(label='one'))
        self.assertEqual([], outcome.degraded)
        self.assertIn('No longer left out: ' + text, self.log.output)

    def test_it_is_in_the_plan(self):
        _steps, outcome = self.made.reconciler.plan(
            cloud.snapshot(cloud.router()))
        self.assertEqual(1, len(outcome.problems))
