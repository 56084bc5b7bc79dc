# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Running the real program, with drivers that are installed for a test."""

import os
import subprocess
import sys
import tomllib

import fixtures
from oslotest import base

import ovn_network_agent

TOP = os.path.dirname(os.path.dirname(ovn_network_agent.__file__))
REMOTES = {'nb': 'tcp:127.0.0.1:1', 'sb': 'tcp:127.0.0.1:1',
           'ovs': 'unix:/nowhere/db.sock'}
LIMIT = 120
# Enough of FRR for a start of the agent.
VTYSH = '#!/bin/sh\nexit 1\n'


class ProgramTestCase(base.BaseTestCase):
    """With a directory for files, and one to install drivers into."""

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        self.site = os.path.join(self.directory, 'site')
        os.mkdir(self.site)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith('OS_')}
        self.env['PYTHONPATH'] = os.pathsep.join([self.site, TOP])
        self.bin = os.path.join(self.directory, 'bin')
        os.mkdir(self.bin)
        self.env['PATH'] = f'{self.bin}:{self.env["PATH"]}'
        # stevedore remembers entry points there.
        self.env['XDG_CACHE_HOME'] = os.path.join(self.directory, 'cache')

    def program(self, name, text):
        """Put a program before all others of its name.

        :param text: the script
        """
        path = os.path.join(self.bin, name)
        with open(path, 'w') as opened:
            opened.write(text)
        os.chmod(path, 0o755)

    def write_vtysh(self):
        """A vtysh of the test's own, which can tell nothing of an FRR."""
        self.program('vtysh', VTYSH)

    def install(self, folder):
        """Install a package as pip would, but without a network.

        :param folder: with a pyproject.toml and the modules it names
        """
        with open(os.path.join(folder, 'pyproject.toml'), 'rb') as opened:
            project = tomllib.load(opened)
        for module in project['tool']['setuptools']['py-modules']:
            with open(os.path.join(folder, module + '.py')) as source:
                self.write_module(module, source.read())
        self.declare(project['project']['name'],
                     project['project']['entry-points'],
                     project['project']['version'])

    def write_module(self, name, text):
        with open(os.path.join(self.site, name + '.py'), 'w') as module:
            module.write(text)

    def declare(self, name, entry_points, version='1.0'):
        """The metadata of an installed package.

        :param entry_points: dict of group to dict of name to object
        """
        distribution = name.replace('-', '_')
        folder = os.path.join(self.site, f'{distribution}-{version}.dist-info')
        os.mkdir(folder)
        with open(os.path.join(folder, 'METADATA'), 'w') as metadata:
            metadata.write(f'Metadata-Version: 2.1\nName: {name}\n'
                           f'Version: {version}\n')
        with open(os.path.join(folder, 'entry_points.txt'), 'w') as points:
            for group, named in entry_points.items():
                points.write(f'[{group}]\n')
                points.writelines(f'{point} = {value}\n'
                                  for point, value in named.items())

    def config(self, more='', remotes=True, mode=0o600, **default):
        """Write a configuration file and give its path."""
        path = os.path.join(self.directory, 'agent.conf')
        with open(path, 'w') as opened:
            opened.write('[DEFAULT]\n')
            # The default would be shared with other tests.
            for option, value in {'control_socket': '', **default}.items():
                opened.write(f'{option} = {value}\n')
            if remotes:
                of = REMOTES if remotes is True else remotes
                opened.write(f'[ovn]\novn_nb_remote = {of["nb"]}\n'
                             f'ovn_sb_remote = {of["sb"]}\n'
                             f'[ovs]\novsdb_connection = {of["ovs"]}\n')
            opened.write(more)
        os.chmod(path, mode)
        return path

    def command(self, *args):
        return [sys.executable, '-W', 'ignore', '-m',
                'ovn_network_agent.cmd.agent', *args]

    def spawned(self, argv, path, mode='wb'):
        """Start a program, ended with the test.

        :param argv: list of its words
        :param path: file for its output
        :param mode: how to open the file
        :returns: subprocess.Popen
        """
        with open(path, mode) as log:
            started = subprocess.Popen(
                argv, env=self.env, cwd=self.directory,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)
        return started

    def run_program(self, name, *args, inside=lambda *argv: argv):
        """Run a program to its end; gives a CompletedProcess.

        :param name: of its module in ovn_network_agent.cmd
        :param inside: function from words to the words that run them elsewhere
        """
        return subprocess.run(
            inside(sys.executable, '-W', 'ignore', '-m',
                   f'ovn_network_agent.cmd.{name}', *args), env=self.env,
            cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=LIMIT)

    def run_agent(self, *args, **kwargs):
        return self.run_program('agent', *args, **kwargs)
