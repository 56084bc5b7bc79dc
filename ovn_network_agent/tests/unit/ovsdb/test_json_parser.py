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

"""What the log says of the parser of JSON in python-ovs."""

from unittest import mock

import fixtures
from oslotest import base
from ovs import json

from ovn_network_agent.ovsdb import json_parser


class JsonParserTest(base.BaseTestCase):

    def said(self, parser):
        """The log with one of both parsers of python-ovs."""
        log = self.useFixture(fixtures.FakeLogger(json_parser.__name__))
        with mock.patch.object(json, 'PARSER', parser):
            json_parser.say()
            self.assertEqual(parser, json_parser.name())
        return log.output

    def test_the_parser_in_python_costs_time(self):
        said = self.said(json.PARSER_PY)
        self.assertEqual(1, said.count('\n'))
        self.assertIn('no parser of JSON in C: 1000 rows', said)
        self.assertIn('libopenvswitch', said)

    def test_the_parser_in_c_is_nothing_to_say(self):
        self.assertEqual('', self.said(json.PARSER_C))
