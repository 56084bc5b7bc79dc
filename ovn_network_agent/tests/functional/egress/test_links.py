# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The links of a node, as the kernel has them, and the watch of them."""

import queue

from lab import waiting
from ovn_network_agent import model
from ovn_network_agent.netlink.objects import egress_links
from ovn_network_agent.privileged.network import netlink
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.watches import egress_links as watching

EGRESS = '203.0.113.77'


class LinksTest(base.KernelTestCase):

    driver_devices = ('eth1',)

    def setUp(self):
        super().setUp()
        self.ip('link add eth1 type veth peer name eth1-peer')
        for device in ('br-ex', 'br-ex-peer', 'eth1', 'eth1-peer'):
            self.ip(f'link set {device} up')
        self.ip('address add 203.0.113.5/24 dev eth1')
        self.ip('address add 2001:db8:7::5/64 dev eth1 nodad')
        self.index = self.shown('link show eth1')[0]['ifindex']

    def chosen(self, *egress, **values):
        return egress_links.Chosen(**{
            'bridges': frozenset(['br-ex']), 'egress': frozenset(egress),
            **values})

    def read(self, *egress, **values):
        return {link.name: link for link in egress_links.read_all(
            self.chosen(*egress, **values))}

    def routes(self):
        return dict(self.read(EGRESS)['eth1'].routes)

    def test_networks(self):
        """Only other programs' addresses, and no devices of the agent."""
        self.ip('address add 192.0.2.1/24 dev br-ex')
        self.ip('link add br-ex.7 type veth peer name other')
        self.ip('link set br-ex.7 up')
        self.ip('address add 192.0.2.1/24 dev br-ex.7')
        self.ip('address add 203.0.113.77/32 dev eth1')
        self.assertEqual([], netlink.set_addresses(
            [['eth1', '203.0.113.78/24']]))
        self.ip('address add 169.254.7.7/24 dev eth1-peer')
        wanted = model.Link('eth1', self.index, 254, '', (
            '2001:db8:7::5/64', '203.0.113.5/24', '203.0.113.77/32'))
        self.assertEqual({'eth1': wanted}, self.read())
        # Of a former run on a kernel without marks.
        self.assertEqual(wanted.addresses[:2],
                         self.read(EGRESS)['eth1'].addresses)
        self.assertEqual({}, self.read(others=frozenset(['eth1'])))
        self.ip('link set eth1 down')
        self.assertEqual({}, self.read())

    def test_routes(self):
        """The best ones through the link, whoever made them."""
        self.ip('address add 192.0.2.5/24 dev br-ex')
        for route in ('default via 203.0.113.1 metric 100',
                      'default via 203.0.113.2 metric 50',
                      'default via 192.0.2.1 metric 10',
                      '198.18.0.0/24 nexthop via 192.0.2.1 '
                      'nexthop via 203.0.113.3',
                      '198.18.1.0/24 via 203.0.113.1 proto bgp',
                      '198.18.2.0/24 via 203.0.113.1 proto 44',
                      '198.18.3.0/24 via inet6 2001:db8:7::1 dev eth1',
                      '198.18.4.0/24 via 203.0.113.1 table 100',
                      'blackhole 198.18.5.0/24',
                      '2001:db8:8::/64 via 2001:db8:7::1'):
            self.ip(('-6 ' if ':' in route.split()[0] else '') +
                    f'route add {route}')
        self.assertEqual({
            '0.0.0.0/0': '203.0.113.2', '203.0.113.0/24': '',
            '198.18.0.0/24': '203.0.113.3', '198.18.1.0/24': '203.0.113.1',
            '2001:db8:7::/64': '', '2001:db8:8::/64': '2001:db8:7::1',
            }, self.routes())
        self.assertEqual((), self.read()['eth1'].routes)

    def test_too_many(self):
        for number in range(egress_links.MOST):
            self.ip(f'route add 198.18.{number >> 8}.{number & 255}/32 '
                    'via 203.0.113.1')
        link = self.read(EGRESS)['eth1']
        self.assertEqual((True, ()), (link.crowded, link.routes))

    def test_the_watch(self):
        """The loop is woken for each change of a link, and for no other."""
        woken = queue.SimpleQueue()
        watch = watching.EgressLinks(woken.put)
        self.addCleanup(watch.stop)
        self.ip('address add 192.0.2.5/24 dev br-ex')
        chosen = self.chosen(EGRESS)
        before = watch.read(chosen)
        for change in ('route add 198.18.1.0/24 via 203.0.113.1',
                       'route del 198.18.1.0/24',
                       'address add 203.0.113.9/24 dev eth1',
                       'link set eth1 down'):
            # Of another device.
            self.ip('route replace 198.18.9.0/24 via 192.0.2.1')
            self.ip(change)
            woken.get(timeout=5)
            after = watch.present(chosen)
            self.assertNotEqual(before, after, change)
            before = after
        waiting.wait_until('all is read', lambda: not woken.qsize())
        self.assertEqual(before, egress_links.read_all(chosen))
