# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged kernel routes; see :mod:`privileged.network.netlink`."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import errno
import socket
import typing

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import routes
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.privileged.network import checks

# table, destination, metric: the kernel has one route there
_Place = tuple[int, str, int]
# metrics of the routes by table and destination
_Metrics = dict[tuple[int, str], set[int]]

_CREATE = wire.NLM_F_CREATE | wire.NLM_F_EXCL
_REPLACE = wire.NLM_F_CREATE | wire.NLM_F_REPLACE
_DEFAULT_METRIC_6 = routes.DEFAULT_METRIC[socket.AF_INET6]
# protocols of zebra's routes (linux/rtnetlink.h, and rt_netlink.h of FRR)
_OF_ZEBRA = frozenset((11, 42, *range(186, 199)))
# RTPROT_UNSPEC, and RTPROT_BOOT, the default of libraries and ip(8)
_NO_ORIGIN = (0, 3)


@privileged.kernel.change
def set_routes(items: checks.Items) -> list[channel.Failure]:
    """Create or change routes of the agent's protocol.

    An exclusive creation never removes a route.  Then the agent's in the way
    is replaced in one step, as is an equal one of the Go program, without a
    protocol on the veth pair.  Another metric stays, see :func:`keep_metrics`.

    :param items: each [table, dst, dev, via, metric]: via '' for scope link;
        metric a tag, or 0 or missing for the default
    """
    indexes: dict[str, int] = {}
    within = limits.current()

    def encode(flags: int, table: int, dst: str, dev: str, via: str,
               metric: int = 0) -> channel.Request:
        within.check_route(checks.table(table), checks.prefix(dst), dev, via,
                           vrf_table)
        if within.evpn.is_route(table, dst, dev, via):
            _check_vrf(kernel, table, dev, within.evpn.vni(table))
        if checks.metric(metric, dst):
            _check_first(kernel, table, dst, vrf if table == vrf_table else 0)
        if dev not in indexes:
            indexes[dev] = checks.index(dev)
        return routes.RTM_NEWROUTE, flags, route_codec.encode(
            table, dst, indexes[dev], via, ownership.ROUTE_PROTOCOL, metric,
            within.is_onlink(table, dev))

    with channel.kernel() as kernel:
        vrf, vrf_table = _vrf(kernel, within.vrf)
        failures = channel.send(
            kernel, items, lambda *item: encode(_CREATE, *item))
        existing = [index for index, number, _text in failures
                    if number == errno.EEXIST]
        if not existing:
            return failures
        failures = [f for f in failures if f[1] != errno.EEXIST]
        ours = _ours(kernel, {items[index][0] for index in existing})
        change = []
        for index in existing:
            table, dst, dev, via = items[index][:4]
            there = ours.get(_place(items[index]))
            if there is None and _of_the_original(kernel, *items[index]):
                change.append(index)
            elif there is None:
                failures.append((index, errno.EEXIST,
                                 f'table {table} has a route to {dst} that '
                                 f'is not ours (not proto '
                                 f'{ownership.ROUTE_PROTOCOL}): it stays, '
                                 f'remove it if ours shall take its place'))
            elif there != (dev, via or None):
                change.append(index)
        behind = _behind_others(kernel, {
            _place(items[index]) for index in change} & ours.keys())
        failures.extend(
            (index, errno.EEXIST, 'there is a route before ours that is not '
             'ours: the kernel would replace that one; remove it if ours '
             'shall be used')
            for index in change if _place(items[index]) in behind)
        change = [index for index in change
                  if _place(items[index]) not in behind]
        failures.extend(
            (change[index], number, text)
            for index, number, text in channel.send(
                kernel, [items[index] for index in change],
                lambda *item: encode(_REPLACE, *item)))
        return failures


def _vrf(kernel: connection.Connection, vrf: str) -> tuple[int, int]:
    """ifindex and table of FRR's VRF, (0, 0) while there is no VRF."""
    found = links.read(kernel).get(vrf) if vrf else None
    return (found.index, found.vrf_table) if found else (0, 0)


def _check_vrf(kernel: connection.Connection, table: int, dev: str, vni: int
               ) -> None:
    vrf = evpn_names.vrf(vni)
    found = links.named(kernel, {dev, vrf})
    checks.permit(
        {dev, vrf} <= found.keys() and (
            dev == vrf or found[dev].master == found[vrf].index) and
        found[vrf].vrf_table == table,
        f'a route through {dev} in table {table}', f'in VRF {vrf}')


def _place(item: Sequence[typing.Any]) -> _Place:
    table, dst, _dev, _via, *metric = item
    return table, dst, *(metric or (0,))


def _check_first(kernel: connection.Connection, table: int, dst: str, vrf: int
                 ) -> None:
    """Check that no other program's route comes before one with a metric.

    A default metric gets EEXIST of the kernel; a tag would create a route
    behind the other, without use.  zebra prefers a kernel route, and removes
    its own, such as that of the former owner or of the other announce method.

    :param vrf: ifindex of the VRF of the table, 0 for another table
    """
    found = lookups.look_up(kernel, dst.partition('/')[0], outgoing=vrf)
    if (found.table, found.dst) == (table, dst) and (
            found.protocol not in {ownership.ROUTE_PROTOCOL, *_OF_ZEBRA}):
        raise OSError(errno.EBUSY, f'table {table} has a route to {dst} that '
                      f'is not ours (proto {found.protocol}), and the kernel '
                      'uses that one: it stays, remove it if ours shall take '
                      'its place')


def _of_the_original(kernel: connection.Connection, table: int, dst: str,
                     dev: str, via: str, metric: int = 0) -> bool:
    """Whether the route in the way is equal and has no mark."""
    return not metric and dev in ownership.VETH_ENDS and any(
        (route.dst, route.dev, route.via) == (dst, dev, via or None) and
        route.default_metric and route.protocol in _NO_ORIGIN
        for route in routes.read(kernel, table=table))


def _ours(kernel: connection.Connection, tables: Iterable[int]
          ) -> dict[_Place, tuple[str, str | None]]:
    """(Device, gateway) of the agent's routes; metric 0 is the default."""
    return {(route.table, route.dst, route.own_metric):
            (route.dev, route.via)
            for table in tables
            for route in routes.read(kernel, ownership.ROUTE_PROTOCOL, table)}


def _behind_others(kernel: connection.Connection, places: Collection[_Place]
                   ) -> set[_Place]:
    """The places where another's route is first of several with one metric,
    which the kernel uses and replaces.
    """
    first: dict[_Place, int] = {}
    for table in {table for table, _dst, _metric in places}:
        for route in routes.read(kernel, table=table):
            place = table, route.dst, route.own_metric
            if place in places:
                first.setdefault(place, route.protocol)
    return {place for place, protocol in first.items()
            if protocol != ownership.ROUTE_PROTOCOL}


@privileged.kernel.change
def delete_routes(items: checks.Items) -> list[channel.Failure]:
    """Delete routes [table, dst] of the agent's protocol, and no others."""
    def encode(table: int, dst: str) -> channel.Request:
        return routes.RTM_DELROUTE, 0, route_codec.encode_key(
            checks.table(table), dst, ownership.ROUTE_PROTOCOL)

    with channel.kernel() as kernel:
        return channel.send(kernel, items, encode, done=(errno.ESRCH,))


@privileged.kernel.change
def keep_metrics(items: checks.Items) -> list[channel.Failure]:
    """Remove the agent's routes with other metrics beside its right ones.

    A metric is part of a route's key, so the right route is set before; where
    it is missing, nothing is removed, which would withdraw the destination.
    EBUSY where another program's metric is lower: the kernel would use that
    route.

    :param items: each [table, dst, metric], metric 0 for the default
    """
    wanted: dict[tuple[int, str], tuple[int, int]] = {}
    failures = []
    for index, item in enumerate(checks.sequence(items)):
        try:
            table, dst, metric = checks.sequence(item, 'item')
            if checks.metric(metric, checks.prefix(dst)):
                limits.current().check_tagged(dst)
            wanted[checks.table(table), dst] = index, metric
        except (OSError, ValueError) as error:
            failures.append((index, errno.EINVAL, str(error)))
    with channel.kernel() as kernel:
        ours, others = _at(kernel, wanted)
        surplus: list[_Place] = []
        for place, (index, metric) in wanted.items():
            wrong = ours[place] - {metric}
            if not wrong or metric not in ours[place]:
                continue
            first = min(others[place], default=None)
            if first is not None and first < _number(place[1], metric):
                failures.append((
                    index, errno.EBUSY, f'table {place[0]} has a route to '
                    f'{place[1]} with metric {first}: ours would come behind '
                    'a route that is not ours; remove that one'))
                continue
            surplus.extend((*place, each) for each in wrong)
        return failures + [
            (wanted[surplus[index][:2]][0], number, text)
            for index, number, text in channel.send(
                kernel, surplus, _encode_removal, done=(errno.ESRCH,))]


def _at(kernel: connection.Connection, places: Collection[tuple[int, str]]
        ) -> tuple[_Metrics, _Metrics]:
    """Metrics of the agent's routes (0 for the default), and of others' (as in
    the kernel) but zebra's, which it removes beside a kernel route.
    """
    ours: _Metrics = {place: set() for place in places}
    others: _Metrics = {place: set() for place in places}
    for table in {table for table, _dst in places}:
        for route in routes.read(kernel, table=table):
            place = table, route.dst
            if place not in ours or route.protocol in _OF_ZEBRA:
                continue
            if route.protocol == ownership.ROUTE_PROTOCOL:
                ours[place].add(route.own_metric)
            else:
                others[place].add(route.metric)
    return ours, others


def _number(dst: str, metric: int) -> int:
    return metric or (_DEFAULT_METRIC_6 if ':' in dst else 0)


def _encode_removal(table: int, dst: str, metric: int) -> channel.Request:
    # 0 removes the route with the lowest metric: IPv4's default
    return routes.RTM_DELROUTE, 0, route_codec.encode_key(
        table, dst, ownership.ROUTE_PROTOCOL, _number(dst, metric))
