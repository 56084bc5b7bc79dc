# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Kernel routes, on the privileged side; see :mod:`privileged.netlink`."""

import errno

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.netlink import links
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink import routes
from ovn_network_agent.netlink import wire
from ovn_network_agent.privileged import channel
from ovn_network_agent.privileged import checks
from ovn_network_agent.privileged import limits

_CREATE = wire.NLM_F_CREATE | wire.NLM_F_EXCL
_REPLACE = wire.NLM_F_CREATE | wire.NLM_F_REPLACE
# RTPROT_UNSPEC, and RTPROT_BOOT, the default of libraries and ip(8).
_NO_ORIGIN = (0, 3)


@privileged.kernel.change
def set_routes(items):
    """Create or change routes of the agent's protocol.

    An exclusive creation comes first, which never removes a route.  A route of
    the agent that is in the way is then replaced in one step.  So is an equal
    route without a protocol through the veth pair, which the Go program made.

    :param items: list of [table, dst, dev, via], via '' for scope link
    :returns: see :mod:`privileged.netlink`
    """
    indexes = {}
    within = limits.current()

    def encode(flags, table, dst, dev, via):
        within.check_route(checks.table(table), checks.prefix(dst), dev, via,
                           vrf_table)
        if dev not in indexes:
            indexes[dev] = checks.index(dev)
        return routes.RTM_NEWROUTE, flags, route_codec.encode(
            table, dst, indexes[dev], via, ownership.ROUTE_PROTOCOL)

    with channel.kernel() as kernel:
        vrf_table = _vrf_table(kernel, within.vrf)
        failures = channel.send(
            kernel, items, lambda *item: encode(_CREATE, *item))
        taken = [index for index, number, _text in failures
                 if number == errno.EEXIST]
        if not taken:
            return failures
        failures = [f for f in failures if f[1] != errno.EEXIST]
        ours = _ours(kernel, {items[index][0] for index in taken})
        change = []
        for index in taken:
            table, dst, dev, via = items[index]
            there = ours.get((table, dst))
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
            tuple(items[index][:2]) for index in change} & ours.keys())
        failures.extend(
            (index, errno.EEXIST, 'there is a route before ours that is not '
             'ours: the kernel would replace that one; remove it if ours '
             'shall be used')
            for index in change if tuple(items[index][:2]) in behind)
        change = [index for index in change
                  if tuple(items[index][:2]) not in behind]
        failures.extend(
            (change[index], number, text)
            for index, number, text in channel.send(
                kernel, [items[index] for index in change],
                lambda *item: encode(_REPLACE, *item)))
        return failures


def _vrf_table(kernel, vrf):
    """Table of FRR's VRF, 0 while there is no VRF."""
    found = links.read(kernel).get(vrf) if vrf else None
    return found.vrf_table if found else 0


def _of_the_original(kernel, table, dst, dev, via):
    """Whether the route in the way is equal and has no mark."""
    return dev in (ownership.VETH_DEFAULT, ownership.VETH_PROVIDER) and any(
        (route.dst, route.dev, route.via) == (dst, dev, via or None) and
        route.default_metric and route.protocol in _NO_ORIGIN
        for route in routes.read(kernel, table=table))


def _ours(kernel, tables):
    """The agent's routes with the default metric.

    :returns: dict of (table, dst) to (dev, via)
    """
    return {(route.table, route.dst): (route.dev, route.via)
            for table in tables
            for route in routes.read(kernel, ownership.ROUTE_PROTOCOL, table)
            if route.default_metric}


def _behind_others(kernel, places):
    """The places where another program's route is before the agent's.

    Of several routes with one metric, the kernel uses and replaces the first.

    :param places: set of (table, dst) of the agent's routes
    :returns: set, a subset of the places
    """
    first = {}
    for table in {table for table, _dst in places}:
        for route in routes.read(kernel, table=table):
            if route.default_metric and (table, route.dst) in places:
                first.setdefault((table, route.dst), route.protocol)
    return {place for place, protocol in first.items()
            if protocol != ownership.ROUTE_PROTOCOL}


@privileged.kernel.change
def delete_routes(items):
    """Delete routes of the agent's protocol; routes of others stay.

    :param items: list of [table, dst]
    :returns: see :mod:`privileged.netlink`
    """
    def encode(table, dst):
        return routes.RTM_DELROUTE, 0, route_codec.encode_key(
            checks.table(table), dst, ownership.ROUTE_PROTOCOL)

    with channel.kernel() as kernel:
        return channel.send(kernel, items, encode, done=(errno.ESRCH,))
