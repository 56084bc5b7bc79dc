# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of limits of the kernel: sizes of packets, tables of neighbours."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import os
import typing

from ovn_network_agent import ownership
from ovn_network_agent.common import counts
from ovn_network_agent.common import networks
from ovn_network_agent.conf.options import bridges
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.diagnosis.node import announced
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import devices
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.netlink.objects import procfs

_SYS = '/sys/class/net'
_NAMES = {4: 'arp_cache', 6: 'ndisc_cache'}
# Another node may fail, and its addresses come here.
_RESERVE = 2
_LEAST = 4096


class Sizes(typing.NamedTuple):
    """The MTU of the devices that a packet passes."""

    uplinks: dict[str, int]  # bytes by name
    # Bytes by name: the provider bridge, the veth pair.
    inside: dict[str, int]


def read_mtu(sources: sources.Sources) -> Sizes:
    """Read the MTUs; NotChecked without a VRF, whose devices are uplinks."""
    found, conf = sources.links(), sources.conf
    if not sources.vrf:
        raise check.NotChecked('[frr] vrf_name is empty: in the default VRF, '
                               'any device may be an uplink')
    ends = ownership.VETH_ENDS if veth_leak.enabled(conf) else ()
    return Sizes(
        sizes(link.name for link in devices.uplinks(conf, found)),
        sizes(name for name in (*bridges.served(conf), *ends)
              if name in found))


def sizes(names: Iterable[str]) -> dict[str, int]:
    """The MTU of some devices, without those that are missing."""
    found = {}
    for name in names:
        # A device may go away meanwhile.
        with contextlib.suppress(FileNotFoundError), open(os.path.join(
                _SYS, name, 'mtu')) as opened:
            found[name] = int(opened.read())
    return found


def judge_mtu(found: Sizes) -> Iterator[check.Result]:
    """One finding for each uplink that is too small."""
    if not found.uplinks or not found.inside:
        yield check.not_checked('there is no uplink in the VRF' if found.inside
                                else 'there is no provider bridge')
        return
    largest = max(found.inside.values())
    small = {name: size for name, size in found.uplinks.items()
             if size < largest}
    for name, size in small.items():
        wide = ', '.join(sorted(each for each, bytes_ in found.inside.items()
                                if bytes_ == largest))
        yield check.warn(
            f'{name} has an MTU of {size:d} bytes, and {wide} of '
            f'{largest:d}: small packets pass, and larger ones may get lost '
            'without a message',
            f'"ip link set {name} mtu {largest:d}" here and at the other end '
            'of the link, and in the configuration of the network; or see '
            'that no machine and no tenant network has a larger MTU')
    narrow = {name: size for name, size in found.inside.items()
              if size < largest}
    for name, size in narrow.items():
        yield check.warn(
            f'{name} has an MTU of {size:d} bytes, and others on the same way '
            f'{largest:d}', f'"ip link set {name} mtu {largest:d}"')
    if not small and not narrow:
        yield check.ok(', '.join(f'{name} {size:d} bytes' for name, size in
                                 (found.uplinks | found.inside).items()))


class Neighbours(typing.NamedTuple):
    """The tables of neighbours, and the addresses that may need an entry."""

    tables: dict[int, procfs.Table]  # by 4 or 6
    addresses: dict[int, int]  # their number by 4 or 6


def read_neighbours(sources: sources.Sources) -> Neighbours:
    """Read the tables; NotChecked outside the first network namespace."""
    tables = {version: table for version in networks.VERSIONS
              for table in [procfs.neighbour_table(version)] if table}
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
        full = (f', and was full '
                f'{counts.of(table.overflows, "time")} since the boot'
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
        'mtu', 'kernel', 'the uplinks take packets as large as the provider '
        'bridge and the veth pair do', read_mtu, judge_mtu, ('uplink',)),
    check.Check(
        'neighbour-tables', 'sysctls',
        'the tables of neighbours have room for twice the addresses of this '
        'node, and were never full', read_neighbours, judge_neighbours,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis')),
)
