# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One announcement, as real daemons of FRR have it."""

import unittest

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.tests.functional.frr import base

A, B = '198.51.100.10/32', '198.51.100.11/32'
PEER = '10.0.0.2'


class FrrReaderTest(base.FrrTestCase):

    def announce(self, *lines):
        self.frr.configure(
            f'ip prefix-list {base.LIST} seq 5 permit 198.51.100.0/24 ge 32 '
            'le 32', f'ip route {A} {base.BRIDGE}', *lines)
        base.wait_until(lambda: A in self.frr.learned(), 'learned')

    def test_announced(self):
        self.announce()
        self.assertEqual([('static', True, True, base.BRIDGE)],
                         list(frr.read_zebra('', A)))
        self.assertEqual((True, True, (PEER,)), frr.read_path('', A))
        neighbour, = frr.read_neighbours('')
        self.assertEqual((PEER, 'Established'),
                         (neighbour.name, neighbour.state))
        self.assertEqual((f'prefix-list {base.LIST}',),
                         frr.read_filters('', neighbour).filters)
        lists = frr.read_lists(base.LIST)
        for daemon in ('zebra', 'bgpd'):
            self.assertEqual([(5, 'permit', '198.51.100.0/24', 32, 32)],
                             [tuple(each) for each in lists[daemon]])

    def test_nothing(self):
        # bgpd may still have the routes of another test.
        unknown = '198.51.100.99/32'
        self.assertEqual((), frr.read_zebra('', unknown))
        self.assertEqual((False, False, ()), frr.read_path('', unknown))
        self.assertEqual({'zebra': None, 'bgpd': None},
                         frr.read_lists('NO-SUCH-LIST'))

    def test_filtered(self):
        self.announce(f'ip route {B} {base.BRIDGE}',
                      f'ip prefix-list {base.LIST} seq 1 deny {B}')
        base.wait_until(lambda: frr.read_path('', B)[0], 'in BGP')
        base.wait_until(lambda: frr.read_path('', B) == (True, True, ()),
                        'not advertised')

    def test_how_frr_is_set_up(self):
        found = frr.read_setup('', base.LIST)
        self.assertEqual(('65001', ('static',), True, True), (
            found.asn, found.redistributes, found.neighbours,
            found.filters))

    def test_a_daemon_that_is_away(self):
        self.root_side(frr_run_dir='/nowhere')
        with self.assertRaisesRegex(readers.Unread, 'zebra of FRR'):
            frr.read_zebra('', A)


if __name__ == '__main__':
    unittest.main()
