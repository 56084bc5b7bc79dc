# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The watch of the kernel's links, addresses, routes, rules and sysctls.

A notice carries only a kind, and its receiver reads again: order and
completeness do not matter.  ENOBUFS, an overflow, counts as all kinds.

Devices of machines are left out, as they come and go.  Routes change all the
time with BGP: a filter (:func:`multicast.route_filter`) passes deletions of
the agent's and of FRR's static routes, replacements by other programs, and
default routes, which the VRF needs.

FRR itself does not tell when a static route is removed from its configuration,
but zebra deletes the route in the kernel.

The kernel reports only ``forwarding`` and ``proxy_arp`` of a device.  Others
are read each second, which takes some
microseconds and no privileges.

Nobody reports a route without a neighbour, so it looks in the kernel.  See
:mod:`backends.kernel.vni_devices`.
"""

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
import socket
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import notices
from ovn_network_agent.conf import plugins
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import messages
from ovn_network_agent.netlink import multicast
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import neighbours
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.watches import base
from ovn_network_agent.watches import notifications
from ovn_network_agent.watches import rate_limit

LINK = 'link'
ADDRESS = 'address'
NEIGHBOUR = 'neighbour'
ROUTE = 'route'
RULE = 'rule'
SYSCTL = 'sysctl'
KINDS = (LINK, ADDRESS, NEIGHBOUR, ROUTE, RULE, SYSCTL)
STATIC = 'static'  # of FRR, no kind of object of the kernel
DEFAULT = 'default route'  # of IPv4, added or deleted by another program
ZEBRA_STATIC = 196  # RTPROT_ZSTATIC in zebra/rt_netlink.h of FRR
# Offsets in struct rtmsg.
_FAMILY = 0
_LENGTH = 1
_PROTOCOL = 5

_KIND = {
    links.RTM_NEWLINK: LINK, links.RTM_DELLINK: LINK,
    addresses.RTM_NEWADDR: ADDRESS, addresses.RTM_DELADDR: ADDRESS,
    neighbours.RTM_NEWNEIGH: NEIGHBOUR, neighbours.RTM_DELNEIGH: NEIGHBOUR,
    routes.RTM_NEWROUTE: ROUTE, routes.RTM_DELROUTE: ROUTE,
    rules.RTM_NEWRULE: RULE, rules.RTM_DELRULE: RULE,
    multicast.RTM_NEWNETCONF: SYSCTL, multicast.RTM_DELNETCONF: SYSCTL}

# Kind and text of each change, and the port of its author.
_Changes: typing.TypeAlias = Iterator[tuple[str, str, int]]


class LinkWatch(notifications.Watch):
    """A thread that reports changes of the kernel's network state.

    A device that goes or is set down takes its routes, addresses and
    neighbours without notifications, so LINK puts all in doubt.  Likewise
    ADDRESS: the last IPv4 address takes the IPv4 routes.

    :param callback: called with one of :data:`KINDS`, :data:`STATIC` or
        :data:`DEFAULT`, and with a text that names the change and its author,
        '' if not known; on the thread of the watch; must return soon
    :param neighbour_devices: whose neighbours matter, beside the veth ends in
        the VRFs of VNIs
    :param own_ports: netlink ports of the agent, whose changes are left out
        (:func:`ovn_network_agent.privileged.network.netlink.port`); called for
        each batch, so it should remember the answer
    :param owned: whether the agent has a route in a table to a destination:
        other protocols count only as replacement; None reports all
    :param announced: whether the agent wants FRR's static route there
    """

    NAME = 'netlink'
    EVERYTHING = [(kind, '') for kind in (*KINDS, STATIC, DEFAULT)]

    def __init__(self, callback: Callable[[str, str], object],
                 neighbour_devices: Iterable[str] = (),
                 own_ports: Callable[[], Container[int]] = frozenset,
                 owned: Callable[[int, str], bool] | None = None,
                 announced: Callable[[str], bool] = lambda dst: False
                 ) -> None:
        super().__init__(callback)
        self._neighbour_devices = frozenset(neighbour_devices)
        self._own_ports = own_ports
        self._owned = owned
        self._announced = announced

    def _open(self) -> socket.socket:
        return multicast.subscribe(multicast.KERNEL, multicast.route_filter(
            routes.RTM_NEWROUTE, routes.RTM_DELROUTE,
            ownership.ROUTE_PROTOCOL, ZEBRA_STATIC))

    def _news(self, datagrams: Iterator[bytes]) -> notifications.News:
        kinds: dict[str, str] = {}
        own = self._own_ports()
        for data in datagrams:
            for name, text, port in self._kinds(data, own, kinds):
                kinds[name] = text + multicast.described(port)
        return list(kinds.items())

    def _kinds(self, data: bytes, own: Container[int],
               known: Container[str]) -> _Changes:
        """The news in a datagram, without known kinds: decoding takes time."""
        for kind, flags, _seq, port, start, end in wire.messages(data):
            name = _KIND.get(kind)
            if name is None or port in own:
                continue
            if name == ROUTE and end - start > _PROTOCOL:
                name = _kind_of_route(kind, data, start)
            if name in known:
                continue
            if name == NEIGHBOUR and not self._neighbour(data, start, end):
                continue
            if _is_of_machine(name, data, start, end):
                continue
            if name in (ROUTE, STATIC):
                yield from self._route(kind, flags, port, data, start, end)
            else:
                yield name, f'a {name} was changed', port

    def _neighbour(self, data: bytes, start: int, end: int) -> bool:
        name = _name(messages.decode(neighbours.MESSAGE, data, start,
                                     end)['ifindex'])
        return name in self._neighbour_devices or (
            evpn_names.is_vrf_end(name))

    def _route(self, kind: int, flags: int, port: int, data: bytes, start: int,
               end: int) -> _Changes:
        route = route_codec.decode(data, start, end)
        if route is None:
            return
        what = f'route {route.dst} of table {route.table} was'
        if kind == routes.RTM_DELROUTE:
            if route.protocol == ownership.ROUTE_PROTOCOL:
                yield ROUTE, f'{what} deleted', port
            elif self._announced(route.dst):
                yield STATIC, f'the static {what} deleted', port
        elif (flags & wire.NLM_F_REPLACE
                and route.protocol != ownership.ROUTE_PROTOCOL
                and (self._owned is None
                     or self._owned(route.table, route.dst))):
            yield (ROUTE, f'{what} replaced with protocol {route.protocol}',
                   port)


def _is_of_machine(kind: str, data: bytes, start: int, end: int) -> bool:
    """Whether it is a machine's device, or gone, which LINK reports."""
    if kind == LINK:
        return links.is_of_machine(links.decode(data, start, end).name)
    if kind == ADDRESS:
        index = messages.decode(addresses.MESSAGE, data, start, end)['index']
    else:
        index = kind == SYSCTL and multicast.device_of_sysctls(data, start,
                                                               end)
    if not index:
        return False
    name = _name(index)
    return not name or links.is_of_machine(name)


def _name(index: int) -> str:
    try:
        return socket.if_indextoname(index)
    except (OSError, OverflowError):
        return ''


def _kind_of_route(kind: int, data: bytes, start: int) -> str:
    protocol = data[start + _PROTOCOL]
    if (data[start + _FAMILY] == socket.AF_INET and
            not data[start + _LENGTH] and
            protocol != ownership.ROUTE_PROTOCOL):
        return DEFAULT
    if kind == routes.RTM_DELROUTE and protocol == ZEBRA_STATIC:
        return STATIC
    return ROUTE


class Sysctls(base.Beating):
    """Checks once a second the sysctls that the agent has set."""

    def __init__(self, limiter: rate_limit.RateLimit,
                 heartbeats: base.Heartbeat) -> None:
        super().__init__(heartbeats)
        self._limiter = limiter
        self._expected: dict[str, str] = {}

    def after_pass(self, outcome: base.Outcome, tracker: base.Tracker,
                   full: bool) -> None:
        """Take the values that are now in place as the expected ones."""
        self._expected = {
            wanted.path: wanted.value
            for wanted in tracker.wanted([resources.Sysctl.kind])
            if tracker.in_sync(wanted.ref)}

    def look(self) -> None:
        """Check once."""
        for path, value in self._expected.items():
            try:
                found = procfs.sysctl(path)
            except OSError:
                # The backend reports the error at its next reading.
                continue
            if found is not None and found != value:
                self._limiter.notice(notices.kernel(SYSCTL),
                                     f'sysctl {path} was set to {found}')


_EACH = 5  # heartbeats, of a second each


class NextHops(base.Beating):
    """Looks every few seconds while the agent has a VNI."""

    def __init__(self, limiter: rate_limit.RateLimit,
                 heartbeats: base.Heartbeat, base: int) -> None:
        super().__init__(heartbeats)
        self._limiter = limiter
        self._base = base
        self._count = 0
        self._any = False

    def after_pass(self, outcome: base.Outcome, tracker: base.Tracker,
                   full: bool) -> None:
        """Note whether there are VNIs."""
        self._any = any(tracker.wanted([resources.VniDevices.kind]))

    def look(self) -> None:
        """Look once in a few beats."""
        self._count += 1
        if not self._any or self._count % _EACH:
            return
        try:
            lost = [hop for hop in vni_links.read_next_hops(self._base)
                    if hop.lacks]
        except OSError:
            # The backend reports the error at its next reading.
            return
        if lost:
            self._limiter.notice(
                notices.VNI_NEXT_HOPS, f'VNI {lost[0].vni:d} has no neighbour '
                f'for its next hop {lost[0].via}')


def vnis_wanted(conf: cfg.ConfigOpts) -> bool:
    """Whether there may be VNIs."""
    return plugins.requested(conf, plugins.VNIS)
