# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What crosses the wall for a table: all of it is checked."""

import hypothesis
from hypothesis import strategies as general
import msgpack
from oslotest import base

from ovn_network_agent.drivers import port_forward
from ovn_network_agent.nft import values
from ovn_network_agent.tests.unit import golden
from ovn_network_agent.tests.unit.nft import places
from ovn_network_agent.tests.unit.nft import strategies


class CodecTest(base.BaseTestCase):

    def refused(self, packed):
        self.assertRaises(ValueError, values.unpack, packed)

    @hypothesis.given(strategies.tables())
    def test_both_ways(self, table):
        """Through the wall, which knows tuples, numbers and texts."""
        crossed = msgpack.unpackb(msgpack.packb(values.pack(table)),
                                  use_list=False)
        self.assertEqual(table, values.unpack(crossed))

    def test_nothing_else_in_any_place(self):
        """Each value of each field is exchanged for each of the hostile."""
        for name in ('masquerade', 'weights', 'ipv6'):
            packed = values.pack(port_forward.wanted(
                *golden.cases()[name]).content)
            for path in places.everywhere(packed):
                for value in places.HOSTILE:
                    with self.subTest(name, path=path, value=value):
                        self.refused(places.exchanged(packed, path, value))

    def test_a_number_is_no_truth_and_a_truth_no_number(self):
        packed = values.pack(port_forward.wanted(
            *golden.cases()['weights']).content)
        for path in places.everywhere(packed):
            value = places.at(packed, path)
            if type(value) is bool:
                self.refused(places.exchanged(packed, path, int(value)))
            elif type(value) is int:
                self.refused(places.exchanged(packed, path, True))

    @hypothesis.given(strategies.tables(), general.data())
    def test_no_text_of_any_kind_in_any_place(self, table, data):
        packed = values.pack(table)
        paths = list(places.everywhere(packed))
        path = data.draw(general.sampled_from(paths))
        known = {places.at(packed, other) for other in paths
                 if type(places.at(packed, other)) is str}
        text = data.draw(general.text())
        hypothesis.assume(text not in known | {'tcp', 'udp', 'ip', 'ip6'})
        self.refused(places.exchanged(packed, path, text))

    def test_a_field_too_many_or_too_few(self):
        content = port_forward.wanted(*golden.cases()['weights']).content
        [vip] = content.vips
        [service] = vip.services
        packed = values.pack(content)
        for path in places.everywhere(packed):
            value = places.at(packed, path)
            if type(value) is tuple:
                self.refused(places.exchanged(packed, path, list(value)))
                self.refused(places.exchanged(packed, path, (*value, None)))
                # A service without shares sends nobody anywhere.
                if value != service.shares:
                    self.refused(places.exchanged(packed, path, ()))

    def test_of_one_family(self):
        for name, family in (('ipv6', 'ip'), ('one_vip', 'ip6')):
            packed = values.pack(port_forward.wanted(
                *golden.cases()[name]).content)
            self.refused((family, *packed[1:]))

    def test_a_service_is_there_once(self):
        packed = values.pack(port_forward.wanted(
            *golden.cases()['one_vip']).content)
        for path in ((3,), (3, 0, 3)):
            found = places.at(packed, path)
            self.refused(places.exchanged(packed, path, found + found))

    def test_no_more_than_a_table_can_have(self):
        def packed(count):
            share = (0, 1)
            return ('ip', 1, True, (('192.0.2.1', False, False, ((
                'tcp', 1, 1, False, (('10.0.0.1', True),),
                (share,) * count),)),), False)

        self.assertIsInstance(values.unpack(packed(1024)), values.Table)
        self.refused(packed(values.MOST))
