# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The levels of the log, its last lines, and how many there are."""

import io
import logging

import fixtures
from oslo_log import formatters
from oslotest import base

from ovn_network_agent.conf import log_levels
from ovn_network_agent.conf import reload
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.unit.conf import base as confs


class LevelTest(confs.ConfTestCase):

    def setUp(self):
        super().setUp()
        root = logging.getLogger()
        self.addCleanup(root.setLevel, root.level)

    def level(self, text):
        log_levels.apply(self.load('[DEFAULT]\n' + text))
        return logging.getLogger().level

    def test_levels(self):
        for text, level in (('', logging.INFO),
                            ('log_level = debug\n', logging.DEBUG),
                            ('log_level = WARN\n', logging.WARNING),
                            ('log_level = error\n', logging.ERROR),
                            ('log_level = error\ndebug = true\n',
                             logging.DEBUG)):
            self.assertEqual(level, self.level(text), text)

    def test_the_log_is_kept_and_counted_once(self):
        root = logging.getLogger()
        self.addCleanup(setattr, root, 'handlers', root.handlers)
        root.handlers = []
        conf = self.load('[DEFAULT]\n')
        for _again in range(2):
            log_levels.apply(conf)
            for handler in log_levels.last_log, log_levels.log_counts:
                self.assertEqual(1, root.handlers.count(handler))

    def written(self):
        """What the log writes from now on."""
        root, written = logging.getLogger(), io.StringIO()
        self.addCleanup(setattr, root, 'handlers', root.handlers)
        root.handlers = [logging.StreamHandler(written)]
        return written

    def test_a_name_begins_no_line_of_the_log(self):
        written = self.written()
        log_levels.apply(self.load('[DEFAULT]\n'))
        for args in ('r1\n2026-01-01 ERROR\x1b[2J',), ():
            logging.getLogger('test').warning('router %s is here', *args)
        self.assertEqual(['router r1', '  2026-01-01 ERROR\\x1b[2J is here',
                          'router %s is here'],
                         written.getvalue().splitlines())

    def test_an_exception_is_said_once(self):
        written = self.written()
        conf = self.load('[DEFAULT]\nlogging_default_format_string = '
                         '%(levelname)s %(message)s\n')
        logging.getLogger().handlers[0].setFormatter(
            formatters.ContextFormatter(config=conf))
        for _again in range(2):
            log_levels.apply(conf)
        for message in ('route: no memory', 'route: OSError: no memory',
                        'something else'):
            try:
                raise OSError('no memory')
            except OSError:
                logging.getLogger('test').warning(message)
        self.assertEqual(['WARNING route: no memory',
                          'WARNING route: OSError: no memory',
                          'WARNING something else: OSError: no memory'],
                         written.getvalue().splitlines())
        written.truncate(0)
        written.seek(0)
        try:
            raise OSError('line 2: a\nline 3: b')
        except OSError as error:
            logging.getLogger('test').warning('rules: %s', error)
        self.assertEqual(['WARNING rules: line 2: a', '  line 3: b'],
                         written.getvalue().splitlines())

    def test_change_without_a_restart(self):
        conf = self.load('[DEFAULT]\nlog_level = error\n')
        log_levels.apply(conf)
        with open(conf.config_file[0], 'w') as opened:
            opened.write('[DEFAULT]\nlog_level = warn\n')
        reload.reload(conf)
        self.assertEqual(logging.WARNING, logging.getLogger().level)

    def test_lines_are_counted_by_level(self):
        counted = log_levels.LogCounts()
        for level in (logging.DEBUG, logging.INFO, logging.WARNING,
                      logging.WARNING, logging.ERROR):
            counted.handle(logging.LogRecord('x', level, '', 1, 'text', (),
                                             None))
        self.assertEqual({'warning': 2, 'error': 1, 'critical': 0},
                         counted.counts)

    def test_only_the_last_lines_stay(self):
        kept = log_levels.LastLog()
        for number in range(log_levels.KEPT + 3):
            kept.handle(logging.makeLogRecord({'msg': f'line {number}'}))
        self.assertEqual(log_levels.KEPT, len(kept.lines))
        self.assertTrue(kept.lines[0].endswith('line 3'))
        self.assertTrue(kept.lines[-1].endswith(f'line {number}'))


NAME = 'ovn_network_agent.test_temporary_levels'


class TemporaryTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.logger = logging.getLogger(NAME)
        self.logger.setLevel(logging.WARNING)
        self.addCleanup(self.logger.setLevel, logging.NOTSET)
        self.levels = log_levels.Temporary()
        self.addCleanup(self.levels.undo)

    def test_until_it_is_undone(self):
        self.levels.set(NAME, 'debug')
        self.assertEqual(logging.DEBUG, self.logger.level)
        self.assertEqual([(NAME, 'debug', None)], self.levels.now())
        # Once more: the level before the first change returns.
        self.levels.set(NAME, 'error')
        self.levels.undo()
        self.assertEqual((logging.WARNING, []),
                         (self.logger.level, self.levels.now()))

    def former(self):
        waiting.eventually(lambda: self.logger.level == logging.WARNING,
                           'the former level')

    def test_for_some_time(self):
        self.levels.set(NAME, 'debug', 0.2)
        (_name, _level, left), = self.levels.now()
        self.assertTrue(0 < left <= 0.2)
        self.former()
        self.assertEqual([], self.levels.now())

    def test_a_new_time_replaces_the_former(self):
        self.levels.set(NAME, 'debug', 0.1)
        self.levels.set(NAME, 'debug')
        waiting.lasts(lambda: self.assertEqual(logging.DEBUG,
                                               self.logger.level), 0.3)
        self.levels.set(NAME, 'info', 0.1)
        self.former()

    def test_others_follow(self):
        followed = []
        self.levels.follow = lambda *given: followed.append(given)
        self.levels.set(NAME, 'debug')
        self.levels.undo()
        self.assertEqual([(NAME, logging.DEBUG), (NAME, logging.WARNING)],
                         followed)

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
