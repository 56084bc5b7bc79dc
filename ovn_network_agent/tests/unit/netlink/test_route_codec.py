# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Our own codec of routes and pyroute2's do the same."""

import errno
import ipaddress
import unittest
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st
from pyroute2.netlink.rtnl import rtmsg

from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.tests.unit.netlink import reference

tables = st.integers(1, 2 ** 32 - 1)
octets = st.integers(0, 255)
words = st.integers(0, 2 ** 32 - 1)
indexes = st.integers(1, 2 ** 31 - 1)
versions = st.sampled_from((4, 6))


def texts_of(version):
    """Addresses as text; of IPv6 also some that hold one of IPv4."""
    if version == 4:
        return st.ip_addresses(v=4).map(str)
    return (st.ip_addresses(v=6) | words.map(
        lambda low: ipaddress.IPv6Address(0xffff << 32 | low))).map(str)


@st.composite
def prefixes(draw, version):
    """(text, address, length) of a prefix."""
    address = draw(texts_of(version))
    length = draw(st.sampled_from((0, 32, 32 if version == 4 else 128)) |
                  st.integers(0, 32 if version == 4 else 128))
    network = ipaddress.ip_network((address, length), strict=False)
    return str(network), str(network.network_address), length


def encoded(fields, attributes):
    """Body of a message of pyroute2, nothing of which is changed."""
    message = rtmsg.rtmsg()
    message.update(fields)
    message['attrs'] = list(attributes)
    message.encode()
    return bytes(message.data[wire.HEADER.size:])


def decoded(body):
    """A message of pyroute2, with the header that it wants."""
    message = rtmsg.rtmsg(wire.message(routes.RTM_NEWROUTE, 0, 0, body))
    message.decode()
    return message


class EncodingTest(unittest.TestCase):
    """Byte by byte what pyroute2 writes."""

    @given(st.data(), versions, tables, indexes, octets, st.booleans())
    def test_set(self, data, version, table, index, protocol, with_gateway):
        text, address, length = data.draw(prefixes(version))
        via = data.draw(texts_of(version)) if with_gateway else ''
        link = version == 4 and not via
        expected = encoded({
            'family': 2 if version == 4 else 10, 'dst_len': length,
            'table': table if table < 256 else 0, 'proto': protocol,
            'scope': rtmsg.RT_SCOPE_LINK if link else 0,
            'type': route_codec.RTN_UNICAST}, [
                *([('RTA_DST', address)] if length else ()),
                ('RTA_TABLE', table), ('RTA_OIF', index),
                *([('RTA_GATEWAY', via)] if via else ())])
        body = route_codec.encode(table, text, index, via, protocol)
        self.assertEqual(expected, body)
        found = decoded(body)
        self.assertEqual(
            (address if length else None, length, table, index, via or None,
             protocol),
            (canonical(found.get_attr('RTA_DST')), found['dst_len'],
             found.get_attr('RTA_TABLE'), found.get_attr('RTA_OIF'),
             canonical(found.get_attr('RTA_GATEWAY')), found['proto']))

    @given(st.data(), versions, tables, octets)
    def test_delete(self, data, version, table, protocol):
        text, address, length = data.draw(prefixes(version))
        self.assertEqual(encoded({
            'family': 2 if version == 4 else 10, 'dst_len': length,
            'table': table if table < 256 else 0, 'proto': protocol,
            'scope': rtmsg.RT_SCOPE_NOWHERE}, [
                *([('RTA_DST', address)] if length else ()),
                ('RTA_TABLE', table)]),
            route_codec.encode_key(table, text, protocol))


def canonical(address):
    """pyroute2 asks inet_ntop(), which writes mapped addresses otherwise."""
    return None if address is None else str(ipaddress.ip_address(address))


class DecodingTest(unittest.TestCase):
    """What pyroute2 has written, and what the kernel adds to it."""

    @given(st.data(), versions, st.none() | tables, octets,
           st.none() | indexes, st.none() | words, st.booleans(),
           st.booleans())
    def test_route(self, data, version, table, protocol, index, metric,
                   several, cloned):
        text, address, length = data.draw(prefixes(version))
        via = data.draw(st.none() | texts_of(version))
        # A route of IPv4 may have a gateway of IPv6.
        other = version == 4 and via is None and data.draw(
            st.none() | texts_of(6))
        prefsrc = data.draw(st.none() | texts_of(version))
        attributes = [(name, value) for name, value in (
            ('RTA_DST', address if length else None), ('RTA_TABLE', table),
            ('RTA_PREFSRC', prefsrc), ('RTA_OIF', index),
            ('RTA_GATEWAY', via), ('RTA_PRIORITY', metric),
            ('RTA_VIA', {'family': 10, 'addr': other} if other else None),
            ('RTA_MULTIPATH', [{'hops': 0, 'oif': 1, 'flags': 0}]
             if several else None),
            ('RTA_PREF', 0), ('RTA_METRICS', {'attrs': [('RTAX_MTU', 1400)]}),
            ('RTA_CACHEINFO', {'rta_used': 7})) if value is not None]
        body = encoded({
            'family': 2 if version == 4 else 10, 'dst_len': length,
            'table': 254, 'proto': protocol, 'type': 1,
            'flags': route_codec.RTM_F_CLONED if cloned else 0}, attributes)
        names = {index: 'br-ex'}
        expected = None if cloned else route_codec.Route(
            254 if table is None else table, text,
            'br-ex' if index is not None and not several else '',
            via or canonical(other or None), protocol, metric or 0)
        for decode in route_codec.decode, reference.decode:
            self.assertEqual(expected, decode(body, 0, len(body), names))

    @given(st.lists(st.tuples(
        st.sampled_from([1, 24, 32]), st.sampled_from([0, 1]),
        st.sampled_from(['RTA_TABLE', 'RTA_PRIORITY', '']),
        st.sampled_from(['203.0.113.1', None]), st.booleans(),
        st.integers(0, 3), st.booleans()), max_size=8))
    def test_many_routes_are_as_single_ones(self, drawn):
        datas = []
        for length, cloned, first, via, twice, number, short in drawn:
            rest = [('RTA_OIF', 7), *([('RTA_GATEWAY', via)] if via else ())]
            body = encoded(
                {'family': 2, 'dst_len': length, 'table': 254, 'proto': 44,
                 'type': 1, 'flags': route_codec.RTM_F_CLONED * cloned},
                [*([(first, 9)] if first else ()),
                 ('RTA_DST', f'198.51.100.{number}'), *rest,
                 *([('RTA_DST', '192.0.2.1')] if twice else ())])
            datas.append(body[:28] if short else body)
        names = {7: 'br-ex'}
        single = [route_codec.decode(data, 0, len(data), names)
                  for data in datas]
        self.assertEqual(
            [route for route in single if route is not None],
            route_codec.decode_all(
                [(b'x' + data + b'y', 1, 1 + len(data)) for data in datas],
                names))

    def test_names_that_cannot_be_asked_for(self):
        """A device is gone only where the kernel says so."""
        self.assertEqual('', route_codec.device(2 ** 31 - 1, {}))
        with mock.patch.object(route_codec.socket, 'if_indextoname',
                               side_effect=OSError(errno.EMFILE, 'no')):
            self.assertRaises(OSError, route_codec.device, 1, {})

    @given(st.data(), octets)
    def test_other_families(self, data, family):
        """Notifications of MPLS and multicast routes are left alone."""
        if family in (2, 10):
            return
        body = route_codec.RTMSG.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
        for decode in route_codec.decode, reference.decode:
            self.assertIsNone(decode(body, 0, len(body), {}))
