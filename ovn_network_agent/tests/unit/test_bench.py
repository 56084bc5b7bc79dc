# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Results of the benchmark: statistics, file, ratios, table, messages."""

import dataclasses
import os
import tempfile
import types

from oslotest import base

from tools.bench import addressing
from tools.bench import flow_messages
from tools.bench import ports
from tools.bench import results
from tools.bench import table

KEY = results.Key('one added', 'all', 'ms', 'ours', 'kernel', 100, 10)
FLOOR = dataclasses.replace(KEY, subject='floor')
PEER = dataclasses.replace(KEY, subject='peer', method='')
OTHER = dataclasses.replace(KEY, subject='v1.0')


def run(found):
    """A run with some values.

    :param found: dict of key to list of numbers
    """
    made = results.Run({'at': 'now'})
    for key, some in found.items():
        for value in some:
            made.add(key, value)
    return made


class SummaryTest(base.BaseTestCase):

    def test_of_a_hundred(self):
        self.assertEqual(
            results.Summary(100, 50.5, 90, 99, 1, 100),
            results.summary(list(range(100, 0, -1))))

    def test_the_worst_of_a_few_is_no_percentile_that_is_better(self):
        self.assertEqual(9, results.summary([1, 9, 2]).p99)

    def test_of_nothing(self):
        self.assertRaises(ValueError, results.summary, [])


class FileTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, 'new', 'results.json')

    def test_a_second_call_adds_a_run(self):
        results.append(self.path, run({KEY: [1.5, 2]}))
        results.append(self.path, run({KEY: [3], FLOOR: [4]}))
        runs = results.by_run(results.read(self.path))
        self.assertEqual([{KEY: [1.5, 2]}, {KEY: [3], FLOOR: [4]}], runs)
        self.assertEqual([1.5, 2, 3], results.values(runs, KEY))

    def test_failures_are_kept(self):
        made = run({})
        made.fail('no reason')
        results.append(self.path, made)
        self.assertEqual(['no reason'], results.read(self.path)['runs'][0][
            'failures'])

    def test_without_a_file_nothing_is_known(self):
        self.assertEqual([], results.read(self.path)['runs'])

    def test_another_file_is_left_alone(self):
        os.makedirs(os.path.dirname(self.path))
        for text in ('[]', '{}', 'no JSON'):
            with open(self.path, 'w') as opened:
                opened.write(text)
            self.assertRaises(ValueError, results.append, self.path, run({}))
            with open(self.path) as opened:
                self.assertEqual(text, opened.read())


class RatioTest(base.BaseTestCase):

    def test_only_runs_with_both_count(self):
        runs = [{KEY: [10, 30], FLOOR: [10]}, {KEY: [1000]},
                {FLOOR: [99]}]
        self.assertEqual(2, results.ratio(runs, KEY, FLOOR))

    def test_never_together(self):
        self.assertIsNone(results.ratio([{KEY: [1]}, {FLOOR: [1]}], KEY,
                                        FLOOR))

    def test_to_nothing_there_is_none(self):
        self.assertIsNone(results.ratio([{KEY: [1], FLOOR: [0]}], KEY,
                                        FLOOR))


class TableTest(base.BaseTestCase):

    def rows(self, found):
        document = {'runs': [run(found).document()]}
        titles, *rows = table.lines(document)
        self.assertIn('median', titles)
        return rows

    def test_ratios(self):
        rows = {row.split()[4] + row.split()[5]: row.split()
                for row in self.rows({KEY: [20], FLOOR: [10], PEER: [400],
                                      OTHER: [40]})}
        self.assertEqual(['2', '20', '0.5'], rows['ourskernel'][-3:])
        self.assertEqual(['1', '40'], rows['floorkernel'][-2:])

    def test_places_that_are_not_asked_for(self):
        document = {'runs': [run({dataclasses.replace(
            KEY, place='flow'): [1]}).document()]}
        self.assertEqual(1, len(table.lines(document, ('flow',))))
        self.assertEqual(2, len(table.lines(document)))

    def test_numbers(self):
        self.assertEqual(['0.0123', '12.3', '123', '12,346'], [
            table.number(value) for value in (
                0.01234, 12.34, 123.4, 12345.6)])


class AddressesTest(base.BaseTestCase):

    def test_a_thousand_routers_have_valid_addresses_of_their_own(self):
        found = addressing.gateways(1000)
        self.assertEqual(1000, len(set(found)))
        for address in found:
            self.assertTrue(all(0 <= int(part) <= 255
                                for part in address.split('.')), address)
        self.assertEqual(set(), set(found) & set(
            addressing.addresses(0, addressing.FIRST + 11000)))

    def test_too_many(self):
        self.assertRaises(ValueError, addressing.gateways, 32001)
        self.assertRaises(ValueError, addressing.gateways, -1)

    def test_all_are_dealt_out_with_and_without_routers(self):
        for routers in (0, 3):
            dealt = []
            addressing.fill(types.SimpleNamespace(
                routers=routers, add_fips=lambda some, _router, dealt=dealt:
                    dealt.extend(some)), list('abcdefg'))
            self.assertEqual(list('abcdefg'), sorted(dealt))

    def test_each_port_has_a_name_a_mac_and_a_key_of_its_own(self):
        some = addressing.addresses(0, addressing.FIRST + 20000)
        for of in (ports._port, ports._mac, ports._number):
            self.assertEqual(len(some), len(set(map(of, some))))
        self.assertLess(ports._FIRST_KEY + max(map(ports._number, some)),
                        1 << 15)
        self.assertEqual('fa:16:3e:01:01:02 198.18.1.2',
                         ports._mac('198.18.1.2'))


class FlowMessageTest(base.BaseTestCase):

    def test_each_says_its_length(self):
        data = flow_messages.changes(['192.0.2.1', '192.0.2.2'], True)
        lengths = []
        while data:
            length = int.from_bytes(data[2:4])
            lengths.append(length)
            data = data[length:]
        self.assertEqual([72, 72], lengths)
