# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which source counts, for every option: rows CFG-01 to CFG-03."""

import itertools

from ovn_network_agent.conf import opts
from ovn_network_agent.conf.options import base as main
from ovn_network_agent.tests.unit.conf import base

# Texts of which each option takes two.
TEXTS = ('false', 'true', '7', '11', '203.0.113.9', '203.0.113.10',
         '203.0.113.0/24', '198.51.100.0/24', 'tcp:192.0.2.7:6641',
         'tcp:192.0.2.8:6641', '/tmp/first/a', '/tmp/second/b', 'alpha',
         'beta', 'cr-alpha', 'cr-beta', 'one:4400001', 'two:4400002',
         '5000', '6000', 'red:1001', 'blue:1002', '2001:db8::1',
         '2001:db8::2',
         '11111111-2222-4333-8444-555555555555',
         '22222222-2222-4333-8444-555555555555')
# What oslo.log has on the command line, beside what is a boolean there.
LOG_TEXTS = ('log-file', 'log-dir', 'log-date-format',
             'syslog-log-facility', 'log-config-append')
LOG_BOOLEANS = ('debug', 'use-journal', 'use-syslog', 'use-json')


def two(option):
    """Two texts for an option, the first of them not its default.

    :returns: (text, text) with different values
    """
    # Of a type with choices these are the keys.
    texts = list(getattr(option.type, 'choices', None) or TEXTS)
    values = {}
    for text in map(str, texts):
        try:
            values.setdefault(repr(option.type(text)), text)
        except ValueError:
            continue
    first = next(text for value, text in values.items()
                 if value != repr(option.default))
    second = next(text for text in values.values() if text != first)
    return first, second


def value(conf, group, option):
    return (conf if group == 'DEFAULT' else conf[group])[option.dest]


class EveryOptionTest(base.ConfTestCase):

    def setUp(self):
        super().setUp()
        self.options = [(group, option, *two(option))
                        for group, option in opts.everything()]

    def file_of(self, which):
        """A file with the first or the second text of each option."""
        return ''.join(f'[{group}]\n{option.dest} = {texts[which]}\n'
                       for group, option, *texts in self.options)

    def environment(self, which):
        return {opts.env_name(group, option.dest): texts[which]
                for group, option, *texts in self.options}

    def check(self, conf, which):
        self.assertGreater(len(self.options), 50)
        for group, option, *texts in self.options:
            self.assertEqual(option.type(texts[which]),
                             value(conf, group, option), option.name)

    def test_the_file_beats_the_default(self):
        self.check(self.load(self.file_of(0), remotes=False), 0)

    def test_the_environment_beats_the_file(self):
        self.check(self.load(self.file_of(0), env=self.environment(1)), 1)

    def test_a_later_file_beats_an_earlier_one(self):
        first = self.file(self.file_of(0))
        self.check(self.load(self.file_of(1), ['--config-file', first],
                             remotes=False), 1)


class EveryArgumentTest(base.ConfTestCase):
    """Arguments beat the rest, and count wherever they stand."""

    def arguments(self):
        """(argument, name of the option, texts, their values)."""
        for option in itertools.chain(main.CLI_OPTS, main.CLI_ONLY_OPTS):
            yield option.name, ('true', 'false'), (True, False)
        for name in LOG_BOOLEANS:
            yield name, ('true', 'false'), (True, False)
        for name in LOG_TEXTS:
            yield name, ('/tmp/first', 'user'), ('/tmp/first', 'user')

    def test_each_beats_environment_and_file(self):
        for name, texts, values in self.arguments():
            dest = name.replace('-', '_')
            for which in (0, 1):
                argv = (['--' + name, texts[which]] if values == texts else
                        ['--' + ('' if values[which] else 'no') + name])
                other = texts[not which]
                conf = self.load(f'[DEFAULT]\n{dest} = {other}\n', argv,
                                 {'OS_DEFAULT__' + dest.upper(): other})
                self.assertEqual(values[which], conf[dest], argv)

    def test_it_counts_behind_the_file_too(self):
        for name, texts, values in self.arguments():
            dest = name.replace('-', '_')
            path = self.file(f'[DEFAULT]\n{dest} = {texts[1]}\n')
            conf = self.load('', ['--config-file', path, *(
                ['--' + name, texts[0]] if values == texts
                else ['--' + name])])
            self.assertEqual(values[0], conf[dest], name)

    def test_one_that_was_not_given_overrides_nothing(self):
        for name, texts, values in self.arguments():
            dest = name.replace('-', '_')
            for which in (0, 1):
                conf = self.load(f'[DEFAULT]\n{dest} = {texts[which]}\n')
                self.assertEqual(values[which], conf[dest], name)
