# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Chassis that OVN still has, but that do not answer any more."""

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.tests.functional.backends import stale
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.ovn import clouds

HOST, KILLED, LONG_AGO = stale.DEAD, stale.KILLED, stale.LONG_AGO
LIMIT = 30


class SilentBackendTest(stale.Silent, clouds.CloudTestCase):
    """What the server says last counts."""

    def setUp(self):
        super().setUp()
        self.eyes_ = self.eyes()
        self.leave('silent', stale.tags(HOST))

    def clean(self, silent=(HOST,)):
        """Remove what is left; what is kept, as its host names."""
        backend = router_rows.StaleRouteBackend(world.conf(
            ovn__transaction_timeout=5,
            gateway_drain__silent_chassis_limit=3000))
        backend.attach(backends.Context(
            self.eyes_.databases, frozenset, lambda: cloud.CHASSIS,
            lambda: frozenset({ownership.Owner(HOST)}),
            lambda: frozenset(ownership.Owner(host, KILLED)
                              for host in silent)))
        failures = backend.apply(backends.Delta(
            delete=tuple(backend.read(frozenset()))))
        for reason in failures.values():
            self.assertIsInstance(reason, backends.Kept)
        return [ref.key[-1].hostname for ref in failures]

    def test_one_that_has_answered_meanwhile(self):
        self.answer(KILLED)
        self.assertEqual([HOST], self.clean())
        self.assertEqual(({('silent', HOST)}, {'lrp-silent'}), self.left())

    def test_one_that_got_a_gateway_meanwhile(self):
        self.cloud.move('lrp-silent', KILLED)
        self.assertEqual([HOST], self.clean())

    def test_this_chassis_itself_does_not_answer(self):
        self.answer(cloud.CHASSIS, LONG_AGO, behind=1)
        self.assertEqual([HOST], self.clean())

    def test_one_that_did_not_count_as_silent(self):
        """It was gone, and is there again."""
        for silent in ((), (stale.GONE,)):
            self.assertEqual([HOST], self.clean(silent))


class ViewTest(stale.Silent, clouds.CloudTestCase):

    def test_one_that_answers_again(self):
        """Answers wake nobody; the next look sees them."""
        self.leave('silent', stale.tags(HOST))
        eyes = self.eyes(gateway_drain__silent_chassis_limit=LIMIT)
        eyes.look()
        silence = eyes.view._absent.silence
        self.assertIsNotNone(silence.due_in())
        eyes.trigger.wait(0)
        self.raise_nb_cfg(cloud.CHASSIS, cloud.OTHER, KILLED)
        self.assertIsNone(eyes.trigger.wait(0))
        self.assertEqual({self.nb_cfg}, {
            row.nb_cfg for row in eyes.rows('sb', 'Chassis_Private')})
        eyes.look()
        self.assertIsNone(silence.due_in())

    def test_off(self):
        said = self.useFixture(fixtures.FakeLogger())
        self.leave('silent', stale.tags(HOST))
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
        self.leave('silent', stale.tags(HOST))
        self.leave('gone', stale.tags(stale.GONE))
        eyes = self.eyes(gateway_drain__silent_chassis_limit=LIMIT)
        for _look in range(2):
            eyes.look()
        absent = eyes.view._absent
        self.assertIsNone(absent.silence.due_in())
        self.assertIsNotNone(absent.absence.due_in())
        self.assertEqual(1, said.output.count(
            'silent_chassis_limit has no effect'))
