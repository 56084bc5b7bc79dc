# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When to try again what failed."""

from oslotest import base

from ovn_network_agent.common import backoff

ALL = {'a', 'b'}


class RetriesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.now = 100.0
        self.retries = backoff.Retries(lambda: self.now)

    def test_nothing_failed(self):
        self.retries.note(set(), ALL)
        self.assertIsNone(self.retries.due_in())
        self.assertEqual([], self.retries.take_due())
        self.assertFalse(self.retries.waiting('a'))

    def test_pauses_double_up_to_a_minute(self):
        pauses = []
        for _attempt in range(8):
            self.retries.note({'a'}, ALL)
            pauses.append(self.retries.due_in())
            self.now += self.retries.due_in()
            self.assertEqual(['a'], self.retries.take_due())
        self.assertEqual([1, 2, 4, 8, 16, 32, 60, 60], pauses)

    def test_success_forgets(self):
        for _attempt in range(3):
            self.retries.note({'a'}, ALL)
            self.now += 60
            self.retries.take_due()
        self.retries.note(set(), ALL)
        self.retries.note({'a'}, ALL)
        self.assertEqual(1, self.retries.due_in())

    def test_passes_for_other_reasons_change_nothing(self):
        self.retries.note({'a'}, ALL)
        self.now += 0.75
        self.retries.note({'a'}, ALL)
        self.assertEqual(0.25, self.retries.due_in())
        self.assertTrue(self.retries.waiting('a'))
        self.assertFalse(self.retries.waiting('b'))

    def test_names_are_independent(self):
        self.retries.note({'a'}, ALL)
        self.now += 0.5
        self.retries.note({'a', 'b'}, ALL)
        self.now += 0.5
        self.assertEqual(['a'], self.retries.take_due())
        self.assertEqual(0.5, self.retries.due_in())
        self.retries.note({'b'}, ALL)
        self.assertEqual(0.5, self.retries.due_in())

    def test_what_is_overdue_is_due_at_once(self):
        self.retries.note({'a'}, ALL)
        self.now += 10
        self.assertEqual(0, self.retries.due_in())
        self.assertFalse(self.retries.waiting('a'))
