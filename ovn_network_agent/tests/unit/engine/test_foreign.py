# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drivers and backends are foreign code: what each may do wrong, alone."""

import dataclasses

import fixtures
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.tests.unit import cloud


@dataclasses.dataclass(frozen=True, slots=True)
class Thing(resources.Resource):
    name: str

    kind = 'thing'

    @property
    def key(self):
        return (self.name,)


@dataclasses.dataclass(frozen=True, slots=True)
class Keyless(resources.Resource):
    kind = 'keyless'


class Things(backends.Backend):
    """Things that exist only here.

    :ivar answer: function(delta) that apply() answers with
    """

    name = 'things'
    kinds = (Thing, Keyless)

    def __init__(self, answer=lambda delta: {}, error=None):
        super().__init__(None)
        self._answer = answer
        self._error = error
        self.closed = False

    def read(self, known):
        return []

    def apply(self, delta):
        return self._answer(delta)

    def close(self):
        self.closed = True
        if self._error:
            raise self._error


class Wanting(drivers.Driver):
    """Wants what it was made with."""

    SUBJECTS = (model.Node,)

    def __init__(self, *wanted):
        super().__init__('wanting', None)
        self._wanted = wanted

    def resources(self, subject, node):
        return self._wanted


class ForeignTest(base.BaseTestCase):

    def make(self, backend, *wanted):
        made = reconciler.Reconciler([Wanting(*wanted)], [backend], print)
        self.addCleanup(made.close)
        return made

    def degraded(self, backend, *wanted):
        """Reasons after a pass, a list of str."""
        made = self.make(backend, *wanted)
        return made.run(passes.Pass(cloud.snapshot())).degraded

    def test_a_forgotten_answer_costs_the_backend_alone(self):
        reason = ('TypeError: apply() answered None, which is no dict of Ref '
                  'to reason')
        self.assertEqual(
            ['things: ' + reason, 'thing one: ' + reason],
            self.degraded(Things(lambda delta: None), Thing('one')))

    def test_a_reason_under_a_resource_is_no_success(self):
        reasons = self.degraded(Things(
            lambda delta: dict.fromkeys(delta.create, 'is full')),
            Thing('one'))
        self.assertIn('is full', ' '.join(reasons))
        self.assertIn('no dict of Ref', ' '.join(reasons))

    def test_the_same_of_one_that_works_beside_the_loop(self):
        backend = Things(lambda delta: None)
        backend.system = 'shelf'
        self.assertIn('no dict of Ref',
                      ' '.join(self.degraded(backend, Thing('one'))))

    def test_a_class_without_a_key_is_named(self):
        self.assertEqual(
            ['driver wanting on node: NotImplementedError: the class Keyless '
             'has no property key'], self.degraded(Things(), Keyless()))

    def test_the_same_failure_is_logged_in_full_once(self):
        log = self.useFixture(fixtures.FakeLogger())
        made = self.make(Things(), Keyless())
        for _ in range(3):
            made.run(passes.Pass(cloud.snapshot()))
        self.assertEqual(1, log.output.count('Driver wanting failed on node'))

    def test_an_end_that_fails_leaves_the_others_theirs(self):
        first, second = Things(error=OSError('stuck')), Things()
        second.name, second.kinds = 'others', ()
        made = reconciler.Reconciler([], [first, second], print)
        made.close()
        self.assertTrue(second.closed)
