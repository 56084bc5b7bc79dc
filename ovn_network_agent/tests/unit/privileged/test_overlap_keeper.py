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

from oslotest import base

from ovn_network_agent.privileged import overlap_keeper


class OtherWordsTest(base.BaseTestCase):
    """The same servers by a text that differs."""

    def test_each_server(self):
        for remote, expected in (
                ('tcp:192.0.2.1:6642', 'tcp:192.0.2.1:06642'),
                ('ssl:[2001:db8::1]:6642', 'ssl:[2001:db8::1]:06642'),
                ('unix:/run/ovn/ovnsb_db.sock',
                 'unix:/./run/ovn/ovnsb_db.sock'),
                ('ssl:sb1:6642,ssl:sb2:6642,tcp:192.0.2.3:16642',
                 'ssl:sb1:06642,ssl:sb2:06642,tcp:192.0.2.3:016642')):
            self.assertEqual(expected, overlap_keeper.in_other_words(remote))

    def test_what_has_none(self):
        for remote in ('', 'unix:sb.sock', 'tcp:192.0.2.1', 'ptcp:6642',
                       'tcp:192.0.2.1:6642,'):
            self.assertRaises(overlap_keeper.Failed,
                              overlap_keeper.in_other_words, remote)
