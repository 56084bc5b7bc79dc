# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What chassis left behind that are gone for good, or do not answer."""

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.tests.functional.backends import stale
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.ovn import clouds

DEAD, GONE, LIVE = stale.DEAD, stale.GONE, cloud.OTHER_HOSTNAME
LIMIT = 30


class BackendTest(stale.Backends, clouds.CloudTestCase):

    def keeps(self, **owners):
        """Compare the routes, by router, and their bindings that are left."""
        self.assertEqual(({*owners.items()}, {'lrp-' + each for each
                                              in owners}), self.left())

    def cleans(self, *dead, **more):
        self.assertEqual({}, self.clean(*dead, **more))

    def test_routes_and_bindings_of_the_dead_alone(self):
        """Rows STL-01, STL-09."""
        living = {'live': LIVE, 'ours': cloud.HOSTNAME}
        for router, owner in {'dead': DEAD, 'gone': GONE, **living}.items():
            self.leave(router, stale.tags(owner))
        self.cleans(DEAD)
        self.keeps(gone=GONE, **living)
        self.cleans(DEAD, GONE)
        self.keeps(**living)

    def test_what_is_not_managed_or_of_nobody_stays(self):
        """Row STL-05."""
        self.leave('foreign', {ownership.EXT_ID_CHASSIS: DEAD})
        self.leave('nobodys', {ownership.EXT_ID_MANAGED:
                               ownership.EXT_ID_MANAGED_VALUE})
        self.cleans(DEAD)
        self.keeps(foreign=DEAD, nobodys=None)

    def test_the_binding_of_a_live_route_on_the_same_port_stays(self):
        """Row STL-04, trap T17."""
        self.leave('r1', stale.tags(DEAD))
        self.leave('r1', stale.tags(LIVE), binding=False, router=False)
        self.cleans(DEAD)
        self.keeps(r1=LIVE)

    def test_two_dead_on_the_same_port(self):
        self.leave('r1', stale.tags(DEAD))
        self.leave('r1', stale.tags(GONE), binding=False, router=False)
        self.cleans(DEAD, GONE)
        self.keeps()

    def test_a_binding_elsewhere_is_not_the_routes(self):
        self.leave('r1', stale.tags(DEAD))
        self.nb.transact(ovsdb.insert(
            'Static_MAC_Binding', logical_port='lrp-r1', ip='198.51.100.7',
            mac=stale.MAC, override_dynamic_mac=True))
        self.cleans(DEAD)
        self.assertEqual(['198.51.100.7'], [
            row['ip'] for row in self.nb.rows('Static_MAC_Binding')])

    def test_the_server_is_asked_once_more(self):
        """Row STL-10: whoever says that it is gone, SB has it."""
        self.leave('live', stale.tags(LIVE))
        self.leave('dead', stale.tags(DEAD))
        failures = self.clean(LIVE, DEAD)
        self.assertEqual([LIVE], [ref.key[-1].hostname for ref in failures])
        self.assertIsInstance(*failures.values(), backends.Kept)
        self.keeps(live=LIVE)

    def test_what_a_survivor_writes_meanwhile(self):
        """Row STL-04: its mark, or a further route, which has the binding."""
        for change in (
                lambda: self.nb.update('Logical_Router_Static_Route', {},
                                       external_ids=stale.tags(LIVE)),
                lambda: self.leave('r1', stale.tags(LIVE), binding=False,
                                   router=False)):
            self.leave('r1', stale.tags(DEAD))
            backend = self.agent(DEAD)
            base.meanwhile(backend, change)
            self.cleans(backend=backend)
            self.keeps(r1=LIVE)
            self.cloud.remove_router('r1')
            self.nb.delete('Static_MAC_Binding')


class ViewTest(stale.Rows, clouds.CloudTestCase):
    """When the time of a chassis counts."""

    def setUp(self):
        super().setUp()
        self.leave('dead', stale.tags(DEAD))

    def waits(self, eyes):
        eyes.look()
        return eyes.view.due_in() is not None

    def test_only_while_it_is_gone_and_we_are_there(self):
        """Row STL-03; nobody is condemned by an SB made from nothing."""
        eyes = self.eyes()
        for waits, change in (
                (True, lambda: None),
                (False, lambda: self.appear('third', DEAD)),
                (True, lambda: self.sb.delete('Chassis', hostname=DEAD)),
                (False, lambda: self.sb.delete('Chassis', name=clouds.HERE)),
                (True, self.add_chassis)):
            change()
            self.assertIs(waits, self.waits(eyes))
        self.assertEqual(frozenset(), eyes.view.dead)

    def test_off(self):
        """Row STL-07; without the driver of these rows it is off, too."""
        for options in ({'gateway_drain__stale_chassis_grace_period': 0},
                        {'drivers': ['veth_leak']}):
            eyes = self.eyes(**options)
            self.assertFalse(self.waits(eyes))
            self.assertEqual(frozenset(), eyes.view.dead)

    def test_on_and_off_while_it_runs(self):
        """Row STL-07."""
        eyes = self.eyes()
        for grace, waits in ((0, False), (300, True), (0, False)):
            eyes.conf.set_override('stale_chassis_grace_period', grace,
                                   'gateway_drain')
            self.assertIs(waits, self.waits(eyes))


class SilentBackendTest(stale.Silent, clouds.CloudTestCase):
    """What the server says last counts."""

    def setUp(self):
        super().setUp()
        self.eyes_ = self.eyes()
        self.leave('silent', stale.tags(DEAD))

    def clean(self, silent=(DEAD,)):
        """Remove what is left; what is kept, as its host names."""
        backend = router_rows.StaleRouteBackend(world.conf(
            ovn__transaction_timeout=5,
            gateway_drain__silent_chassis_limit=3000))
        backend.attach(backends.Context(
            self.eyes_.databases, frozenset, lambda: cloud.CHASSIS,
            lambda: frozenset({ownership.Owner(DEAD)}),
            lambda: frozenset(ownership.Owner(host, stale.KILLED)
                              for host in silent)))
        failures = backend.apply(backends.Delta(
            delete=tuple(backend.read(frozenset()))))
        for reason in failures.values():
            self.assertIsInstance(reason, backends.Kept)
        return [ref.key[-1].hostname for ref in failures]

    def keeps(self, silent=(DEAD,)):
        self.assertEqual([DEAD], self.clean(silent))
        self.assertEqual(({('silent', DEAD)}, {'lrp-silent'}), self.left())

    def test_one_that_has_answered_meanwhile(self):
        self.answer(stale.KILLED)
        self.keeps()

    def test_one_that_got_a_gateway_meanwhile(self):
        self.cloud.move('lrp-silent', stale.KILLED)
        self.keeps()

    def test_this_chassis_itself_does_not_answer(self):
        self.answer(cloud.CHASSIS, stale.LONG_AGO, behind=1)
        self.keeps()

    def test_one_that_did_not_count_as_silent(self):
        """It was gone, and is there again."""
        for silent in ((), (GONE,)):
            self.keeps(silent)


class SilentViewTest(stale.Silent, clouds.CloudTestCase):

    def test_one_that_answers_again(self):
        """Answers wake nobody; the next look sees them."""
        self.leave('silent', stale.tags(DEAD))
        eyes = self.eyes(gateway_drain__silent_chassis_limit=LIMIT)
        eyes.look()
        silence = eyes.view._absent.silence
        self.assertIsNotNone(silence.due_in())
        eyes.trigger.wait(0)
        self.raise_nb_cfg(cloud.CHASSIS, cloud.OTHER, stale.KILLED)
        self.assertIsNone(eyes.trigger.wait(0))
        self.assertEqual({self.nb_cfg}, {
            row.nb_cfg for row in eyes.rows('sb', 'Chassis_Private')})
        eyes.look()
        self.assertIsNone(silence.due_in())

    def test_off(self):
        said = self.useFixture(fixtures.FakeLogger())
        self.leave('silent', stale.tags(DEAD))
        eyes = self.eyes()
        eyes.look()
        self.assertNotIn('silent_chassis_limit', said.output)
        with eyes.databases['sb'].rows() as sb:
            self.assertNotIn('Chassis_Private', sb)
        self.assertIsNone(eyes.view.due_in())
        self.assertEqual(frozenset(), eyes.view.silent)


class SchemaTest(stale.Silent, clouds.CloudTestCase):
    """Of an OVN older than 20.09."""

    reports = False
    schema_changes = {'sb': schemas.without('Chassis_Private')}

    def test_nobody_is_silent(self):
        said = self.useFixture(fixtures.FakeLogger())
        self.leave('silent', stale.tags(DEAD))
        self.leave('gone', stale.tags(GONE))
        eyes = self.eyes(gateway_drain__silent_chassis_limit=LIMIT)
        for _look in range(2):
            eyes.look()
        absent = eyes.view._absent
        self.assertIsNone(absent.silence.due_in())
        self.assertIsNotNone(absent.absence.due_in())
        self.assertEqual(1, said.output.count(
            'silent_chassis_limit has no effect'))
