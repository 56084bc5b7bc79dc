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


"""Text of others can neither end a line nor change a screen."""

from oslotest import base

from ovn_network_agent import printable


class PrintableTest(base.BaseTestCase):

    def test_a_line(self):
        for text, shown in (
                ('', ''), ('router 1', 'router 1'), ('Zürich', 'Zürich'),
                ('a\nb\r\tc', 'a\\nb\\r\\tc'), ('\x1b[2J', '\\x1b[2J'),
                ('\u202eabc', '\\u202eabc'), ('\ud800', '\\ud800')):
            self.assertEqual(shown, printable.line(text))

    def test_lines(self):
        self.assertEqual('one\n  two\\x07\n  ',
                         printable.lines('one\ntwo\x07\n'))
        self.assertEqual('one', printable.lines('one'))
