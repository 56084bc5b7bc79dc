# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the devices that the operator makes, and of their sysctls."""

from collections.abc import Iterable
from collections.abc import Iterator
import os
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.backends.kernel import link as link_backend
from ovn_network_agent.common import bridges
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.ovs import wiring
from ovn_network_agent.watches import node_conflicts

_CONF = 'net/ipv4/conf'
_L3MDEV = '/proc/sys/net/ipv4/tcp_l3mdev_accept'
_STRICT = 1


class Bridge(typing.NamedTuple):
    """The provider bridges."""

    names: tuple[str, ...]
    missing: tuple[str, ...]  # messages of link_needs.bridge()
    down: tuple[str, ...]  # names of the devices that are down
    managed: bool  # whether an agent runs, which sets the devices up


def read_bridge(sources: sources.Sources) -> Bridge:
    """Read the provider bridges."""
    sources.ovn()
    found, names = sources.links(), bridges.served(sources.conf)
    return Bridge(names,
                  tuple(link_backend.needed_bridge(sources.conf, found)),
                  tuple(name for name in names
                        if name in found and not found[name].up),
                  bool(sources.holder()))


def judge_bridge(found: Bridge) -> Iterator[check.Result]:
    """A missing bridge is broken; a bridge that is down, if an agent runs."""
    if found.missing:
        yield from check.of_messages(check.Verdict.BROKEN, found.missing, '')
        return
    for name in found.down:
        if found.managed:
            yield check.broken(f'{name} is down, although an agent runs',
                               f'"ip link set {name} up", and see what sets '
                               'it down')
        else:
            yield check.warn(f'{name} is down',
                             'the agent sets it up when it starts')
    if not found.down:
        yield check.ok(f'there and up: {", ".join(found.names)}')


class Vrf(typing.NamedTuple):
    """The VRF of the uplink."""

    name: str  # its name, '' for the default VRF
    missing: tuple[str, ...] = ()  # messages of link_needs.vrf()
    known: bool = True  # whether the kernel has VRFs
    table: int = 0
    up: bool = False
    # Those in it but the agent's: (name, whether it is up).
    uplinks: tuple[tuple[str, bool], ...] = ()


def read_vrf(sources: sources.Sources) -> Vrf:
    """Read the configured VRF and the devices in it."""
    name, found = sources.vrf, sources.links()
    if not name or name not in found:
        return Vrf(name, tuple(link_backend.needed_vrf(sources.conf, found)),
                   os.path.exists(_L3MDEV))
    link = found[name]
    return Vrf(name, tuple(link_backend.needed_vrf(sources.conf, found)), True,
               link.vrf_table, link.up, tuple(
                   (each.name, each.up)
                   for each in uplinks(sources.conf, found)))


def uplinks(conf: cfg.ConfigOpts, found: dict[str, links.Link]
            ) -> list[links.Link]:
    """The devices in the VRF, without those for the agent, by name."""
    vrf = found.get(conf.frr.vrf_name)
    ours = {*ownership.VETH_ENDS, conf.port_forward.port_forward_dev}
    return [link for name, link in sorted(found.items())
            if vrf is not None and link.master == vrf.index and
            name not in ours and link.kind != 'dummy']


def judge_vrf(found: Vrf) -> Iterator[check.Result]:
    """A VRF that is missing, down, or without its own table is broken."""
    if not found.name:
        yield check.not_checked('[frr] vrf_name is empty: the default VRF')
        return
    if not found.known:
        yield check.broken(
            'this kernel has no VRF', 'boot a kernel with CONFIG_NET_VRF, or '
            'load the module vrf; or announce from the default VRF with an '
            'empty [frr] vrf_name')
    elif found.missing:
        yield from check.of_messages(check.Verdict.BROKEN, found.missing, '')
    elif not found.up:
        yield check.broken(f'{found.name} is down',
                           f'"ip link set {found.name} up"')
    else:
        yield check.ok(f'{found.name} has table {found.table:d}')


def judge_uplink(found: Vrf) -> Iterator[check.Result]:
    """A VRF without an uplink that is up is broken; each other one warns."""
    names = ', '.join(name for name, _up in found.uplinks)
    if not found.name:
        yield check.not_checked('[frr] vrf_name is empty: the default VRF')
    elif not found.uplinks:
        yield check.broken(f'no device is in {found.name}', 'put the uplink '
                           f'there: "ip link set DEVICE master {found.name}"')
    elif not any(up for _name, up in found.uplinks):
        yield check.broken(f'{names} in {found.name}: down',
                           f'set the uplink up: {_up(found.uplinks)}')
    elif not all(up for _name, up in found.uplinks):
        down = ', '.join(name for name, up in found.uplinks if not up)
        yield check.warn(f'{down} in {found.name}: down',
                         'set it up, or take it out of the VRF')
    else:
        yield check.ok(f'{names} in {found.name}')


def _up(links: Iterable[tuple[str, bool]]) -> str:
    return ', '.join(f'"ip link set {name} up"' for name, _state in links)


class Forwarding(typing.NamedTuple):
    """Sysctls of the devices that packets pass."""

    vrf: tuple[str, ...]  # names of the VRF and of its uplinks
    bridges: tuple[str, ...]
    managed: bool  # whether an agent runs, which sets those of the bridges
    values: dict[str, dict[str, int]]  # by device: sysctl to int


def read_forwarding(sources: sources.Sources) -> Forwarding:
    """Read three sysctls of the devices that exist."""
    conf, found = sources.conf, sources.links()
    names = [name for name in (sources.vrf, *(
        link.name for link in uplinks(conf, found))) if name in found]
    served = bridges.served(conf)
    ours = tuple(sorted(
        name for name, link in found.items() if name in served or
        link.alias == ownership.LINK_ALIAS and
        bridges.is_segment_device(name, served)))
    devices = [*names, *ours, *(
        name for name in ownership.VETH_ENDS if name in found)]
    return Forwarding(tuple(names), ours, bool(sources.holder()), {
        name: _sysctls(name) for name in (*devices, 'all')})


def _sysctls(device: str) -> dict[str, int]:
    # A device may go meanwhile.
    return {name: int(value)
            for name in ('forwarding', 'rp_filter', 'proxy_arp')
            if (value := kernel.sysctl(f'{_CONF}/{device}/{name}'))}


def judge_forwarding(found: Forwarding) -> Iterator[check.Result]:
    """A device that does not forward IPv4 is broken.

    Bridges count only beside an agent, which sets their values.
    """
    ours = found.bridges if found.managed else ()
    # Without a VRF the uplink is not known, and one switch is for all.
    concerned = (*(found.vrf or ('all',)), *ours)
    closed = [name for name in concerned
              if not found.values.get(name, {}).get('forwarding', 1)]
    if closed:
        yield check.broken(
            f'{", ".join(closed)}: forwarding of IPv4 is off',
            f'{_open(closed, found.values)}, and a file in /etc/sysctl.d/')
    else:
        yield check.ok(f'IPv4 is forwarded: {", ".join(concerned)}')


def _open(closed: list[str], values: dict[str, dict[str, int]]) -> str:
    if not values['all'].get('forwarding', 1):
        return '"sysctl -w net.ipv4.ip_forward=1"'
    # The kernel passes ip_forward on to devices only when it changes.
    return ', '.join(f'"sysctl -w {_name(device, "forwarding")}=1"'
                     for device in closed)


def _name(device: str, name: str) -> str:
    """A sysctl of a device; the name of a VLAN device has a dot."""
    if '.' in device:
        return f'net/ipv4/conf/{device}/{name}'
    return f'net.ipv4.conf.{device}.{name}'


def judge_rp_filter(found: Forwarding) -> Iterator[check.Result]:
    """A strict rp_filter is broken.

    The larger value of a device and of 'all' counts (the kernel's ip-sysctl).
    """
    of_all = found.values['all'].get('rp_filter', 0)
    strict = [name for name, values in found.values.items()
              if max(values.get('rp_filter', 0), of_all) == _STRICT and
              (name != 'all' or len(found.values) == 1)]
    if strict:
        yield check.broken(
            f'{", ".join(strict)}: rp_filter is strict, and the way back of '
            'a packet is not the way that it came',
            '"sysctl -w net.ipv4.conf.all.rp_filter=2", and a file in '
            '/etc/sysctl.d/')
    else:
        yield check.ok('not strict')


def judge_proxy_arp(found: Forwarding) -> Iterator[check.Result]:
    """A bridge without proxy_arp is broken, if an agent runs."""
    values = {name: found.values.get(name, {}).get('proxy_arp')
              for name in found.bridges}
    known = {name: value for name, value in values.items()
             if value is not None}
    if not found.managed or not known:
        yield check.not_checked('the agent sets it when it starts')
        return
    closed = [name for name, value in known.items() if not value]
    for name in closed:
        yield check.broken(
            f'{name}: proxy_arp is 0, so nobody answers for the virtual '
            'gateway', f'"sysctl -w {_name(name, "proxy_arp")}=1", and see '
            'what changes it')
    if not closed:
        yield check.ok(', '.join(f'{name}: {value:d}'
                                 for name, value in known.items()))


def read_bridge_address(sources: sources.Sources) -> tuple[str, ...]:
    """Warnings about bridge_ip on other devices."""
    sources.ovn()
    return tuple(node_conflicts.bridge_address(sources.conf))


def judge_bridge_address(messages: Iterable[str]) -> list[check.Result]:
    """Every message is a warning."""
    return check.of_messages(check.Verdict.WARN, messages,
                             'no other device has it')


def read_bridge_ports(sources: sources.Sources) -> tuple[str, ...]:
    """See :func:`watches.node_conflicts.leading_out`."""
    with sources.database('ovs').rows() as ovs:
        ports = {bridge: wiring.ports(ovs, bridge)
                 for bridge in bridges.served(sources.conf)}
    return tuple(node_conflicts.of_port(bridge, name)
                 for bridge, names in ports.items() for name in sorted(
                     node_conflicts.leading_out(bridge, names,
                                                sources.links())))


def judge_bridge_ports(messages: Iterable[str]) -> list[check.Result]:
    """Every message is a warning."""
    return check.of_messages(check.Verdict.WARN, messages,
                             'no port leads out of this node')


def read_ipv6(sources: sources.Sources) -> tuple[str, ...]:
    """Warnings about VIPs of IPv6 without forwarding."""
    return tuple(node_conflicts.ipv6_forwarding(sources.conf))


def judge_ipv6(messages: Iterable[str]) -> list[check.Result]:
    """Every message is a warning."""
    return check.of_messages(check.Verdict.WARN, messages,
                             'no VIP of IPv6 needs what is not there')


CHECKS = (
    check.Check(
        'provider-bridge', 'provider bridge', 'the devices of bridge_dev and '
        'further_bridges exist and are up', read_bridge, judge_bridge),
    check.Check(
        'bridge-ports', 'provider bridge', 'no port of a bridge leads to '
        'other machines, for which proxy_arp would answer',
        read_bridge_ports, judge_bridge_ports,
        ('ovs-database', 'provider-bridge')),
    check.Check(
        'bridge-address', 'provider bridge', 'no other device has bridge_ip, '
        'and no route leads there', read_bridge_address,
        judge_bridge_address),
    check.Check(
        'vrf', 'provider VRF', 'the kernel has VRFs, and that of vrf_name '
        'exists, is up and has a table of its own', read_vrf, judge_vrf),
    check.Check(
        'uplink', 'provider VRF', 'an uplink is in the VRF, and up',
        read_vrf, judge_uplink, ('vrf',)),
    check.Check(
        'ip-forward', 'sysctls', 'the VRF and the uplinks forward IPv4; with '
        'a running agent the bridges, too', read_forwarding,
        judge_forwarding),
    check.Check(
        'rp-filter', 'sysctls', 'rp_filter is strict on no device that '
        'packets of floating IPs pass', read_forwarding, judge_rp_filter),
    check.Check(
        'proxy-arp', 'sysctls', 'with a running agent: the bridges answer '
        'for the virtual gateway', read_forwarding, judge_proxy_arp,
        ('provider-bridge',)),
    check.Check(
        'ipv6-forward', 'sysctls', 'with VIPs of IPv6: the node forwards '
        'IPv6', read_ipv6, judge_ipv6),
)
