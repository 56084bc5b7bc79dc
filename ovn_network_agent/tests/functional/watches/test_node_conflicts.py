# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the agent says about the node at its start."""

import os
import tempfile

from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.watches import node_conflicts

SIX = ('2001:db8::53', 'fd00::5')
SWITCH = '/proc/sys/net/ipv6/conf/all/forwarding'


def rules(vip, backend):
    return f'''port_forwards:
- vip: '{vip}'
  rules: [{{proto: tcp, port: 80, dest_addr: '{backend}'}}]
'''


class Ipv6ForwardingTest(base.KernelTestCase):

    def said(self, *addresses):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, 'rules.yaml')
            with open(path, 'w') as opened:
                opened.write(rules(*addresses) if addresses else '')
            self.conf.set_override('rules_file', path, 'port_forward')
            return node_conflicts.ipv6_forwarding(self.conf)

    def test_off_with_ipv6_vips(self):
        said, = self.said(*SIX)
        self.assertIn('net.ipv6.conf.all.forwarding', said)
        self.assertIn('accept_ra', said)

    def test_on(self):
        with open(SWITCH, 'w') as opened:
            opened.write('1')
        self.assertEqual([], self.said(*SIX))

    def test_nothing_to_say(self):
        self.assertEqual([], node_conflicts.ipv6_forwarding(self.conf))
        self.assertEqual([], self.said('192.0.2.53', '10.0.0.5'))
        self.assertEqual([], self.said())
