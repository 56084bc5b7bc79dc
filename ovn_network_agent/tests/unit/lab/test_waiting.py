# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A wait ends when its condition holds, and with nothing else."""

from oslotest import base

from lab import waiting


class WaitTest(base.BaseTestCase):

    def after(self, *answers):
        """A condition that gives these answers, one at each look."""
        left = list(answers)

        def look():
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        return look

    def wait(self, check, timeout=60):
        return waiting.wait_until('it is so', check, timeout, 0)

    def test_what_raises_does_not_hold_yet(self):
        self.assertEqual('there', self.wait(self.after(
            AssertionError('early'), LookupError('early'), StopIteration(),
            ValueError('early'), None, 'there')))

    def test_assertions_of_a_test(self):
        seen = iter(range(10))

        def look():
            self.assertIn('5', str(next(seen)))
            return True
        self.assertTrue(self.wait(look))

    def test_the_last_one_is_told(self):
        why = AssertionError('still 1')
        raised = self.assertRaises(
            waiting.NodeError, self.wait, self.after(why), timeout=-1)
        self.assertIs(why, raised.__cause__)
        self.assertIn('it is so', str(raised))

    def test_every_other_error_ends_the_wait(self):
        self.assertRaises(OSError, self.wait, self.after(OSError('broken')))
