# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The kernel's values in procfs: sysctls, the size of tables of neighbours."""

import re
import typing

_LIMIT = '/proc/sys/net/ipv{}/neigh/default/gc_thresh3'
_STATISTICS = {4: '/proc/net/stat/arp_cache', 6: '/proc/net/stat/ndisc_cache'}
# A heading and a line for each processor, in hexadecimal numbers.
_HEXADECIMAL = re.compile('[0-9a-f]{1,16}')


class Table(typing.NamedTuple):
    """The table of neighbours of one family, of the whole kernel.

    Only the first network namespace has the files.
    """

    entries: int  # entries that are there
    # Gc_thresh3: the kernel makes no further entry beyond, and drops the
    # packets that need one; permanent entries do not count.
    limit: int
    overflows: int  # times that the kernel made no entry, since its boot


def neighbour_table(version: int) -> Table | None:
    """The table of IPv4 or IPv6 (4, 6), None in another network namespace."""
    try:
        with open(_LIMIT.format(version), encoding='ascii') as opened:
            limit = opened.read()
        with open(_STATISTICS[version], encoding='ascii') as opened:
            return parsed(limit, opened.read())
    except OSError:
        return None


def parsed(limit: str, statistics: str) -> Table | None:
    """The table by the texts of its files, None for texts of another form.

    The number of entries is the same on each line; the others are of one
    processor (the function neigh_stat_seq_show of Linux).
    """
    lines = [line.split() for line in statistics.splitlines()]
    heading, values = (lines[0], lines[1:]) if lines else ([], [])
    columns = [heading.index(name) for name in ('entries', 'table_fulls')
               if name in heading]
    if len(columns) != 2 or not values or not limit.strip().isdecimal() or (
            any(len(line) != len(heading) or
                not all(map(_HEXADECIMAL.fullmatch, line))
                for line in values)):
        return None
    entries, fulls = columns
    return Table(int(values[0][entries], 16), int(limit),
                 sum(int(line[fulls], 16) for line in values))


def sysctl(path: str) -> str | None:
    """Text of a sysctl below /proc/sys, None while it does not exist.

    :raises OSError: when the sysctl exists and cannot be read
    """
    try:
        with open(f'/proc/sys/{path}', encoding='ascii') as opened:
            return opened.read().strip()
    except FileNotFoundError:
        return None
