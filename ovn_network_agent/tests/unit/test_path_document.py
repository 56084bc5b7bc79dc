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
"""The document about the path of a floating IP names what exists."""

import pathlib
import re
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = (PACKAGE.parent / 'doc' / 'source' / 'contributor' /
            'path-of-a-floating-ip.rst')
FILE = re.compile(r'``([\w/]+\.py)``')
METHOD = re.compile(r'``([A-Z]\w+)\.(\w+)``')
FUNCTION = re.compile(r'``(_\w+)``')


class PathDocumentTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.text = DOCUMENT.read_text()
        self.source = '\n'.join(
            path.read_text() for path in PACKAGE.rglob('*.py')
            if 'tests' not in path.parts)

    def test_files(self):
        names = set(FILE.findall(self.text))
        self.assertGreater(len(names), 10)
        self.assertEqual([], [n for n in sorted(names)
                              if not (PACKAGE / n).is_file()])

    def test_methods(self):
        names = set(METHOD.findall(self.text))
        self.assertGreater(len(names), 10)
        self.assertEqual([], [
            '%s.%s' % (cls, name) for cls, name in sorted(names)
            if not re.search(r'^class %s\b' % cls, self.source, re.M) or
            not re.search(r'^ *(def )?%s\b' % name, self.source, re.M)])

    def test_functions(self):
        names = set(FUNCTION.findall(self.text))
        self.assertTrue(names)
        self.assertEqual([], [
            name for name in sorted(names)
            if not re.search(r'^ *def %s\b' % name, self.source, re.M)])
