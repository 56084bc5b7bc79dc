# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whatever changes a device, there is news before anybody can look."""

import socket
import subprocess

from oslotest import base

from ovn_network_agent.netlink.objects import links
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import waiting

PAIR = ('link', 'add', 'one', 'address', '0a:00:00:00:00:01', 'type', 'veth',
        'peer', 'name', 'peer')
# Changes of what is read, in this order, each of the arguments of ip.
CHANGES = (
    ('link', 'set', 'one', 'address', '0a:00:00:00:00:07'),
    ('link', 'set', 'one', 'down'),
    ('link', 'set', 'one', 'up'),
    ('link', 'set', 'one', 'down'),
    ('link', 'set', 'one', 'name', 'two'),
    ('link', 'del', 'two'),
    PAIR,
    ('link', 'del', 'peer'))
# Changes of a default route, which a VRF may have; some without a
# notification about the route itself.
DEFAULT = (
    ('address', 'add', '192.0.2.1/24', 'dev', 'one'),
    ('route', 'add', 'default', 'via', '192.0.2.9'),
    ('route', 'del', 'default'),
    ('route', 'add', 'default', 'via', '192.0.2.9'),
    ('address', 'del', '192.0.2.1/24', 'dev', 'one'),
    ('address', 'add', '192.0.2.1/24', 'dev', 'one'),
    ('nexthop', 'add', 'id', '9', 'via', '192.0.2.9', 'dev', 'one'),
    ('route', 'add', 'default', 'nhid', '9', 'table', '77'),
    ('nexthop', 'del', 'id', '9'),
    ('route', 'add', 'default', 'via', '192.0.2.9', 'table', '77'),
    ('-6', 'route', 'add', 'default', 'dev', 'one', 'table', '77'),
    ('-6', 'route', 'del', 'default', 'dev', 'one', 'table', '77'),
    ('link', 'set', 'one', 'down'))


def ip(*arguments):
    subprocess.run(['ip', *arguments], check=True)


class DevicesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        ip(*PAIR)
        for name in ('one', 'peer'):
            ip('link', 'set', name, 'up')
        # The kernel notes the carrier a moment later, which is news, too.
        waiting.eventually(self.carriers, 'carriers', 10)
        self.devices = links.Devices()
        self.addCleanup(self.devices.close)

    @staticmethod
    def carriers():
        shown = subprocess.run(['ip', '-br', 'link'], check=True,
                               capture_output=True, text=True).stdout
        return sum(line.split()[1] == 'UP'
                   for line in shown.splitlines()) == 2

    def test_each_change_is_news(self):
        self.assertTrue(self.devices.news.poll(0))
        before = self.devices.read()
        for change in CHANGES:
            ip(*change)
            # At once: nobody has to wait for a thread.
            self.assertTrue(self.devices.news.poll(0), change)
            found = self.devices.read()
            self.assertEqual(links.read_devices(), found, change)
            self.assertNotEqual(before, found, change)
            before = found

    def test_each_change_of_a_default_route_is_news(self):
        for change in DEFAULT:
            self.devices.read()
            ip(*change)
            self.assertTrue(self.devices.news.poll(0), change)

    def test_routes_of_a_full_table_are_no_news(self):
        ip('address', 'add', '192.0.2.1/24', 'dev', 'one')
        self.devices.read()
        ip('route', 'add', '198.51.100.0/24', 'via', '192.0.2.9')
        ip('route', 'add', '198.51.100.9/32', 'via', '192.0.2.9')
        ip('route', 'del', '198.51.100.0/24')
        for prefix in ('2001:db8::/64', '2001:db8::1/128'):
            ip('-6', 'route', 'add', prefix, 'dev', 'one', 'table', '77')
        self.assertFalse(self.devices.news.poll(0))

    def test_a_lost_notification_is_news(self):
        self.devices.read()
        self.devices._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                        1)
        for _time in range(20):
            ip('link', 'set', 'one', 'up')
            ip('link', 'set', 'one', 'down')
        self.assertTrue(self.devices.news.poll(0))
        ip('link', 'set', 'one', 'name', 'two')
        self.assertIn('two', [found.name for found in self.devices.read()])

    def test_without_a_socket_there_may_always_be_news(self):
        self.devices.read()
        self.devices.close()
        self.assertTrue(self.devices.news.poll(0))
        self.assertEqual(links.read_devices(), self.devices.read())
        self.assertFalse(self.devices.news.poll(0))
