# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Links that egress addresses may be on: their networks and their routes."""

import dataclasses
import socket
import struct
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import texts
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import routes

# The most routes of a link that are copied.  A link with more has those of
# BGP, and each change of one would cost a computation of all drivers.
MOST = 512
# Devices of a switch, tunnels, and devices without a network of their own.
_KINDS = frozenset(('openvswitch', 'geneve', 'vxlan', 'gre', 'gretap', 'stt',
                    'vrf', 'wireguard'))
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
# struct rtnexthop: length, flags, hops, ifindex.
_HOP = struct.Struct('=HBBi')
_DEAD = 1


class Chosen(typing.NamedTuple):
    """Which links count."""

    # Names of provider bridges, whose devices are no links.
    bridges: frozenset[str] = frozenset()
    # Names of further devices that are none.
    others: frozenset[str] = frozenset()
    # The egress addresses of this node; only the links that have their
    # networks get routes.
    egress: frozenset[str] = frozenset()


def read(kernel: connection.Connection,
         chosen: Chosen) -> tuple[model.Link, ...]:
    """The links of this node, sorted by name."""
    found = links.read(kernel)
    by_index = {link.index: link for link in found.values()}
    own: dict[int, set[str]] = {}
    for each in addresses.read(kernel):
        # Without a mark, as of Linux before 5.18, it may be the agent's.
        if each.protocol != ownership.ADDRESS_PROTOCOL and _is_usual(
                each.address, chosen):
            own.setdefault(each.index, set()).add(each.address)
    made = []
    for name, link in sorted(found.items()):
        if link.up and not _is_internal(link, chosen) and any(map(
                _is_network, own.get(link.index, ()))):
            master = by_index.get(link.master)
            vrf = master if master and master.vrf_table else None
            made.append(model.Link(
                name, link.index,
                vrf.vrf_table if vrf else route_codec.MAIN_TABLE,
                vrf.name if vrf else '', tuple(sorted(own[link.index]))))
    return tuple(_with_routes(kernel, link) if any(
        map(link.is_on, chosen.egress)) else link for link in made)


def read_all(chosen: Chosen) -> tuple[model.Link, ...]:
    """As :func:`read`, on a new connection."""
    with connection.Connection() as kernel:
        return read(kernel, chosen)


def _is_usual(text: str, chosen: Chosen) -> bool:
    own = ip_text.interface(text)
    return not (own.is_loopback or own.is_link_local) and (
        _is_network(text) or str(own.ip) not in chosen.egress)


def _is_network(text: str) -> bool:
    return ip_text.interface(text).network.num_addresses > 1


def _is_internal(link: links.Link, chosen: Chosen) -> bool:
    return (link.kind in _KINDS or link.name in chosen.others or
            bridges.is_segment_device(link.name, chosen.bridges) or
            evpn_names.is_device(link.name) or
            evpn_names.is_vrf_end(link.name) or
            links.is_of_machine(link.name))


def _with_routes(kernel: connection.Connection,
                 link: model.Link) -> model.Link:
    """The link with the routes through it, of which the best count."""
    best: dict[str, tuple[int, str]] = {}
    for family in _FAMILIES:
        body = messages.encode(
            routes.MESSAGE, [('RTA_TABLE', link.table),
                             ('RTA_OIF', link.index)], family=family,
            table=link.table if link.table < 256 else 0)
        for data, start, end in kernel.dump(routes.RTM_GETROUTE, body):
            way = decode(data, start, end, link.index)
            if way is not None and (way[1:] < best.get(way[0], (1 << 32, ))):
                best[way[0]] = way[1:]
    copied = tuple(sorted((dst, via) for dst, (_metric, via)
                          in best.items()))
    return dataclasses.replace(
        link, crowded=len(copied) > MOST,
        routes=copied if len(copied) <= MOST else ())


def decode(data: bytes, start: int, end: int,
           index: int) -> tuple[str, int, str] | None:
    """(destination, metric, gateway or '') of a route through a link, or None.

    Also None for the agent's, and with a gateway of the other family.
    """
    if end - start < route_codec.RTMSG.size:
        raise ValueError(f'netlink route of {end - start} bytes')
    (_family, _length, _source, _tos, _table, protocol, _scope, kind,
     flags) = route_codec.RTMSG.unpack_from(data, start)
    route = route_codec.decode(data, start, end, {index: ''})
    if (route is None or kind != route_codec.RTN_UNICAST or flags & _DEAD or
            protocol == ownership.ROUTE_PROTOCOL or
            route.dst.startswith('fe80:')):
        return None
    found = route_codec.attributes(data, start + route_codec.RTMSG.size, end)
    via = _gateway(found, index)
    if via is None or via and (':' in via) != (':' in route.dst):
        return None
    if protocol == route_codec.RTPROT_KERNEL and route.dst.endswith('/128'):
        # The kernel makes it for an address, also one of the agent.
        return None
    return route.dst, route.metric, via


def _gateway(found: dict[int, bytes], index: int) -> str | None:
    """The gateway through a link, '' for none, None for another link."""
    if route_codec.RTA_MULTIPATH not in found:
        if route_codec.number(found.get(route_codec.RTA_OIF)) != index:
            return None
        return _via(found)
    hops, start = found[route_codec.RTA_MULTIPATH], 0
    while start + _HOP.size <= len(hops):
        length, flags, _hops, out = _HOP.unpack_from(hops, start)
        if not _HOP.size <= length <= len(hops) - start:
            raise ValueError(f'netlink next hop of {length} bytes')
        if out == index and not flags & _DEAD:
            return _via(route_codec.attributes(
                hops, start + _HOP.size, start + length))
        start += (length + 3) & ~3
    return None


def _via(found: dict[int, bytes]) -> str:
    if route_codec.RTA_GATEWAY in found:
        return texts.address_text(found[route_codec.RTA_GATEWAY])
    return (route_codec.via_text(found[route_codec.RTA_VIA])
            if route_codec.RTA_VIA in found else '')
