# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The timers of BFD in NB_Global: what follows from a row."""

import itertools
import types

from oslotest import base

from ovn_network_agent import ownership
from ovn_network_agent.ovn.chassis import bfd

FAST = {'bfd-min-rx': '200', 'bfd-min-tx': '200', 'bfd-mult': '3'}
SLOW = {'bfd-min-rx': '300', 'bfd-min-tx': '100', 'bfd-mult': '4'}
TEXT = 'bfd-min-rx=200 bfd-min-tx=200 bfd-mult=3'


def fleet(options=(), written=(), **requests):
    return bfd.Fleet(dict(options), dict(written), requests)


def numbers(values):
    return tuple(int(values[option]) for option in bfd.OPTIONS)


class DecidedTest(base.BaseTestCase):

    def decided(self, found):
        after = found.decided()
        # Nothing is left to do then.
        self.assertEqual(after, after.decided())
        return after.options, after.written

    def test_the_first_request(self):
        self.assertEqual((FAST, FAST), self.decided(fleet(gw1=numbers(FAST))))

    def test_the_slowest_of_each_value(self):
        wanted = {'bfd-min-rx': '300', 'bfd-min-tx': '200', 'bfd-mult': '4'}
        self.assertEqual((wanted, wanted), self.decided(fleet(
            FAST, FAST, gw1=numbers(FAST), gw2=numbers(SLOW))))

    def test_no_order_of_events_gives_anything_else(self):
        """Agents with different values do not take turns."""
        hosts = {'gw1': numbers(FAST), 'gw2': numbers(SLOW),
                 'gw3': (50, 900, 2)}
        ends = set()
        for order in itertools.permutations(hosts):
            row = fleet()
            for host in order:
                row = row.requesting(host, hosts[host]).decided()
            ends.add(tuple(sorted(row.options.items())))
        self.assertEqual(1, len(ends))

    def test_given_back_with_the_last_request(self):
        both = fleet(gw1=numbers(FAST), gw2=numbers(FAST)).decided()
        one = both.without({'gw1'}).decided()
        self.assertEqual(FAST, one.options)
        self.assertEqual(({}, {}), self.decided(one.without({'gw2'})))

    def test_a_missing_value_comes_back(self):
        left = {'bfd-mult': '3'}
        self.assertEqual((FAST, FAST), self.decided(
            fleet(left, FAST, gw1=numbers(FAST))))

    def test_a_foreign_value_stays_and_none_is_written(self):
        theirs = {'bfd-mult': '5'}
        found = fleet(theirs, gw1=numbers(FAST))
        self.assertEqual((theirs, {}), self.decided(found))
        self.assertEqual(theirs, found.foreign)
        reason = bfd.in_the_way(found)
        self.assertIn('bfd-mult is 5 and not 3', reason)
        self.assertIn('ovn-nbctl remove NB_Global . options bfd-mult"', reason)

    def test_a_value_that_an_operator_has_changed_stays(self):
        changed = {**FAST, 'bfd-mult': '5'}
        found = fleet(changed, FAST, gw1=numbers(FAST))
        self.assertEqual((changed, FAST), self.decided(found))
        # At the end, the agent takes the other two away.
        self.assertEqual(({'bfd-mult': '5'}, {}), self.decided(
            found.without({'gw1'})))

    def test_an_equal_foreign_value_is_in_nobodys_way(self):
        theirs = {'bfd-mult': '3'}
        found = fleet(theirs, gw1=numbers(FAST)).decided()
        self.assertEqual(FAST, found.options)
        self.assertEqual('', bfd.in_the_way(found))
        self.assertEqual(theirs, found.without({'gw1'}).decided().options)

    def test_a_request_that_cannot_be_read_is_still_one(self):
        """A newer agent may have written it."""
        self.assertEqual((FAST, FAST), self.decided(
            fleet(FAST, FAST, gw1=None)))
        self.assertEqual((SLOW, SLOW), self.decided(
            fleet(FAST, FAST, gw1=None, gw2=numbers(SLOW))))


class RowTest(base.BaseTestCase):

    def row(self, options=(), **external_ids):
        return types.SimpleNamespace(
            options=dict(options), external_ids={
                key.replace('_', '-'): value
                for key, value in external_ids.items()})

    def test_read(self):
        row = self.row({**FAST, 'mac_prefix': '0a:00:00'},
                       ovn_network_agent_bfd=TEXT, other='x',
                       ovn_network_agent_bfd_gw1=TEXT)
        self.assertEqual(fleet(FAST, FAST, gw1=numbers(FAST)), bfd.read(row))
        self.assertEqual(['gw1'], bfd.requesters(row))

    def test_what_cannot_be_read(self):
        for text in ('', 'bfd-min-rx=200', TEXT.replace('3', 'x'),
                     TEXT.replace('3', '-3'), TEXT.replace('200', '2' * 12)):
            row = self.row(ovn_network_agent_bfd_gw1=text)
            self.assertEqual({'gw1': None}, bfd.read(row).requests, text)
            # It is not ours to repair.
            self.assertEqual(row.external_ids, bfd.external_ids(
                row.external_ids, bfd.read(row)))

    def test_external_ids(self):
        found = fleet(gw1=numbers(FAST)).decided()
        made = bfd.external_ids({'other': 'x'}, found)
        self.assertEqual({
            'other': 'x', ownership.EXT_ID_BFD: TEXT,
            ownership.EXT_ID_BFD_REQUEST + 'gw1': TEXT}, made)
        self.assertEqual({'other': 'x'}, bfd.external_ids(
            made, found.without({'gw1'}).decided()))

    def test_detection(self):
        self.assertEqual(3000, bfd.detection({}))
        self.assertEqual(600, bfd.detection(FAST))
        self.assertEqual(1200, bfd.detection(SLOW))
        # Open vSwitch sends every 100 ms by default.
        self.assertEqual(300, bfd.detection({'bfd-min-rx': '50'}))
        self.assertRaises(ValueError, bfd.detection, {'bfd-mult': 'x'})
