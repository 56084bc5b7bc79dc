# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The helpers that tests wait with."""

import itertools

from oslotest import base

from ovn_network_agent.ovsdb import connection
from ovn_network_agent.tests import waiting


class EventuallyTest(base.BaseTestCase):

    def test_the_value_of_the_condition(self):
        numbers = itertools.count()
        self.assertEqual(3, waiting.eventually(
            lambda: max(next(numbers) - 1, 0) // 3 * 3, 'three'))

    def test_a_database_that_is_not_connected_yet(self):
        answers = iter([connection.Unavailable('nb'), 'rows'])

        def ask():
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        self.assertEqual('rows', waiting.eventually(ask, 'rows'))

    def test_what_does_not_come(self):
        error = self.assertRaises(
            AssertionError, waiting.eventually, lambda: False, 'spring', 0)
        self.assertIn('spring', str(error))


class LastsTest(base.BaseTestCase):

    def test_it_looks_more_than_once(self):
        looks = []
        waiting.lasts(lambda: looks.append(1), 5 * waiting.INTERVAL)
        self.assertGreater(len(looks), 1)

    def test_what_does_not_last(self):
        left = iter('ab')
        self.assertRaises(StopIteration, waiting.lasts,
                          lambda: next(left), 60)
