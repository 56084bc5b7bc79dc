# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Bodies of netlink messages, and the frames around them."""

import contextlib
import struct

from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import multicast
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import conntrack
from ovn_network_agent.netlink.objects import egress_links
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.tests.fuzz.target import Target
from ovn_network_agent.tests.unit.netlink import reference
from ovn_network_agent.watches import kernel
from ovn_network_agent.watches import nftables as nft_watch

_ZONE = 64000
_TARGETS = {(6, '192.0.2.53', 53, '10.0.0.5', 53)}


class Dumped:
    """A connection whose dumps and answers are one body."""

    def __init__(self, data):
        self._data = data

    def dump(self, _kind, _body, wanted=None):
        if wanted is None or wanted(self._data, 0, len(self._data)):
            return [(self._data, 0, len(self._data))]
        return []

    def datagrams(self, _kind, _body):
        return [wire.message(routes.RTM_NEWROUTE, 0, 1, self._data)]

    def ask(self, _kind, _body):
        return self._data, 0, len(self._data)


class Replied(connection.Connection):
    """A connection whose socket has received one datagram."""

    def __init__(self, data):
        self._sequence, self._socket = 0, self
        self._data = [data]

    def send(self, _data):
        pass

    def recv(self, _size):
        if not self._data:
            raise TimeoutError('nothing more')
        return self._data.pop()


def _route(data):
    fast = single = None
    with contextlib.suppress(ValueError):
        fast = route_codec.decode(data, 0, len(data))
        both = route_codec.decode_all([(data, 0, len(data))] * 2, {})
        assert both == ([] if fast is None else [fast, fast]), both
    with contextlib.suppress(ValueError):
        single = reference.decode(data, 0, len(data))
    routes.read(Dumped(data), 0, 0, (2,))
    routes.has_default(Dumped(data), 1, 10)
    for index in (1, 3):
        with contextlib.suppress(ValueError):
            egress_links.decode(data, 0, len(data), index)
    return fast, single


def _neighbour(data):
    neighbours.read(Dumped(data), permanent=True)
    neighbours.read_proxies(Dumped(data), 10)
    neighbours.look_up(Dumped(data), 1, '192.0.2.1')


def _tracked(data):
    for family in conntrack.FAMILIES:
        for one in conntrack.read_senders(Dumped(data), family, {
                '10.0.0.5', '192.0.2.1'}):
            conntrack.deletion(one)
        for wanted in (None, _TARGETS):
            for one in conntrack.read(Dumped(data), family, _ZONE, wanted):
                conntrack.deletion(one)


def _frames(data):
    found = list(wire.messages(data))
    for kind, _flags, _seq, _port, start, end in found:
        multicast.table(kind, data, start, end)
    # Those of one kind in a row are one.
    alone = [(kind, flags) for kind, flags, _seq, _port, _start, _end in found]
    several = [(kind, flags) for kind, flags, _seq, _start, _end
               in wire.kinds(data)]
    assert set(alone) == set(several), (alone, several)


def _answers(data):
    with contextlib.suppress(OSError):
        Replied(data).dump(18, b'', None)
    with contextlib.suppress(OSError):
        Replied(data).ask(18, b'')
    Replied(data).batch([(16, 0, b'')])


def _news(data):
    kernel.LinkWatch(None, ('lo',))._news(iter([data]))
    nft_watch.TableWatch(None)._news(iter([data]))


def _target(name, function, *modules, errors=(ValueError,)):
    return Target(f'netlink.{name}', function, errors, modules,
                  words=tuple(struct.pack('=HH', 8, kind)
                              for kind in (1, 2, 4, 5, 9, 15, 18, 20)))


TARGETS = (
    _target('route', _route, 'netlink.route_codec', 'netlink.objects.routes',
            'netlink.texts', 'netlink.messages',
            'netlink.objects.egress_links'),
    _target('rule', lambda data: rules.read(Dumped(data)),
            'netlink.objects.rules'),
    _target('link', lambda data: links.read(Dumped(data)),
            'netlink.objects.links'),
    _target('vni_link', vni_links.decode, 'netlink.objects.vni_links'),
    _target('address', lambda data: addresses.read(Dumped(data)),
            'netlink.objects.addresses'),
    _target('neighbour', _neighbour, 'netlink.objects.neighbours'),
    _target('lookup', lambda data: lookups.look_up(
        Dumped(data), '192.0.2.1').text(), 'netlink.objects.lookups'),
    _target('conntrack', _tracked, 'netlink.objects.conntrack'),
    _target('frames', _frames, 'netlink.wire', 'netlink.multicast',
            'netlink.wire'),
    _target('answers', _answers, 'netlink.connection',
            errors=(ValueError, OSError)),
    _target('news', _news, 'watches.kernel', 'netlink.multicast',
            errors=(ValueError, OSError)),
)
