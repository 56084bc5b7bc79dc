# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The timers of BFD: what follows from NB_Global, and backend bfd_timers.

With agents that have requests of their own, and with operators.
"""

import itertools
import types

from oslotest import base as oslo

from ovn_network_agent.ovn.chassis import bfd as timers
from ovn_network_agent.tests.functional.backends import bfd
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.unit.ovn import clouds

FAST, TEXT = bfd.FAST, bfd.TEXT
MIXED = {'bfd-min-rx': '300', 'bfd-min-tx': '100', 'bfd-mult': '4'}


def fleet(options=(), written=(), **requests):
    return timers.Fleet(dict(options), dict(written), requests)


def numbers(values):
    return tuple(int(values[option]) for option in timers.OPTIONS)


class DecidedTest(oslo.BaseTestCase):

    def test_the_slowest_of_each_value(self):
        """In any order of events: agents with other values take no turns."""
        hosts = {'gw1': numbers(FAST), 'gw2': numbers(MIXED),
                 'gw3': (50, 900, 2)}
        for order in itertools.permutations(hosts):
            row = fleet()
            for host in order:
                row = row.requesting(host, hosts[host]).decided()
            self.assertEqual({'bfd-min-rx': '300', 'bfd-min-tx': '900',
                              'bfd-mult': '4'}, row.options)
            # Nothing is left to do then.
            self.assertEqual(row, row.decided())

    def test_an_equal_foreign_value_is_in_nobodys_way(self):
        theirs = {'bfd-mult': '3'}
        found = fleet(theirs, gw1=numbers(FAST)).decided()
        self.assertEqual(FAST, found.options)
        self.assertEqual('', timers.in_the_way(found))
        self.assertEqual(theirs, found.without({'gw1'}).decided().options)

    def test_a_request_that_cannot_be_read_is_still_one(self):
        """A newer agent may have written it."""
        for more, wanted in (({}, FAST), ({'gw2': numbers(MIXED)}, MIXED)):
            after = fleet(FAST, FAST, gw1=None, **more).decided()
            self.assertEqual((wanted, wanted, after), (
                after.options, after.written, after.decided()))


class RowTest(oslo.BaseTestCase):

    def test_what_cannot_be_read(self):
        for text in ('', 'bfd-min-rx=200', TEXT.replace('3', 'x'),
                     TEXT.replace('3', '-3'), TEXT.replace('200', '2' * 12)):
            row = types.SimpleNamespace(
                options={}, external_ids={bfd.REQUEST + 'gw1': text})
            self.assertEqual({'gw1': None}, timers.read(row).requests, text)
            # It is not ours to repair.
            self.assertEqual(row.external_ids, timers.external_ids(
                row.external_ids, timers.read(row)))

    def test_detection(self):
        for options, milliseconds in (
                ({}, 3000), (FAST, 600), (MIXED, 1200),
                # Open vSwitch sends every 100 ms by default.
                ({'bfd-min-rx': '50'}, 300)):
            self.assertEqual(milliseconds, timers.detection(options))
        self.assertRaises(ValueError, timers.detection, {'bfd-mult': 'x'})


class BackendTest(bfd.Agents, clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.add_row()

    def holds(self, options, *keys):
        """Compare the options, and the keys of marks, which have TEXT."""
        self.assertEqual((options, dict.fromkeys(keys, TEXT)),
                         (self.options(), self.marks()))

    def test_one_agent(self):
        agent = self.agent()
        self.assertEqual([], self.found(agent))
        self.assertEqual({}, self.create(agent, self.wanted()))
        self.holds(FAST, *bfd.ONE)
        self.assertEqual([self.wanted()], self.found(agent))
        before = self.nb.content()
        self.assertEqual({}, self.create(agent, self.wanted()))
        self.assertEqual(before, self.nb.content())
        self.assertEqual({}, self.delete(agent, self.wanted()))
        self.holds({})
        self.assertEqual([], self.found(agent))

    def test_the_last_of_two_gives_back(self):
        one, two = self.agent(), self.agent(bfd.OTHER)
        self.create(one, self.wanted())
        self.create(two, self.wanted(bfd.OTHER))
        self.delete(one, self.wanted())
        self.holds(FAST, bfd.MARK, bfd.REQUEST + bfd.OTHER)
        self.assertEqual([self.wanted(bfd.OTHER)], self.found(two))
        self.delete(two, self.wanted(bfd.OTHER))
        self.holds({})

    def test_different_values_are_said_and_take_no_turns(self):
        one, two = self.agent(), self.agent(bfd.OTHER)
        self.create(one, self.wanted())
        self.create(two, self.wanted(bfd.OTHER, bfd.SLOW))
        self.assertEqual(bfd.SLOW, self.options())
        before = self.nb.rows('NB_Global')
        for agent in (one, two) * 3:
            # Nothing is astray, so the engine changes nothing.
            self.assertEqual([None], [r.astray for r in self.found(agent)])
            self.create(agent, *(
                self.wanted(r.chassis, FAST if agent is one else bfd.SLOW)
                for r in self.found(agent)))
        # Also the version of the row.
        self.assertEqual(before, self.nb.rows('NB_Global'))
        said = [line for line in self.log.output.splitlines()
                if 'request different timers' in line]
        self.assertEqual(2, len(said), said)
        self.assertIn(f'this one 200/200 ms x 3, {bfd.OTHER} 300/300 ms x 4; '
                      'the slowest values count, 300/300 ms x 4', said[0])
        self.create(two, self.wanted(bfd.OTHER))
        self.assertEqual(FAST, self.options())
        self.found(one)
        self.assertIn('No other agent requests other timers', self.log.output)

    def test_a_foreign_value_stays(self):
        self.set_options({'bfd-mult': '5'})
        agent = self.agent()
        failure, = self.create(agent, self.wanted()).values()
        self.assertIn('bfd-mult is 5 and not 3', failure)
        self.assertIn('ovn-nbctl remove NB_Global . options bfd-mult"',
                      failure)
        self.holds({'bfd-mult': '5'}, bfd.REQUEST + bfd.HERE)
        self.assertIn('bfd-mult is 5', self.found(agent)[0].astray)
        # The operator leaves it to the agent.
        self.set_options({})
        self.assertEqual({}, self.repair(agent))
        self.assertEqual(FAST, self.options())

    def test_what_an_operator_changes_stays(self):
        agent = self.agent()
        self.create(agent, self.wanted())
        changed = {**FAST, 'bfd-min-rx': '500'}
        self.set_options(changed)
        failure, = self.repair(agent).values()
        self.assertIn('bfd-min-rx is 500 and not 200', failure)
        self.holds(changed, *bfd.ONE)
        # At the end, the agent takes the other two away.
        self.delete(agent, self.wanted())
        self.holds({'bfd-min-rx': '500'})

    def test_a_value_that_is_gone_comes_back(self):
        agent = self.agent()
        self.create(agent, self.wanted())
        self.set_options({'bfd-min-rx': '200'})
        self.assertEqual({}, self.repair(agent))
        self.holds(FAST, *bfd.ONE)
        self.assertEqual([self.wanted()], self.found(agent))

    def test_further_requests_do_not_refuse_each_other(self):
        """Agents of a large fleet that start at once write the same row."""
        self.create(self.agent(bfd.DEAD), self.wanted(bfd.DEAD))
        one, again = self.agent(), []
        two = self.agent(bfd.OTHER, eyes=self.eyes())
        base.meanwhile(
            one, lambda: self.create(two, self.wanted(bfd.OTHER)),
            lambda: again.append('the first transaction was refused'))
        self.assertEqual({}, self.create(one, self.wanted()))
        self.assertEqual([], again)
        self.assertEqual(bfd.BOTH | {bfd.MARK, bfd.REQUEST + bfd.DEAD},
                         self.marks().keys())

    def test_the_last_one_gives_back_meanwhile(self):
        """The new request stays, and the row is astray and repaired."""
        last, one = self.agent(bfd.DEAD, eyes=self.eyes()), self.agent()
        self.create(last, self.wanted(bfd.DEAD))
        base.meanwhile(
            one, lambda: self.delete(last, self.wanted(bfd.DEAD)))
        self.assertEqual({}, self.create(one, self.wanted()))
        self.assertEqual({}, self.options())
        self.assertEqual({}, self.repair(one))
        self.holds(FAST, *bfd.ONE)

    def test_an_operator_is_faster(self):
        agent = self.agent()
        base.meanwhile(agent, lambda: self.set_options({'bfd-mult': '5'}))
        failure, = self.create(agent, self.wanted()).values()
        self.assertIn('bfd-mult is 5', failure)
        self.assertEqual({'bfd-mult': '5'}, self.options())

    def test_the_request_of_a_dead_chassis(self):
        self.create(self.agent(bfd.DEAD), self.wanted(bfd.DEAD, bfd.SLOW))
        self.create(self.agent(), self.wanted())
        self.assertEqual(bfd.SLOW, self.options())
        self.assertEqual({}, self.repair(self.agent(dead=(bfd.DEAD,))))
        self.holds(FAST, *bfd.ONE)

    def test_a_database_without_the_row(self):
        self.nb.delete('NB_Global')
        agent = self.agent()
        self.assertEqual([], self.found(agent))
        failure, = self.create(agent, self.wanted()).values()
        self.assertIn('no row NB_Global', failure)
        self.assertEqual({}, self.delete(agent, self.wanted()))
