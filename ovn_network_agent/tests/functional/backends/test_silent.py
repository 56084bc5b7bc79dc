# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Chassis that OVN still has, but that do not answer any more.  Row A-20."""

import time

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import router_rows
from ovn_network_agent.tests.functional.backends import stale
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import schemas
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds

# Of the chassis whose ovn-controller was killed.
KILLED = '77777777-2222-4333-8444-555555555555'
HOST = stale.DEAD
LIMIT = 2
# Milliseconds; long before every other time here.
LONG_AGO = 3_600_000


class SilentTestCase(stale.StaleTestCase):
    """A chassis that answered long ago, and does not any more."""

    reports = True

    def setUp(self):
        super().setUp()
        self.nb_cfg = 0
        self.sb.transact(ovsdb.insert('SB_Global', nb_cfg=0))
        self.appear(KILLED, HOST)
        if self.reports:
            self.raise_nb_cfg()
            self.answer(KILLED, LONG_AGO)
            self.raise_nb_cfg(cloud.CHASSIS, cloud.OTHER)

    def raise_nb_cfg(self, *answering):
        """NB's nb_cfg is raised, ovn-northd copies it, and some answer."""
        self.nb_cfg += 1
        self.sb.transact(ovsdb.update('SB_Global', {}, nb_cfg=self.nb_cfg))
        for name in answering:
            self.answer(name)

    def answer(self, name, age=0, behind=0):
        """What an ovn-controller writes.

        :param age: milliseconds that have passed since
        """
        self.sb.transact(
            ovsdb.delete('Chassis_Private', {'name': name}),
            ovsdb.insert('Chassis_Private', name=name,
                         nb_cfg=self.nb_cfg - behind,
                         nb_cfg_timestamp=int(time.time() * 1000) - age))


class SilentBackendTest(SilentTestCase):
    """What the server says last counts."""

    def setUp(self):
        super().setUp()
        self.eyes_ = self.eyes()
        self.leave('silent', stale.tags(HOST))

    def clean(self, silent=(HOST,)):
        """Remove what is left; what is kept, as its host names."""
        backend = router_rows.StaleRouteBackend(worlds.conf(
            ovn__transaction_timeout=5,
            gateway_drain__silent_chassis_limit=3000))
        backend.attach(backends.Context(
            self.eyes_.databases, frozenset, lambda: cloud.CHASSIS,
            lambda: frozenset({ownership.Owner(HOST)}),
            lambda: frozenset(ownership.Owner(host, KILLED)
                              for host in silent)))
        self.synchronise(self.eyes_)
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


class SilentAgentTest(SilentTestCase, stale.AgentTestCase):
    """The whole loop; no full pass helps."""

    def start(self, limit=LIMIT):
        agent = self.survivor(gateway_drain__silent_chassis_limit=limit)
        self.eventually(lambda: agent.status.reasons == (), 'all is well')
        return agent

    def test_its_rows_are_removed_and_only_these(self):
        for number, (name, host) in enumerate((
                ('gateway', 'gw7.example.org'), ('fresh', 'gw8.example.org'),
                ('unheard', 'gw9.example.org'))):
            self.appear(name, host, f'192.0.2.{20 + number}')
            self.leave(f'r{number}', stale.tags(host))
        self.leave('live', stale.tags(cloud.OTHER_HOSTNAME))
        kept = self.left()
        self.leave('silent', stale.tags(HOST))
        self.cloud.move('lrp-r0', 'gateway')
        self.answer('gateway', LONG_AGO, behind=1)
        self.answer('fresh', behind=1)
        started = time.monotonic()
        self.start()
        self.eventually(lambda: self.left() == kept, self.left)
        # The limit comes first, and then the grace.
        self.assertGreaterEqual(time.monotonic() - started, LIMIT + 1)

    def test_one_that_answers_again_keeps_its_rows(self):
        self.leave('silent', stale.tags(HOST))
        agent = self.survivor(
            grace=30, gateway_drain__silent_chassis_limit=30)
        silence = agent._view._absent.silence
        self.eventually(silence.due_in, 'it counts')
        self.answer(KILLED)
        # Its answer wakes nobody.
        self.cloud.add_router('more')
        self.eventually(lambda: agent._view._absent.silence.due_in() is None,
                        'it does not count any more')

    def test_off(self):
        said = self.useFixture(fixtures.FakeLogger())
        self.leave('silent', stale.tags(HOST))
        agent = self.start(limit=0)
        self.assertNotIn('silent_chassis_limit', said.output)
        with agent._databases['sb'].rows() as sb:
            self.assertNotIn('Chassis_Private', sb)
        self.assertIsNone(agent._view.due_in())
        self.assertEqual(frozenset(), agent._view.silent)

    def test_answers_wake_nobody(self):
        eyes = self.eyes(gateway_drain__silent_chassis_limit=LIMIT)
        self.synchronise(eyes)
        eyes.trigger.wait(0)
        self.raise_nb_cfg(cloud.CHASSIS, cloud.OTHER, KILLED)
        self.synchronise(eyes)
        self.assertIsNone(eyes.trigger.wait(0))
        with eyes.databases['sb'].rows() as sb:
            self.assertEqual({self.nb_cfg}, {
                row.nb_cfg for row in sb['Chassis_Private'].values()})


class SilentSchemaTest(SilentTestCase, stale.AgentTestCase):
    """Of an OVN older than 20.09."""

    reports = False
    schema_changes = {'sb': schemas.without('Chassis_Private')}

    def test_nobody_is_silent(self):
        said = self.useFixture(fixtures.FakeLogger())
        self.leave('silent', stale.tags(HOST))
        self.leave('gone', stale.tags(stale.GONE))
        self.survivor(gateway_drain__silent_chassis_limit=1)
        self.eventually(
            lambda: self.left() == ({('silent', HOST)}, {'lrp-silent'}),
            self.left)
        self.assertEqual(1, said.output.count(
            'silent_chassis_limit has no effect'))
