# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The command lines of ovn-network-agent-ctl on the pages can be typed in."""

import argparse
import contextlib
from importlib import metadata
import io
import pathlib
import re
import shlex

from oslotest import base

from ovn_network_agent.cmd import ctl
from ovn_network_agent.diagnosis.node import examination
from ovn_network_agent.tests import tools

ROOT = pathlib.Path(tools.ROOT)
PAGES = (ROOT / 'README.rst', *sorted((ROOT / 'doc' / 'source').rglob(
    '*.rst')), *sorted((ROOT / 'contrib').rglob('*.rules.yml')))
# After a prompt, or in a literal; not the synopsis.
LINE = re.compile(r'(?:[#$] |``)ovn-network-agent-ctl +([^\[`\n][^`\n]*)')
# What ends a command in a shell.
END = re.compile(r' (?:&&|\|\||[|;>#]) ?.*')


def documented(text):
    """The arguments of each command line in a text, a list of lists."""
    joined = re.sub(r'\\\n\s*', '', text)
    joined = re.sub(r'``[^`]+``', lambda found: ' '.join(
        found.group().split()), joined)
    return [shlex.split(END.sub('', found)) for found in LINE.findall(joined)]


class DocumentedTest(base.BaseTestCase):

    def test_each_line_is_understood(self):
        found, wrong = 0, []
        for page in PAGES:
            for words in documented(page.read_text()):
                found += 1
                wrong += [(page.name, words, said) for said in
                          self.objections(words)]
        self.assertLess(60, found)
        self.assertEqual([], wrong)

    def test_what_is_not_understood_is_noticed(self):
        for words in (['doctr'], ['drain', '--rooter', 'web'],
                      ['doctor', 'bgp-session'], ['resync', 'frr-static']):
            self.assertTrue(self.objections(words), words)
        self.assertEqual([['fips', '--watch'], ['doctor', 'mtu', 'vrf']],
                         documented('# ovn-network-agent-ctl fips --watch && '
                                    'true\n``ovn-network-agent-ctl\n'
                                    'doctor mtu\n vrf``'))

    def objections(self, words):
        """What the program, or a list of names, says against a line."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                given = ctl.parser().parse_args(words)
            except (SystemExit, argparse.ArgumentError):
                return [said.getvalue()]
        known = {'doctor': {check.name for check in examination.CHECKS},
                 'resync': {
                     one.name for one in metadata.entry_points(
                         group='ovn_network_agent.backends')}}.get(given.command)
        names = [word for word in words[1:] if not word.startswith('-')]
        return [] if known is None else [
            f'{name} is unknown' for name in names
            if name not in known and not name.isupper()]
