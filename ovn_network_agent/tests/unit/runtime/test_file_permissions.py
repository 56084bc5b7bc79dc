# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The files of the program, and whether a user can read them."""

import os
import sys
import types

import fixtures
from oslotest import base

from ovn_network_agent.runtime.process import file_permissions


class ReadableTest(base.BaseTestCase):

    def folders(self):
        return {os.path.dirname(path) for path in file_permissions.files()}

    def test_python_packages_and_the_agent(self):
        """One file stands for its directory."""
        self.assertLessEqual(
            {os.path.dirname(module.__file__)
             for module in (os, fixtures, file_permissions)}, self.folders())
        self.assertEqual(len(self.folders()), len(file_permissions.files()))

    def test_a_module_without_a_file(self):
        """Built-in modules, and those in an archive."""
        strange = types.ModuleType('strange')
        strange.__file__ = '/nowhere.zip/strange.py'
        sys.modules['strange'] = strange
        self.addCleanup(sys.modules.pop, 'strange')
        self.assertNotIn('/nowhere.zip', self.folders())

    def test_all_is_well(self):
        self.assertEqual(('', False), file_permissions.unreadable())
