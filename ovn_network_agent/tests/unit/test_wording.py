# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Numbers and errors in messages."""

import errno

from oslotest import base

from ovn_network_agent.common import wording
from ovn_network_agent.control.reports import text


class CountTest(base.BaseTestCase):

    def test_one_and_others(self):
        self.assertEqual(
            ['0 problems', '1 problem', '2 problems'],
            [wording.count(number, 'problem') for number in range(3)])
        self.assertEqual(
            ['1 address', '2 addresses'],
            [wording.count(number, 'address') for number in (1, 2)])
        self.assertEqual(
            ['1 entry is', '2 entries are'],
            [wording.count(number, 'entry is', 'entries are')
             for number in (1, 2)])

    def test_of_machines(self):
        self.assertIn('1 address of machines', text.of_machines(1))


class ErrorTest(base.BaseTestCase):

    def test_an_error_of_the_system(self):
        for error, expected in (
                (FileNotFoundError(errno.ENOENT, 'No such file', '/a'),
                 '/a does not exist'),
                (PermissionError(errno.EACCES, 'Permission denied', b'/a'),
                 '/a: Permission denied'),
                (OSError(errno.ECONNREFUSED, 'staticd of FRR not running'),
                 'staticd of FRR not running'),
                (OSError('no kernel'), 'no kernel'),
                (OSError(), 'OSError')):
            self.assertEqual(expected, wording.error(error))
            self.assertEqual(expected, wording.typed_error(error))

    def test_an_error_that_nobody_expects_has_its_type(self):
        self.assertEqual("KeyError: 'x'", wording.typed_error(KeyError('x')))
