# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Check of room in the tables of neighbours; see decision record 0039."""

import collections
from collections.abc import Iterator
import typing

from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.node import announced
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.netlink.objects import neighbour_table

_NAMES = {4: 'arp_cache', 6: 'ndisc_cache'}
# Another node may fail, and its addresses come here.
_RESERVE = 2
_LEAST = 4096


class Neighbours(typing.NamedTuple):
    """The tables of neighbours, and the addresses that may need an entry."""

    tables: dict[int, neighbour_table.Table]  # by 4 or 6
    addresses: dict[int, int]  # their number by 4 or 6


def read_neighbours(sources: sources.Sources) -> Neighbours:
    """Read the tables; NotChecked outside the first network namespace."""
    tables = {version: table for version in networks.VERSIONS
              for table in [neighbour_table.read(version)] if table}
    if not tables:
        raise check.NotChecked(
            'this network namespace is not the first one of the kernel, which '
            'alone has the limits: "sysctl net.ipv4.neigh.default.gc_thresh3" '
            'on the host')
    return Neighbours(tables, collections.Counter(
        networks.family(each.address)
        for each in announced.answered(sources.snapshot(), sources.conf)))


def judge_neighbours(found: Neighbours) -> Iterator[check.Result]:
    """A table that was full, or is too small, is a warning."""
    problems = False
    for version, table in found.tables.items():
        name = f'net.ipv{version}.neigh.default.gc_thresh'
        needed = _RESERVE * max(found.addresses[version], 1)
        if table.limit >= needed and not table.overflows:
            continue
        problems = True
        size = _LEAST
        while size < 2 * max(needed, table.limit):
            size *= 2
        full = (f', and was full {table.overflows:d} times since the boot'
                if table.overflows else '')
        yield check.warn(
            f'{name}3 = {table.limit:d}{full}: each address in use needs an '
            f'entry, {found.addresses[version]:d} are here, and more may '
            f'come; the kernel drops the packets of an address without an '
            f'entry ("{_NAMES[version]}: neighbor table overflow!")',
            f'on the host, now and in /etc/sysctl.d: {name}3={size:d} '
            f'{name}2={size // 2:d} {name}1={size // 4:d}')
    if not problems:
        yield check.ok('; '.join(
            f'IPv{version}: {table.entries:d} of {table.limit:d}'
            for version, table in found.tables.items()))


CHECKS = (
    check.Check(
        'neighbour-tables', 'sysctls',
        'the tables of neighbours have room for twice the addresses of this '
        'node, and were never full', read_neighbours, judge_neighbours,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis')),
)
