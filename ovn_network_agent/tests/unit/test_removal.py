# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The pages of removal and upgrade know what the installation has made."""

import configparser
import os
import re
import shlex

from oslotest import base

from ovn_network_agent.tests import tools

INSTALL = 'doc/source/install/index.rst'
REMOVAL = 'doc/source/admin/maintenance.rst'
UPGRADE = 'doc/source/admin/upgrade.rst'
UNIT = 'contrib/systemd/ovn-network-agent.service'
SYSUSERS = 'contrib/sysusers.d/ovn-network-agent.conf'
CONSOLE = re.compile(
    r'^( *)\.\. code-block:: console\n\n((?:\1   .*\n|\n)+)', re.M)
# What a section of a page begins with.
TITLE = r'^{title}\n[=-]+\n'


def read(path):
    """Text of a file of the tree."""
    with open(os.path.join(tools.ROOT, path)) as opened:
        return opened.read()


def commands(page, title, end):
    """The words of each command of a part of a page.

    :param page: path of the page
    :param title: title of the part
    :param end: title of the part behind it
    :returns: list of lists of words
    """
    whole = read(page)
    begins = re.search(TITLE.format(title=title), whole, re.M).end()
    ends = re.search(TITLE.format(title=end), whole[begins:], re.M).start()
    text = ''.join(text for _depth, text in CONSOLE.findall(
        whole[begins:begins + ends]))
    return [shlex.split(line.partition('# ')[2]) for line in
            text.replace('\\\n', ' ').splitlines() if '# ' in line]


def made(words):
    """The paths that a command of the installation makes."""
    program, *arguments = words
    paths = [word for word in arguments if not word.startswith('-')]
    if arguments[:2] == ['-m', 'venv']:
        return [paths[-1]]
    if program == 'mkdir':
        return paths
    if program in ('cp', 'ln'):
        target = paths[-1]
        return [os.path.join(target, os.path.basename(path)) if
                target.endswith('/') else target for path in paths[:-1]]
    return []


class RemovalTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.installation = commands(INSTALL, 'The agent', 'Python packages')
        self.removal = commands(REMOVAL, 'Removal', 'One router')

    def gone(self):
        """What is removed: set of paths."""
        return {path for words in self.removal if words[0] == 'rm'
                for path in words[1:]}

    def test_each_file_that_was_installed(self):
        found = [path for words in self.installation for path in made(words)]
        self.assertGreater(len(found), 6, found)
        gone = self.gone()
        self.assertEqual([], [
            path for path in found
            if not any(path == each or path.startswith(each + '/')
                       for each in gone)])

    def test_an_upgrade_replaces_the_links_and_the_unit(self):
        upgrade = commands(UPGRADE,
                           'From one version of this agent to the next',
                           'From the Go program')
        replaced = {path for words in upgrade for path in made(words)}
        self.assertEqual(
            {path for words in self.installation for path in made(words)
             if path.startswith(('/usr/local/bin/', '/etc/systemd/'))},
            replaced)

    def test_what_systemd_has_made(self):
        """The log directory and the user; /run is emptied at a stop."""
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        unit.read_string(read(UNIT))
        self.assertIn('/var/log/' + unit['Service']['LogsDirectory'],
                      self.gone())
        user, = (line.split()[1] for line in read(SYSUSERS).splitlines()
                 if line.startswith('u '))
        self.assertEqual(unit['Service']['User'], user)
        self.assertIn(['userdel', user], self.removal)

    def test_the_unit_is_stopped_first(self):
        self.assertIn(['systemctl', 'enable', '--now', 'ovn-network-agent'],
                      self.installation)
        self.assertEqual(
            ['systemctl', 'disable', '--now', 'ovn-network-agent'],
            self.removal[0])

    def test_proxy_arp_of_the_bridge(self):
        """The agent sets the sysctl, and never restores its value."""
        self.assertIn(['sysctl', '-w', 'net.ipv4.conf.br-ex.proxy_arp=0'],
                      self.removal)
