# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Levels of the log for some time."""

import logging

import fixtures
from oslotest import base

from ovn_network_agent.conf import log_levels
from ovn_network_agent.tests import waiting

NAME = 'ovn_network_agent.test_temporary_levels'


class TemporaryTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.logger = logging.getLogger(NAME)
        self.logger.setLevel(logging.WARNING)
        self.addCleanup(self.logger.setLevel, logging.NOTSET)
        self.levels = log_levels.Temporary()
        self.addCleanup(self.levels.undo)
        self.followed = []

    def test_until_it_is_undone(self):
        self.levels.set(NAME, 'debug')
        self.assertEqual(logging.DEBUG, self.logger.level)
        self.assertEqual([(NAME, 'debug', None)], self.levels.now())
        # Once more: the level before the first change returns.
        self.levels.set(NAME, 'error')
        self.levels.undo()
        self.assertEqual((logging.WARNING, []),
                         (self.logger.level, self.levels.now()))

    def test_for_some_time(self):
        self.levels.set(NAME, 'debug', 0.2)
        (_name, _level, left), = self.levels.now()
        self.assertTrue(0 < left <= 0.2)
        waiting.eventually(lambda: self.logger.level == logging.WARNING,
                           'the former level')
        self.assertEqual([], self.levels.now())

    def test_a_new_time_replaces_the_former(self):
        self.levels.set(NAME, 'debug', 0.1)
        self.levels.set(NAME, 'debug')
        waiting.lasts(lambda: self.assertEqual(logging.DEBUG,
                                               self.logger.level), 0.3)
        self.levels.set(NAME, 'info', 0.1)
        waiting.eventually(lambda: self.logger.level == logging.WARNING,
                           'the former level')

    def test_others_follow(self):
        self.levels.follow = lambda *given: self.followed.append(given)
        self.levels.set(NAME, 'debug')
        self.levels.undo()
        self.assertEqual([(NAME, logging.DEBUG), (NAME, logging.WARNING)],
                         self.followed)

    def test_others_that_cannot_follow(self):
        def fail(name, level):
            raise OSError('gone')
        self.levels.follow = fail
        log = self.useFixture(fixtures.FakeLogger())
        self.levels.set(NAME, 'debug')
        self.assertEqual(logging.DEBUG, self.logger.level)
        self.assertIn('was not set everywhere', log.output)
        self.levels.undo()
        self.assertEqual(logging.WARNING, self.logger.level)
