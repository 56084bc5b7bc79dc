# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Provider segments on this node: which can be used, and their devices.  Pure.

A flat segment has the device of its bridge, which the operator makes.  A VLAN
has a device of the agent on that bridge.
"""

from collections.abc import Collection
from collections.abc import Iterator
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges as provider_bridges

_LINK_LOCAL = ownership.SEGMENT_LINK_LOCAL + '/64'


def objection(segment: model.Segment | None, bridges: Collection[str]) -> str:
    """Why a provider segment cannot be used on this node, or ''.

    :param bridges: those that the agent serves
    """
    text = _unlocated(segment, bridges)
    if segment is None or text:
        return text
    if not segment.mac:
        return f'device {segment.bridge} does not exist'
    if not segment.patch_port:
        return (f'{segment.bridge} has no patch port for '
                f'{segment.localnet_port} (is ovn-controller running?)')
    return ''


def usable(segment: model.Segment | None, bridges: Collection[str]
           ) -> typing.TypeGuard[model.Segment]:
    """Whether packets can pass a segment, see :func:`objection`."""
    return not objection(segment, bridges)


def located(segment: model.Segment | None, bridges: Collection[str]
            ) -> typing.TypeGuard[model.Segment]:
    """Whether the device of a segment is known here, and served.

    The device may be missing, and so may the patch port.
    """
    return not _unlocated(segment, bridges)


def _unlocated(segment: model.Segment | None, bridges: Collection[str]) -> str:
    if segment is None:
        return 'its network has no localnet port in SB'
    if not segment.bridge:
        return (f'physical network {segment.physical_network} is not in '
                'ovn-bridge-mappings of this node')
    if segment.bridge not in bridges:
        return (f'physical network {segment.physical_network} is mapped to '
                f'{segment.bridge}, which neither [DEFAULT] bridge_dev nor '
                'further_bridges names')
    return _no_device(segment) if segment.vlan else ''


def _no_device(segment: model.Segment) -> str:
    """Why a VLAN can have no device, or ''."""
    if segment.vlan not in provider_bridges.VLAN_TAGS:
        return (f'its network is VLAN {segment.vlan:d}, which no device can '
                'have')
    if len(segment.device) > provider_bridges.LONGEST_NAME:
        return (f'the name of its device {segment.device} has more than '
                f'{provider_bridges.LONGEST_NAME:d} characters; give the '
                'bridge a shorter name')
    if segment.occupied:
        return (f'{segment.device} is there and is not VLAN '
                f'{segment.vlan:d} on {segment.bridge}; rename or remove '
                'that device')
    return ''


def bridges_up(bridges: Collection[str],
               bridge_ip: str) -> Iterator[resources.Resource]:
    """Provider bridges are up, have bridge_ip and answer ARP requests."""
    for bridge in bridges:
        yield resources.LinkUp(bridge)
        yield from attachment(bridge, bridge_ip)


def prerequisites(segment: model.Segment) -> tuple[resources.Ref, ...]:
    """The device that a located segment needs."""
    return (resources.Ref(resources.VlanDevice.kind, (segment.device,)),
            ) if segment.vlan else ()


def _bridge(segment: model.Segment) -> tuple[resources.Ref, ...]:
    return (resources.Ref(resources.LinkUp.kind, (segment.bridge,)),)


def device(segment: model.Segment,
           bridge_ip: str) -> Iterator[resources.Resource]:
    """The device of a located segment that has one of its own."""
    if segment.vlan:
        yield resources.VlanDevice(
            segment.device, segment.bridge, segment.vlan,
            requires=_bridge(segment))
        yield from attachment(segment.device, bridge_ip,
                              prerequisites(segment))


def in_doubt(node: model.Node, bridges: Collection[str]) -> list[str]:
    """Names of the devices that an unlocated segment may have."""
    return [each.name for each in node.devices
            if provider_bridges.is_segment_device(each.name, bridges)]


def kept(node: model.Node, bridges: Collection[str],
         bridge_ip: str) -> Iterator[resources.Keep]:
    """The VLAN devices and their addresses stay while a segment is unknown."""
    for name in in_doubt(node, bridges):
        if name in bridges:
            continue
        yield resources.Keep(resources.Ref(
            resources.VlanDevice.kind, (name,)))
        for address in filter(None, (bridge_ip and bridge_ip + '/32',
                                     _LINK_LOCAL)):
            yield resources.Keep(resources.Address(name, address).ref)


def link_local(segment: model.Segment) -> resources.Address:
    """The address with which the device of a segment asks for IPv6 neighbours.

    The kernel makes another link-local address, but not where addr_gen_mode is
    none.

    :param segment: located, with networks of IPv6
    """
    return resources.Address(
        segment.device, _LINK_LOCAL,
        requires=prerequisites(segment) or _bridge(segment))


def attachment(dev: str, bridge_ip: str,
               requires: tuple[resources.Ref, ...] = ()
               ) -> Iterator[resources.Resource]:
    """What lets a device of a segment answer for OVN; bridge_ip may be ''."""
    if bridge_ip:
        # The kernel needs an address there to ask for a floating IP's MAC; it
        # is never used as a source outside.
        yield resources.Address(dev, bridge_ip + '/32', requires=requires)
    path = f'net/ipv4/conf/{dev}/'
    # OVN asks for floating IPs of other chassis here.
    yield resources.Sysctl(path + 'proxy_arp', '1', requires=requires)
    yield resources.Sysctl(path + 'forwarding', '1', requires=requires)
    # Proxied answers are delayed by up to 0.8 s by default, for which the
    # first packet between chassis would wait (arp(7)).
    yield resources.Sysctl(f'net/ipv4/neigh/{dev}/proxy_delay', '0',
                           requires=requires)


def neighbour_proxies(dev: str, addresses: Collection[str],
                      requires: tuple[resources.Ref, ...]
                      ) -> Iterator[resources.Resource]:
    """What lets the kernel answer for IPv6 addresses on a device."""
    if addresses:
        yield resources.Sysctl(f'net/ipv6/conf/{dev}/proxy_ndp', '1',
                               requires=requires)
        # See attachment().
        yield resources.Sysctl(f'net/ipv6/neigh/{dev}/proxy_delay', '0',
                               requires=requires)
    for address in dict.fromkeys(addresses):
        yield resources.NeighbourProxy(dev, address, requires=requires)


def mac_tweak(segment: model.Segment,
              mac: str = '') -> Iterator[resources.Flow]:
    """Flows that give OVN's packets a MAC, '' for that of the device."""
    for family in (4, 6):
        yield resources.Flow(
            segment.bridge, ownership.COOKIE_MAC_TWEAK,
            ownership.PRIORITY_MAC_TWEAK, segment.patch_port, family,
            set_dst=mac or segment.mac)
