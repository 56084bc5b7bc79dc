# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The addresses as a person sees them."""

import io

from oslotest import base

from ovn_network_agent.control import resource_rows
from ovn_network_agent.ctl import status

ROW = {'kind': 'kernel_route', 'ref': '254,198.51.100.10/32',
       'backend': 'route', 'state': 'refused', 'reason': 'no space',
       'holder': '', 'due_in': 3.7, 'since': '2026-01-31T12:00:00Z',
       'wanted': 'w', 'there': ''}
ADDRESS = {'address': '198.51.100.10', 'kind': 'fip', 'kinds': ['fip'],
           'router': 'u', 'router_name': 'web', 'port': 'lrp-1',
           'physical_network': 'physnet1', 'vlan': 101,
           'device': 'br-ex.101', 'tag': 0, 'state': 'failed',
           'why': 'no space', 'since': '2026-01-31T12:00:00Z'}


class TextTest(base.BaseTestCase):

    def text(self, *rows, unknown=()):
        return status.text({'hostname': 'gw1', 'addresses': list(rows),
                            'unknown': list(unknown)}, io.StringIO())

    def test_one_line_an_address(self):
        head, line, _blank, summary = self.text(ADDRESS).splitlines()
        self.assertEqual(['ADDRESS', 'KIND', 'ROUTER', 'NETWORK', 'STATE',
                          'SINCE', 'WHY'], head.split())
        self.assertEqual(
            ['198.51.100.10', 'fip', 'web', 'physnet1:101', 'failed',
             '2026-01-31T12:00:00Z', 'no', 'space'], line.split())
        self.assertEqual('1 failed', summary)

    def test_a_column_for_tags(self):
        head, first, second, _blank, _summary = self.text(
            {**ADDRESS, 'tag': 4400001}, ADDRESS).splitlines()
        self.assertEqual('TAG', head.split()[4])
        self.assertEqual('4400001', first.split()[4])
        self.assertEqual('-', second.split()[4])

    def test_a_column_for_vnis(self):
        text = self.text({**ADDRESS, 'vni': 1001, 'resources': [ROW]},
                         {**ADDRESS, 'vni': 1002}, {**ADDRESS, 'vni': 0})
        self.assertEqual(['VNI', '1001', '1002', '-'], [
            line.split()[1] for line in text.splitlines()[:4]])
        self.assertIn('198.51.100.10 in VNI 1001\n', text)

    def test_columns_for_machines(self):
        head, first, second, _blank, _summary = self.text(
            {**ADDRESS, 'kinds': ['port'], 'router_name': '', 'port': 'vm-1',
             'network': 'public'}, ADDRESS).splitlines()
        self.assertEqual(['PORT', 'NETWORK'], head.split()[3:5])
        self.assertEqual(['port', '-', 'vm-1', 'public', '(physnet1:101)'],
                         first.split()[1:6])
        self.assertEqual(['web', '-', 'physnet1:101'], second.split()[2:5])

    def test_everything_about_one(self):
        text = self.text({**ADDRESS, 'resources': [ROW]})
        self.assertIn('kernel_route  254,198.51.100.10/32  route    refused',
                      text)
        self.assertIn('no space (again in 4 s)', text)

    def test_nothing(self):
        self.assertEqual('no addresses\n', self.text())
        # The message to standard error says more.
        self.assertEqual('', self.text(unknown=['203.0.113.9']))

    def test_the_states_are_those_of_the_agent(self):
        self.assertEqual({state.value for state in resource_rows.State},
                         set(status.STATES))
