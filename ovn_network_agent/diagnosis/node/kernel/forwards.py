# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of port forwarding."""

from collections.abc import Iterator
import typing

from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.forward import rules

_ACCEPT = 'net/ipv4/{}_l3mdev_accept'
_ZONE = 'ct-zone-'


class Local(typing.NamedTuple):
    """Destinations of port forwards on this node itself."""

    # (address, 'tcp' or 'udp'), sorted.
    destinations: tuple[tuple[str, str], ...]
    vrf: str  # name of the VRF, '' without one
    # By protocol: whether sockets of the default VRF accept packets of VRFs.
    accept: dict[str, bool]
    option: bool  # whether the agent sets this


def read_local(sources: sources.Sources) -> Local:
    """Find the destinations of the rules on this node."""
    conf = sources.conf
    vips = rules.load(conf)
    here = {found.address.partition('/')[0]
            for found in sources.addresses()}
    # A kernel without VRFs lacks the file.
    accept = {proto: value != '0' for proto in ('tcp', 'udp')
              if (value := kernel.sysctl(_ACCEPT.format(proto))) is not None}
    return Local(tuple(sorted({
        (destination.address, rule.proto) for vip in vips for rule in vip.rules
        for destination in rule.destinations if destination.address in here})),
        sources.vrf, accept, conf.port_forward.port_forward_l3mdev_accept)


def judge_local(found: Local) -> Iterator[check.Result]:
    """A destination that does not accept packets of the VRF is broken.

    With ``port_forward_l3mdev_accept`` it is a warning: a start sets that.
    """
    refused = [f'{address} ({proto})' for address, proto in found.destinations
               if not found.accept.get(proto)]
    if not found.destinations:
        yield check.not_checked('no port forward leads to this node itself')
    elif not found.vrf or not refused:
        yield check.ok(wording.count(
            len(found.destinations), 'destination on this node accepts',
            'destinations on this node accept') + ' what arrives')
    elif found.option:
        yield check.warn(f'{", ".join(refused)}: the sysctls are not set yet',
                         'the agent sets them when it starts')
    else:
        yield check.broken(
            f'{", ".join(refused)} on this node: a socket in the default VRF '
            f'does not accept what arrives in {found.vrf}',
            'set [port_forward] port_forward_l3mdev_accept = true')


class Zones(typing.NamedTuple):
    """The zones of connection tracking."""

    zone: int | None  # port_forward_ct_zone, None without port forwards
    ovn_zones: dict[int, str]  # names by zone of OVN


def read_zones(sources: sources.Sources) -> Zones:
    """Read the zones that ovn-controller notes on its bridges."""
    conf = sources.conf
    if not rules.load(conf):
        return Zones(None, {})
    with sources.database('ovs').rows() as ovs:
        ovn_zones = {
            int(value): key.removeprefix(_ZONE)
            for row in ovs['Bridge'].values()
            for key, value in row.external_ids.items()
            if key.startswith(_ZONE) and value.isdigit()}
    return Zones(conf.port_forward.port_forward_ct_zone, ovn_zones)


def judge_zones(found: Zones) -> Iterator[check.Result]:
    """A zone that OVN uses, too, is broken."""
    if found.zone is None:
        yield check.not_checked('no port is forwarded')
    elif found.zone in found.ovn_zones:
        yield check.broken(
            f'[port_forward] port_forward_ct_zone = {found.zone:d} is the '
            f'zone of {found.ovn_zones[found.zone]} in OVN, too',
            'choose another zone, far above those of OVN')
    else:
        yield check.ok(f'zone {found.zone:d}; OVN has '
                       f'{wording.count(len(found.ovn_zones), "other")}')


CHECKS = (
    check.Check(
        'local-destinations', 'port forwarding', 'sockets on this node '
        'accept what arrives in the VRF', read_local, judge_local,
        ('configuration',)),
    check.Check(
        'ct-zone', 'port forwarding', 'OVN does not use the zone of '
        'connection tracking', read_zones, judge_zones,
        ('configuration', 'ovs-database')),
)
