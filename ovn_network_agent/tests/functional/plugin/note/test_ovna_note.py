# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the driver wants; a driver is pure, so values are enough."""

import unittest

import ovna_note

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.conf import settings

NODE = model.Node(chassis='gw1-id', hostname='gw1',
                  phase=model.Phase.RUNNING)
SEGMENT = model.Segment(datapath='uuid-of-network',
                        localnet_port='provnet-1',
                        physical_network='physnet1')
PORT = model.GatewayPort(lrp='lrp-1', mac='fa:16:3e:00:00:01',
                         networks=('198.51.100.1/24',), chassis='gw1-id',
                         local=True, segment=SEGMENT)


def router(**port):
    """A router with one gateway port, which differs in these values."""
    return model.Router(uuid='uuid-of-router', name='r1',
                        ports=(PORT._replace(**port),))


def address(**values):
    """A floating IP that differs in these values."""
    return model.ServedAddress(**{
        'router': 'uuid-of-router', 'called': 'r1',
        'address': '198.51.100.10', 'mac': PORT.mac, 'port': PORT,
        'kinds': ('fip',), **values})


class NoteDriverTest(unittest.TestCase):

    def setUp(self):
        own = settings.Settings(greeting='served by', width=200)
        self.driver = ovna_note.NoteDriver('note',
                                           settings.Settings(note=own))

    def wanted(self, subject):
        return list(self.driver.resources(subject, NODE))

    def test_the_node(self):
        self.assertEqual([ovna_note.Note('node', 'served by gw1')],
                         self.wanted(NODE))

    def test_a_router_here(self):
        self.assertEqual(
            [ovna_note.Note('uuid-of-router',
                            'served by gw1: 198.51.100.1/24')],
            self.wanted(router()))

    def test_a_router_elsewhere(self):
        self.assertEqual([], self.wanted(router(local=False)))

    def test_a_router_that_is_handed_over(self):
        keep, = self.wanted(router(local=False,
                                   handover=model.Handover.ANNOUNCE))
        self.assertEqual(resources.Ref('note', ('uuid-of-router',)), keep.of)

    def test_a_network_that_cannot_be_resolved(self):
        problem, _note = self.wanted(router(segment=None))
        self.assertIn('lrp-1', problem.text)

    def test_a_floating_ip(self):
        self.assertEqual(
            [ovna_note.Note('198.51.100.10',
                            'served by gw1: floating IP of r1')],
            self.wanted(address()))

    def test_a_floating_ip_that_is_handed_over(self):
        leaving = PORT._replace(local=False, handover=model.Handover.ANNOUNCE)
        keep, = self.wanted(address(port=leaving))
        self.assertEqual(resources.Ref('note', ('198.51.100.10',)), keep.of)

    def test_other_addresses(self):
        for other in (address(kinds=('snat', 'router')),
                      address(answered=False), address(resident=True)):
            self.assertEqual([], self.wanted(other))


if __name__ == '__main__':
    unittest.main()
