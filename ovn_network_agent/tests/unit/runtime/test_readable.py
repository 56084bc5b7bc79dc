# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The files of the program, and whether a user can read them."""

import os
import sys
import types

import fixtures
from oslotest import base

from ovn_network_agent.runtime import readable


class ReadableTest(base.BaseTestCase):

    def folders(self):
        return {os.path.dirname(path) for path in readable.files()}

    def test_python_packages_and_the_agent(self):
        """One file stands for its directory."""
        self.assertLessEqual(
            {os.path.dirname(module.__file__)
             for module in (os, fixtures, readable)}, self.folders())
        self.assertEqual(len(self.folders()), len(readable.files()))

    def test_a_module_without_a_file(self):
        """Built-in modules, and those in an archive."""
        strange = types.ModuleType('strange')
        strange.__file__ = '/nowhere.zip/strange.py'
        sys.modules['strange'] = strange
        self.addCleanup(sys.modules.pop, 'strange')
        self.assertNotIn('/nowhere.zip', self.folders())

    def test_all_is_well(self):
        self.assertEqual(('', False), readable.trouble())
