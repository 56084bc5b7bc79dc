# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines that nodes translate, and the links of this one, in the view."""

import subprocess

from lab import waiting
from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit.ovn import clouds

MACHINE, EGRESS = '10.0.0.9', '203.0.113.77'
KEY = ownership.EXT_ID_EGRESS_NODE


def ip(command):
    subprocess.run(['ip', *command.split()], check=True)


class EgressHostsTest(clouds.CloudTestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(namespaces.new())
        ip('link add eth1 type veth peer name other')
        ip('link set eth1 up')
        ip('link set other up')
        ip('address add 203.0.113.5/24 dev eth1')
        ip('route add default via 203.0.113.1')
        self.router = self.cloud.add_router('r1', ['198.51.100.1/24'],
                                            cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.1', '10.0.0.0/24', type='snat')

    def add(self, chassis=cloud.CHASSIS):
        self.cloud.add_nat('r1', MACHINE, MACHINE, type='snat')
        self.nb.update('NAT', {'external_ip': MACHINE}, external_ids={
            ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            ownership.EXT_ID_EGRESS: 'firewall',
            ownership.EXT_ID_EGRESS_ADDRESS: EGRESS,
            ownership.EXT_ID_EGRESS_CHASSIS: chassis})

    def watching(self, *drivers):
        eyes = self.eyes(drivers=['fip_route', *drivers])
        self.addCleanup(eyes.view.close)
        return eyes

    def hosts(self, seen):
        return [host for alone in seen.subjects.get(
            model.EgressHost, {}).values() for host in alone.values()]

    def test_a_machine_comes_and_goes(self):
        eyes = self.watching('egress_ip')
        self.assertEqual([], self.hosts(eyes.look()))
        before = set(eyes.addresses('r1'))
        self.add()
        host, = self.hosts(eyes.look())
        port = eyes.router('r1').ports[0]
        self.assertEqual(
            (EGRESS, MACHINE, self.router, port.lrp, port.mac,
             '198.51.100.1', ((port.segment.physical_network, 0),)),
            (host.address, host.machine, host.router, host.port, host.mac,
             host.via, host.segments))
        # The address of a machine is none of the router's.
        self.assertEqual(before, set(eyes.addresses('r1')))
        self.assertEqual((), eyes.router('r1').problems)
        self.cloud.remove_nat('r1', MACHINE)
        self.assertEqual([], self.hosts(eyes.look()))

    def test_the_links(self):
        """Routes only where this node has an egress address."""
        eyes = self.watching('egress_ip')
        link, = eyes.look().node.links
        self.assertEqual(('eth1', ('203.0.113.5/24',), ()),
                         (link.name, link.addresses, link.routes))
        self.add(cloud.OTHER)
        self.assertEqual(1, len(self.hosts(eyes.look())))
        self.assertEqual((link,), eyes.look().node.links)
        self.cloud.remove_nat('r1', MACHINE)
        self.add()

        def routes():
            return dict(eyes.look().node.links[0].routes)
        waiting.wait_until('the routes of the link', lambda: routes() == {
            '0.0.0.0/0': '203.0.113.1', '203.0.113.0/24': ''})
        ip('route add 198.18.0.0/24 via 203.0.113.1')
        waiting.wait_until('another route',
                           lambda: '198.18.0.0/24' in routes())
        ip('address add 203.0.113.6/24 dev eth1')
        waiting.wait_until('another address', lambda: len(
            eyes.look().node.links[0].addresses) == 2)

    def test_the_first_view_has_the_routes(self):
        """Else an agent that starts would remove those that are in use."""
        self.add()
        link, = self.watching('egress_ip').look().node.links
        self.assertEqual({'0.0.0.0/0': '203.0.113.1', '203.0.113.0/24': ''},
                         dict(link.routes))

    def test_the_label(self):
        eyes = self.watching('egress_ip')
        for text, wanted in (('true', True), ('True', True), ('no', False)):
            self.tell(**{KEY: text})
            self.assertIs(wanted, eyes.look().node.egress)

    def test_nothing_without_the_driver(self):
        self.add()
        seen = self.watching().look()
        self.assertEqual(([], ()), (self.hosts(seen), seen.node.links))
