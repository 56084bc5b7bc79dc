# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The row NB_Global of the tests of BFD timers."""

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.northbound import nb_global
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world

HERE, OTHER, DEAD = cloud.CHASSIS, cloud.OTHER, 'gw3'
FAST = {'bfd-min-rx': '200', 'bfd-min-tx': '200', 'bfd-mult': '3'}
SLOW = {'bfd-min-rx': '300', 'bfd-min-tx': '300', 'bfd-mult': '4'}
TEXT = 'bfd-min-rx=200 bfd-min-tx=200 bfd-mult=3'
MARK = ownership.EXT_ID_BFD
REQUEST = ownership.EXT_ID_BFD_REQUEST
# The keys with one request, and with two.
ONE = {MARK, REQUEST + HERE}
BOTH = {MARK, REQUEST + HERE, REQUEST + OTHER}
# Of other programs.
KEPT = {'mac_prefix': '0a:00:00'}
ALSO_KEPT = {'somebody': 'else'}


class Row:
    """The row NB_Global of a test."""

    def add_row(self, **options):
        self.nb.transact(ovsdb.insert(
            'NB_Global', options=ovsdb.ovsdb_dict({**KEPT, **options}),
            external_ids=ovsdb.ovsdb_dict(ALSO_KEPT)))

    def set_options(self, options):
        """An operator writes the options, and leaves the marks."""
        self.nb.transact(ovsdb.update('NB_Global', {}, options=(
            ovsdb.ovsdb_dict({**KEPT, **options}))))

    def options(self):
        """The options of BFD, dict; the others are as they were."""
        found = dict(self.nb.rows('NB_Global')[0]['options'][1])
        self.assertLessEqual(KEPT.items(), found.items())
        return {key: value for key, value in found.items()
                if key not in KEPT}

    def marks(self):
        """The external_ids of agents, dict; the others are as they were."""
        found = dict(self.nb.rows('NB_Global')[0]['external_ids'][1])
        self.assertLessEqual(ALSO_KEPT.items(), found.items())
        return {key: value for key, value in found.items()
                if key not in ALSO_KEPT}

    def become(self, options):
        """Wait for the options of BFD."""
        self.eventually(lambda: self.options() == options,
                        lambda: (self.options(), self.marks()))


class Agents(Row):
    """Mix-in for a test case with a cloud: backends of some chassis."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.eyes_ = self.eyes()

    def add_row(self, **options):
        super().add_row(**options)
        # A request without the row is refused.
        self.synchronise(self.eyes_)

    def agent(self, chassis=HERE, dead=(), eyes=None):
        made = nb_global.BfdTimersBackend(world.conf(
            ovn__transaction_timeout=5))
        made.attach(backends.Context(
            (eyes or self.eyes_).databases, frozenset, lambda: chassis,
            lambda: frozenset(ownership.Owner(chassis=name)
                              for name in dead)))
        return made

    def wanted(self, chassis=HERE, values=FAST):
        return resources.BfdTimers(chassis, *map(int, values.values()))

    def create(self, agent, *wanted):
        return agent.apply(backends.Delta(create=wanted))

    def delete(self, agent, *unwanted):
        return agent.apply(backends.Delta(delete=unwanted))

    def found(self, agent):
        self.synchronise(self.eyes_)
        return agent.read(frozenset())

    def repair(self, agent):
        """What the engine makes of a resource that is astray."""
        one, = self.found(agent)
        self.assertTrue(one.astray)
        return agent.apply(backends.Delta(
            update=((one, self.wanted(one.chassis)),)))
