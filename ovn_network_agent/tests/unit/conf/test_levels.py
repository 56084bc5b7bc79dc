# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From which severity on the program logs."""

import io
import logging

from oslo_log import formatters

from ovn_network_agent.conf import log_levels
from ovn_network_agent.conf import reload
from ovn_network_agent.tests.unit.conf import base


class LevelTest(base.ConfTestCase):

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

    def test_a_name_begins_no_line_of_the_log(self):
        root, written = logging.getLogger(), io.StringIO()
        self.addCleanup(setattr, root, 'handlers', root.handlers)
        root.handlers = [logging.StreamHandler(written)]
        log_levels.apply(self.load('[DEFAULT]\n'))
        for args in ('r1\n2026-01-01 ERROR\x1b[2J',), ():
            logging.getLogger('test').warning('router %s is here', *args)
        self.assertEqual(['router r1', '  2026-01-01 ERROR\\x1b[2J is here',
                          'router %s is here'],
                         written.getvalue().splitlines())

    def test_an_exception_is_said_once(self):
        root, written = logging.getLogger(), io.StringIO()
        self.addCleanup(setattr, root, 'handlers', root.handlers)
        conf = self.load('[DEFAULT]\nlogging_default_format_string = '
                         '%(levelname)s %(message)s\n')
        root.handlers = [logging.StreamHandler(written)]
        root.handlers[0].setFormatter(formatters.ContextFormatter(config=conf))
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
