# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""One announcement, as real daemons of FRR have it."""

import unittest

from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import frr
from ovn_network_agent.tests.functional.frr import base

A, B = '198.51.100.10/32', '198.51.100.11/32'


class FrrReaderTest(base.FrrTestCase):

    def announce(self, *lines):
        self.frr.configure(
            f'ip prefix-list {base.LIST} seq 5 permit 198.51.100.0/24 ge 32 '
            'le 32', f'ip route {A} {base.BRIDGE}', *lines)
        base.wait_until(lambda: A in self.frr.learned(), 'learned')

    def test_filtered_and_not_there(self):
        """See lab.test_explain for what is announced, and for other faults.
        """
        self.announce(f'ip route {B} {base.BRIDGE}',
                      f'ip prefix-list {base.LIST} seq 1 deny {B}')
        base.wait_until(lambda: frr.read_path('', B)[0], 'in BGP')
        base.wait_until(lambda: frr.read_path('', B) == (True, True, ()),
                        'not advertised')
        self.assertEqual((), frr.read_zebra('', '198.51.100.99/32'))
        self.assertEqual({'zebra': None, 'bgpd': None},
                         frr.read_lists('NO-SUCH-LIST'))
        self.root_side(frr_run_dir='/nowhere')
        with self.assertRaisesRegex(readers.Unread, 'zebra of FRR'):
            frr.read_zebra('', A)


if __name__ == '__main__':
    unittest.main()
