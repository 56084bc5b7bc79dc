# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The sample configuration that is shipped is what the code would make."""

import collections
import os
import re
import shutil
import subprocess
import sys

from oslo_config import cfg
from oslo_config import generator

from ovn_network_agent.conf import opts
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.unit.conf import base

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__),
                                    *[os.pardir] * 4))
SAMPLE = os.path.join(ROOT, 'etc', 'ovn-network-agent',
                      'ovn-network-agent.conf.sample')


GENERATOR = os.path.join('etc', 'oslo-config-generator',
                         'ovn-network-agent.conf')
VALIDATOR = 'import sys; from oslo_config import validator; ' \
    'sys.exit(validator.main())'


def all_set(text):
    """The sample with each option set: to its default, or to some text."""
    return re.sub(
        r'(?m)^#(\w+) = ?(.*)$', lambda match:
        f'{match[1]} = {match[2].replace("<None>", "some text")}', text)


def ours(text):
    """The parts from our own namespace.

    The others are texts of the installed libraries and change with them.
    """
    found = []
    for section in re.split(r'(?m)^(?=\[)', text):
        header = section.partition('\n')[0]
        for part in re.split(r'(?m)^(?=#\n# From )', section)[1:]:
            if part.startswith('#\n# From ovn_network_agent\n'):
                found.append((header, part.rstrip()))
    return found


class SampleTest(base.ConfTestCase):

    def test_is_current(self):
        path = self.file('', 'regenerated')
        conf = cfg.ConfigOpts()
        generator.register_cli_opts(conf)
        conf(['--namespace', 'ovn_network_agent', '--wrap-width', '79',
              '--output-file', path], default_config_files=[])
        generator.generate(conf)
        with open(path) as new, open(SAMPLE) as shipped:
            self.assertEqual(ours(new.read()), ours(shipped.read()),
                             'run "tox -e genconfig" and commit what changed')

    def test_mentions_every_option_once(self):
        with open(SAMPLE) as shipped:
            text = shipped.read()
        # Two groups may have an option of the same name.
        for name, number in collections.Counter(
                opt.dest for _group, opt in opts.everything()).items():
            self.assertEqual(
                number, len(re.findall(f'(?m)^#{name} = ?', text)), name)

    def validated(self, text):
        """The end of oslo-config-validator, and its output."""
        # The code of this tree, whatever is installed.
        done = subprocess.run(
            [sys.executable, '-c', VALIDATOR, '--config-file', GENERATOR,
             '--input-file', self.file(text, 'every.conf')], cwd=ROOT,
            capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_the_validator_accepts_every_option(self):
        with open(SAMPLE) as shipped:
            text = all_set(shipped.read())
        lines = [line.partition(' ')[0] for line in text.splitlines()
                 if not line.startswith('#')]
        for section in ('[agent]', '[oslo_reports]', '[privsep_kernel]'):
            self.assertIn(section, lines)
        for option in ('root_helper_daemon', 'ovn_nb_remote', 'log_file',
                       'file_event_handler', 'helper_command'):
            self.assertIn(option, lines)
        self.assertEqual(0, self.validated(text)[0], self.validated(text))
        status, said = self.validated(text + '[agent]\nnothing = 1\n')
        self.assertEqual(1, status)
        self.assertIn('nothing', said)

    def test_can_be_used_as_it_is(self):
        path = shutil.copy(SAMPLE, self.file('', 'copy.conf'))
        conf = configs.loaded('--config-file', path)
        self.assertEqual('br-ex', conf.bridge_dev)
