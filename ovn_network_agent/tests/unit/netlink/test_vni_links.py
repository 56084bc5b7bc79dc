# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The devices of EVPN: what is encoded decodes to the same."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import vni_links

MAC = '06:6f:00:00:00:01'
tunnels = st.builds(vni_links.Tunnel, st.integers(1, (1 << 24) - 1),
                    st.ip_addresses(v=4).map(str), st.integers(1, 65535),
                    st.integers(0, 1 << 20), st.booleans())


def link(body):
    return links.decode(body, 0, len(body))


class VniLinksTest(unittest.TestCase):

    @given(tunnels, st.integers(68, 65535))
    def test_vxlan_device(self, tunnel, mtu):
        body = vni_links.encode_vxlan('vxlan-1', tunnel, mtu)
        self.assertEqual('vxlan', link(body).kind)
        self.assertEqual(vni_links.Details(mtu, False, tunnel, False, True),
                         vni_links.decode(body))

    @given(st.integers(1, (1 << 32) - 1))
    def test_vrf(self, table):
        found = link(vni_links.encode_vrf('vrf-1', table))
        self.assertEqual(('vrf-1', 'vrf', table),
                         (found.name, found.kind, found.vrf_table))

    def test_bridge_and_pair(self):
        for body, kind in (
                (vni_links.encode_bridge('x', MAC), 'bridge'),
                (vni_links.encode_veth('x', 'y', MAC, 1500), 'veth')):
            found = link(body)
            self.assertEqual(('x', kind, MAC),
                             (found.name, found.kind, found.mac))
            self.assertIsNone(vni_links.decode(body).tunnel)

    def test_addresses_of_its_own(self):
        self.assertTrue(vni_links.decode(vni_links.encode_change(
            'x', vni_links.SILENT)).silent)
        for mode in (0, 2, 3):
            body = messages.encode(vni_links.MESSAGE, [('IFLA_AF_SPEC', {
                'attrs': [('AF_INET6', {'attrs': [
                    ('IFLA_INET6_ADDR_GEN_MODE', mode)]})]})])
            self.assertFalse(vni_links.decode(body).silent)

    def test_port_of_a_bridge(self):
        self.assertTrue(vni_links.decode(
            vni_links.encode_change('x', vni_links.SETTLED)).settled)
        for kind, learning, suppress in (
                ('bridge', 1, 1), ('bridge', 0, 0), ('vrf', 0, 1)):
            body = messages.encode(vni_links.MESSAGE, [('IFLA_LINKINFO', {
                'attrs': [('IFLA_INFO_SLAVE_KIND', kind), (
                    'IFLA_INFO_SLAVE_DATA', {'attrs': [
                        ('IFLA_BRPORT_LEARNING', learning),
                        ('IFLA_BRPORT_NEIGH_SUPPRESS', suppress)]}
                    if kind == 'bridge' else '00')]})])
            self.assertFalse(vni_links.decode(body).settled)

    def test_what_is_not_there(self):
        self.assertEqual(vni_links.Details(0, False, None, False),
                         vni_links.decode(vni_links.encode_change(
                             'x', ('IFLA_IFALIAS', 'y'))))

    @given(st.binary(max_size=64))
    def test_garbage_is_an_error(self, data):
        try:
            vni_links.decode(data)
        except ValueError:
            pass
