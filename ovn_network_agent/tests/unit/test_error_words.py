# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Errors in words."""

import errno

from oslotest import base

from ovn_network_agent.common import error_words


class ErrorWordsTest(base.BaseTestCase):

    def test_an_error_of_the_system(self):
        for error, text in (
                (FileNotFoundError(errno.ENOENT, 'No such file', '/a'),
                 '/a does not exist'),
                (PermissionError(errno.EACCES, 'Permission denied', b'/a'),
                 '/a: Permission denied'),
                (OSError(errno.ECONNREFUSED, 'staticd of FRR not running'),
                 'staticd of FRR not running'),
                (OSError('no kernel'), 'no kernel'),
                (OSError(), 'OSError')):
            self.assertEqual(text, error_words.text(error))
            self.assertEqual(text, error_words.named(error))

    def test_an_error_that_nobody_expects_has_its_type(self):
        self.assertEqual("KeyError: 'x'", error_words.named(KeyError('x')))
