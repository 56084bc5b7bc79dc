# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The netlink codec: what is encoded decodes to the same."""

import ipaddress
import struct
import unittest

from hypothesis import given
from hypothesis import strategies as st
from pyroute2 import netlink
from pyroute2.netlink.rtnl import ndmsg

from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import multicast
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.tests.unit.netlink import reference

tables = st.integers(1, 2 ** 32 - 1)
octets = st.integers(0, 255)
marks = st.integers(1, 2 ** 32 - 1)
names = st.text('abcdefghij-.0123456789', min_size=1, max_size=15)

# linux/if_addr.h, linux/neighbour.h, linux/if_link.h: sizes of headers and
# numbers of attributes.
IFADDRMSG, IFA_LOCAL = 8, 2
NDMSG, NDA_DST, NDA_LLADDR, NDA_PROTOCOL = 12, 1, 2, 12
IFLA_IFNAME, IFLA_LINKINFO = 3, 18
IFLA_INFO_KIND, IFLA_INFO_DATA, IFLA_VRF_TABLE = 1, 2, 1
IFLA_VLAN_ID, IFLA_VLAN_PROTOCOL = 1, 5


def string(kind, text):
    """An attribute that holds a text."""
    return route_codec.attribute(kind, text.encode() + b'\0')


def nested(kind, *attributes):
    """An attribute that holds others."""
    return route_codec.attribute(
        kind | netlink.NLA_F_NESTED, b''.join(attributes))


@st.composite
def prefixes(draw, v=None):
    """A prefix in canonical text."""
    address = draw(st.ip_addresses(v=v))
    length = draw(st.integers(0, address.max_prefixlen))
    return str(ipaddress.ip_network((address, length), strict=False))


class WireTest(unittest.TestCase):

    @given(st.dictionaries(st.integers(1, 0x3fff), st.binary(max_size=40)))
    def test_attributes(self, wanted):
        data = b''.join(route_codec.attribute(kind, payload)
                        for kind, payload in wanted.items())
        self.assertEqual(0, len(data) % 4)
        self.assertEqual(wanted, route_codec.attributes(data))

    @given(st.lists(st.tuples(
        st.integers(0, 0xffff), st.integers(0, 0xffff),
        st.integers(0, 2 ** 32 - 1),
        st.binary(max_size=40).map(lambda b: b + bytes(-len(b) & 3)))))
    def test_messages(self, wanted):
        data = b''.join(wire.message(*item) for item in wanted)
        self.assertEqual(
            [(kind, flags | wire.NLM_F_REQUEST, sequence, 0, body)
             for kind, flags, sequence, body in wanted],
            [(*head, data[start:end])
             for *head, start, end in wire.messages(data)])

    @given(st.binary(max_size=200))
    def test_garbage_is_an_error_and_never_a_loop(self, data):
        for parse in (route_codec.attributes,
                      lambda d: list(wire.messages(d))):
            try:
                parse(data)
            except ValueError as error:
                self.assertIn('does not fit', str(error))

    @given(prefixes())
    def test_prefix(self, prefix):
        network = ipaddress.ip_network(prefix)
        _family, packed, length = texts.parse_prefix(prefix)
        self.assertEqual((network.network_address.packed,
                          network.prefixlen), (packed, length))

    def test_what_is_no_prefix(self):
        for text in ('', '/', '10.0.0.0', '10.0.0.0/', '10.0.0.0/33',
                     '10.0.0.1/24', '10.0.0.0/-1', '10.0.0.0/ 8',
                     '10.0.0.0/²', '10.0.0/8', '010.0.0.0/8', '::/129',
                     '::1/64', 'fe80::%1/64', '10.0.0.0/8/8'):
            with self.subTest(text), self.assertRaises(ValueError):
                texts.parse_prefix(text)

    def test_host_bits_are_explained(self):
        with self.assertRaisesRegex(ValueError, '10.0.0.0/24 would be one'):
            texts.parse_prefix('10.0.0.1/24')

    @given(st.binary(min_size=6, max_size=6))
    def test_mac(self, mac):
        self.assertEqual(mac, texts.mac_bytes(texts.mac_text(mac)))

    def test_what_is_no_mac(self):
        for text in ('', '02:00:00:00:00', '02:00:00:00:00:0G',
                     '02:00:00:00:00:AA', '020000000001',
                     '02:00:00:00:00:01:02'):
            with self.subTest(text), self.assertRaises(ValueError):
                texts.mac_bytes(text)


class ObjectsTest(unittest.TestCase):

    def test_default_route_in_both_encodings(self):
        """Trap T58: without a destination, or with one of zeros."""
        without = route_codec.encode(200, '0.0.0.0/0', 7, '', 44)
        with_zeros = without + route_codec.attribute(
            route_codec.RTA_DST, bytes(4))
        for body in (without, with_zeros):
            for decode in route_codec.decode, reference.decode:
                self.assertEqual('0.0.0.0/0', decode(
                    body, 0, len(body), {7: ''}).dst)

    def test_families_are_not_mixed(self):
        with self.assertRaises(ValueError):
            route_codec.encode(254, '10.0.0.0/8', 1, '::1', 44)
        with self.assertRaises(ValueError):
            rules.encode(rules.Rule(1, 2, '10.0.0.0/8', '::/8', None, None,
                                    44))
        with self.assertRaises(ValueError):
            rules.encode(rules.Rule(1, 2, '10.0.0.0/8', None, None, None,
                                    44, ipv6=True))

    @given(st.builds(
        rules.Rule, st.integers(1, 32765), tables,
        st.none() | prefixes(v=4), st.none() | prefixes(v=4),
        st.none() | names, st.none() | st.tuples(marks, marks), octets,
        st.none() | st.integers(0, 32), st.none()))
    def test_rule(self, rule):
        body = rules.encode(rule)
        self.assertEqual(rule, rules.decode(body, 0, len(body)))

    def test_rule_without_a_prefix_has_a_family(self):
        for ipv6 in (None, True):
            rule = rules.Rule(1, 2, None, None, None, (1, 1), 44, ipv6=ipv6)
            body = rules.encode(rule)
            self.assertEqual(rule, rules.decode(body, 0, len(body)))

    def test_rule_that_says_more_is_not_ours(self):
        body = rules.encode(rules.Rule(1, 2, '10.0.0.0/8', None, None, None,
                                       44))
        for kind in (17, 19, 20, 22, 23):  # oif, l3mdev, uid, ports
            more = body + route_codec.u32(kind, 1)
            self.assertIsNone(rules.decode(more, 0, len(more)))

    @given(st.ip_addresses().flatmap(lambda address: st.tuples(
        st.just(address), st.integers(0, address.max_prefixlen))))
    def test_address(self, item):
        address, length = item
        body = addresses.encode(7, f'{address}/{length}')
        message = messages.decode(addresses.MESSAGE, body, 0, len(body))
        found = route_codec.attributes(body, IFADDRMSG)
        self.assertEqual((7, address.packed, length), (
            message['index'], found[IFA_LOCAL], message['prefixlen']))

    @given(st.ip_addresses(), st.binary(min_size=6, max_size=6))
    def test_neighbour(self, dst, mac):
        body = neighbours.encode(7, str(dst), mac.hex(':'))
        message = messages.decode(neighbours.MESSAGE, body, 0, len(body))
        self.assertEqual((7, ndmsg.NUD_PERMANENT),
                         (message['ifindex'], message['state']))
        self.assertEqual({NDA_DST: dst.packed, NDA_LLADDR: mac},
                         route_codec.attributes(body, NDMSG))

    @given(st.ip_addresses(), st.integers(0, 255))
    def test_neighbour_proxy(self, dst, protocol):
        body = neighbours.encode_proxy(7, str(dst), protocol)
        message = messages.decode(neighbours.MESSAGE, body, 0, len(body))
        self.assertEqual((7, 0, ndmsg.NTF_PROXY), tuple(
            message[name] for name in ('ifindex', 'state', 'flags')))
        marks = {NDA_PROTOCOL: bytes([protocol])} if protocol else {}
        self.assertEqual({NDA_DST: dst.packed, **marks},
                         route_codec.attributes(body, NDMSG))

    def test_link_of_a_vrf(self):
        body = links.encode_up(7) + string(IFLA_IFNAME, 'vrf-p') + nested(
            IFLA_LINKINFO, string(IFLA_INFO_KIND, 'vrf'),
            nested(IFLA_INFO_DATA, route_codec.u32(IFLA_VRF_TABLE, 10000)))
        self.assertEqual(
            links.Link(7, 'vrf-p', '', True, 'vrf', 0, 0, '', 10000),
            links.decode(body, 0, len(body)))

    def test_link_of_a_vlan(self):
        for protocol, tag in ((0x8100, 101), (0x88a8, 0)):
            body = links.encode_vlan('br-ex.101', 3, 101)
            asked = links.decode(body, 0, len(body))
            self.assertEqual(('br-ex.101', 'vlan', 3),
                             (asked.name, asked.kind, asked.lower))
            shown = body + nested(
                IFLA_LINKINFO, string(IFLA_INFO_KIND, 'vlan'),
                nested(
                    IFLA_INFO_DATA,
                    route_codec.attribute(IFLA_VLAN_ID,
                                          struct.pack('=H', 101)),
                    route_codec.attribute(IFLA_VLAN_PROTOCOL,
                                          struct.pack('!H', protocol))))
            self.assertEqual(tag, links.decode(shown, 0, len(shown)).vlan)


class DependingTest(unittest.TestCase):
    """Addresses that the kernel removes together with another one."""

    PRESENT = [addresses.Address(1, '203.0.113.1/24', False),
               addresses.Address(1, '203.0.113.2/24', True),
               addresses.Address(1, '203.0.113.3/25', True),
               addresses.Address(1, '198.51.100.1/24', False),
               addresses.Address(1, '2001:db8::1/64', True)]

    def test_of_a_primary(self):
        self.assertEqual(['203.0.113.2/24'], addresses.depending(
            self.PRESENT, '203.0.113.1/24'))

    def test_of_others(self):
        for address in ('203.0.113.2/24', '198.51.100.1/24',
                        '203.0.113.9/24', '2001:db8::1/64'):
            self.assertEqual([], addresses.depending(self.PRESENT, address))


class FilterTest(unittest.TestCase):
    """The socket filter, interpreted."""

    def passes(self, kind, flags=0, protocol=0, length=32, family=2):
        data = (wire.HEADER.pack(28, kind, flags, 0, 0) +
                route_codec.RTMSG.pack(family, length, 0, 0, 254, protocol, 0,
                                       1, 0))
        program = multicast.route_filter(
            routes.RTM_NEWROUTE, routes.RTM_DELROUTE, 44, 196)
        at = accumulator = 0
        while True:
            code, true, false, operand = program[at]
            at += 1
            if code == 0x06:
                return bool(operand)
            if code in (0x28, 0x30):
                size = 2 if code == 0x28 else 1
                accumulator = int.from_bytes(data[operand:operand + size])
            elif code == 0x15:
                at += true if accumulator == operand else false
            else:
                at += true if accumulator & operand else false

    def test_deleted_routes(self):
        for protocol in (44, 196):
            self.assertTrue(self.passes(routes.RTM_DELROUTE, 0, protocol))
        self.assertFalse(self.passes(routes.RTM_DELROUTE, 0, 186))

    def test_new_routes(self):
        replace = wire.NLM_F_REPLACE
        self.assertTrue(self.passes(routes.RTM_NEWROUTE, replace, 186))
        self.assertFalse(self.passes(routes.RTM_NEWROUTE, replace, 44))
        self.assertFalse(self.passes(routes.RTM_NEWROUTE,
                                     wire.NLM_F_CREATE, 186))

    def test_default_routes(self):
        for kind in routes.RTM_NEWROUTE, routes.RTM_DELROUTE:
            self.assertTrue(self.passes(kind, 0, 186, 0))
            self.assertFalse(self.passes(kind, 0, 186, 0, 10))

    def test_everything_else(self):
        for kind in (links.RTM_NEWLINK, rules.RTM_DELRULE, 80):
            self.assertTrue(self.passes(kind, 0, 186))
