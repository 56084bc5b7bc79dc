# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What doctor reads of a network manager that runs."""

import os
import subprocess

from oslotest import base as test_base

from ovn_network_agent.tests import configs
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.diagnosis import base

NETWORKD = '/lib/systemd/systemd-networkd'
# A directory /run of its own, and devices that wait for no udev.
SCRIPT = '''
mount -t tmpfs none /run
mount -t tmpfs none /etc/systemd
mount -t sysfs -o ro none /sys
mkdir -p /run/systemd/netif /run/systemd/system /etc/systemd/networkd.conf.d
'''
OFF = '''[Network]
ManageForeignRoutes=no
ManageForeignRoutingPolicyRules=no
ManageForeignNextHops=no
'''


@needs.needs(os.path.exists(NETWORKD), 'systemd-networkd is needed')
class NetworkdTest(test_base.BaseTestCase):
    """A real systemd-networkd, with its own /etc as in another container."""

    def setUp(self):
        super().setUp()
        self.node = namespaces.Namespace(['--mount'], SCRIPT.strip())
        self.addCleanup(self.node.close)

    def start(self):
        started = subprocess.Popen(
            ['nsenter', f'--target={self.node.pid}', '--net', '--mount',
             NETWORKD], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(started.wait)
        self.addCleanup(started.kill)

    def look(self):
        with namespaces.entered(self.node.path):
            return base.look(configs.conf(), 'network-managers')[
                'network-managers']

    def test_with_the_settings_of_the_package(self):
        self.start()
        waiting.eventually(lambda: self.look()[0] is base.WARN,
                           lambda: self.look())
        self.assertIn('removes routes and policy rules and next hops',
                      self.look()[1])

    def test_it_leaves_alone_what_is_foreign(self):
        with open(f'/proc/{self.node.pid}/root/etc/systemd/networkd.conf.d/'
                  'agent.conf', 'w', encoding='ascii') as opened:
            opened.write(OFF)
        self.start()
        waiting.eventually(lambda: 'leaves foreign' in self.look()[1],
                           lambda: self.look())
        self.assertIs(base.OK, self.look()[0])
