# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Dumps that are looked at before they are decoded, in portions."""

import random
import struct

from oslotest import base

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import routes


class KindsTest(base.BaseTestCase):

    def test_the_end_is_found_wherever_it_is(self):
        dice = random.Random(32)
        for _time in range(500):
            sent = [(dice.choice((24, 24, 24, 28)), dice.choice((2, 2, 18)),
                     dice.randbytes(dice.choice((20, 20, 20, 23))))
                    for _message in range(dice.randint(0, 30))]
            sent.append((wire.NLMSG_DONE, 2, struct.pack('=i', 0)))
            data = b''.join(self.padded(*message) for message in sent)
            found = list(wire.kinds(data))
            self.assertEqual(wire.NLMSG_DONE, found[-1][0])
            self.assertEqual({kind for kind, _flags, _body in sent},
                             {kind for kind, *_rest in found})
            self.assertEqual({flags for _kind, flags, _body in sent},
                             {flags - 1 for _kind, flags, *_rest in found})

    @staticmethod
    def padded(kind, flags, body):
        made = wire.message(kind, flags, 7, body)
        return made + bytes(-len(made) & 3)

    def test_a_length_that_does_not_fit(self):
        data = self.padded(24, 2, bytes(20))
        for wrong in (data[:-1], data + data[:20]):
            self.assertRaises(ValueError, list, wire.kinds(wrong))


class DigestTest(base.BaseTestCase):

    def test_each_byte_and_each_dump_counts(self):
        dumps = [[b'ab', b'c'], [b'd']]
        digests = {wire.digest(each) for each in (
            dumps, [[b'ab', b'c'], [b'e']], [[b'ab'], [b'c', b'd']],
            [[b'ab', b'c'], []], [[], []], [[]])}
        self.assertEqual(6, len(digests))
        self.assertIn(wire.digest(dumps), digests)


NAMES = {7: 'br-ex'}


def message(dst, table=254, metric=0, sequence=1):
    """A route as the kernel tells of it."""
    body = route_codec.encode(table, dst, 7, '', 44, metric)
    head, rest = body[:12], body[12:]
    found = route_codec.attributes(rest)
    order = [route_codec.RTA_TABLE, route_codec.RTA_DST,
             route_codec.RTA_PRIORITY, route_codec.RTA_OIF]
    return wire.message(24, 0, sequence, head + b''.join(
        route_codec.attribute(kind, found[kind]) for kind in order
        if kind in found))


def many(count=1000):
    return [message(f'198.51.{n >> 8}.{n & 255}/32') for n in range(count)]


def datagrams(messages, size=300):
    return [b''.join(messages[n:n + size])
            for n in range(0, len(messages), size)]


def decoded(pieces):
    return route_codec.decode_all(connection.objects(pieces), NAMES)


class PortionsTest(base.BaseTestCase):

    def test_each_route_is_in_one_portion(self):
        messages = [*many(), message('0.0.0.0/0'), message('::/0'),
                    message('2001:db8::1/128'), message('0.0.0.0/0', 9, 5),
                    *(message('198.51.1.0/32', 254, metric)
                      for metric in (7, 8)),
                    message('198.51.1.0/24'), message('198.51.1.3/32', 9)]
        whole = [decoded([one])[0] for one in messages]
        dice = random.Random(35)
        for _time in range(20):
            dice.shuffle(messages)
            found = [decoded(pieces) for pieces in routes.divide(
                [datagrams(messages, dice.randrange(1, 400))]).values()]
            self.assertCountEqual(whole, [
                route for some in found for route in some])
            places = [{route[:2] for route in some} for some in found]
            self.assertEqual(sum(map(len, places)), len(set().union(*places)))

    def test_one_portion_changes_with_a_route(self):
        messages = many()
        before = routes.divide([datagrams(messages)])
        self.assertEqual(4, len(before))
        for changed in (
                [*messages[:500], *messages[501:]],
                [*messages[:500], message('198.51.1.7/32', 254, 9),
                 *messages[500:]],
                [*messages, message('203.0.113.1/32')]):
            after = routes.divide([datagrams(changed)])
            self.assertLessEqual(len(after.keys() - before.keys()), 1)
            self.assertNotEqual(after.keys(), before.keys())

    def test_what_does_not_fit(self):
        for wrong in (many(2)[0] + many(2)[1][:-1], b'x' * 40,
                      wire.message(24, 0, 1, route_codec.RTMSG.pack(
                          2, 32, 0, 0, 254, 44, 0, 1, 0) + b'\xff' * 16)):
            self.assertRaises(ValueError, lambda data=wrong: [
                decoded(pieces) for pieces in
                routes.divide([[data]]).values()])
