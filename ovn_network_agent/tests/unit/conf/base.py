# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A configuration from the three sources, for the tests here."""

import os

import fixtures
from oslotest import base

from ovn_network_agent.tests import configs

REMOTES = {'OS_OVN__OVN_NB_REMOTE': 'tcp:192.0.2.1:6641',
           'OS_OVN__OVN_SB_REMOTE': 'tcp:192.0.2.1:6642'}


class ConfTestCase(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        for name in list(os.environ):
            if name.startswith('OS_') and '__' in name:
                self.useFixture(fixtures.EnvironmentVariable(name))

    def file(self, text, name='test.conf', mode=0o600):
        """Write a file and give its path."""
        path = os.path.join(self.useFixture(fixtures.TempDir()).path, name)
        with open(path, 'w') as opened:
            opened.write(text)
        os.chmod(path, mode)
        return path

    def load(self, text='', argv=(), env=None, remotes=True):
        """Load a configuration.

        :param text: content of the file
        :param argv: further arguments, put before --config-file
        :param env: dict of environment variables
        :param remotes: whether both databases are set
        """
        for name, value in {**(REMOTES if remotes else {}),
                            **(env or {})}.items():
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        return configs.loaded(*argv, '--config-file', self.file(text),
                              version='1.2.3')

    def check_one(self, found, *parts):
        """Exactly one text, and it has these parts."""
        self.assertEqual(1, len(found), found)
        for part in parts:
            self.assertIn(part, found[0])
