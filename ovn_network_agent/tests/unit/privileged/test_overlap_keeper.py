# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from oslotest import base

from ovn_network_agent.privileged import overlap_keeper
from ovn_network_agent.privileged import overlap_servers


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
            self.assertEqual(expected, overlap_keeper.respelled(remote))

    def test_what_has_none(self):
        for remote in ('', 'unix:sb.sock', 'tcp:192.0.2.1', 'ptcp:6642',
                       'tcp:192.0.2.1:6642,'):
            self.assertRaises(overlap_servers.Failed,
                              overlap_keeper.respelled, remote)
