# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the kernel: routing tables, policy rules, limits."""

import collections
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import os
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.bgp import announced
from ovn_network_agent.diagnosis.node.kernel import devices
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.netlink.objects import rules

_DEFAULT = ('0.0.0.0/0', '::/0')
# The kernel's own rule for VRFs, and the protocol of the kernel's rules.
_L3MDEV = 1000
_KERNEL = 2


class Tables(typing.NamedTuple):
    """The routing tables of the agent."""

    # (option, table, foreign routes).
    tables: tuple[tuple[str, int, tuple[route_codec.Route, ...]], ...]
    # Those without the default route that a running agent should have made.
    lost: tuple[int, ...] = ()


def options(conf: cfg.ConfigOpts) -> dict[str, int]:
    """The tables that the agent uses with this configuration, by option."""
    found = {}
    if conf.fip_route.route_table_id:
        found['[fip_route] route_table_id'] = conf.fip_route.route_table_id
    if veth_leak.enabled(conf):
        found['[veth_leak] veth_leak_table_id'] = (
            conf.veth_leak.veth_leak_table_id)
    if conf.port_forward.rules_file and conf.frr.vrf_name:
        found['[port_forward] port_forward_table_id'] = (
            conf.port_forward.port_forward_table_id)
    return found


def read_tables(sources: sources.Sources) -> Tables:
    """Read the routing tables of the agent."""
    conf = sources.conf
    read = {table: sources.routes(table)
            for table in options(conf).values()}
    return Tables(tuple(
        (option, table, tuple(
            route for route in read[table]
            if route.protocol != ownership.ROUTE_PROTOCOL))
        for option, table in options(conf).items()),
        tuple(_lost(sources, read)) if sources.holder() else ())


def _lost(sources: sources.Sources, read: dict[int, list[route_codec.Route]]
          ) -> Iterator[int]:
    """Tables that lack a default route which the agent makes.

    That of replies has one, and a rule, for each family of the VIPs.
    """
    own = {(table, route.dst) for table, found in read.items()
           for route in found if route.protocol == ownership.ROUTE_PROTOCOL}
    leak = sources.conf.veth_leak.veth_leak_table_id
    if leak in read and not any((leak, dst) in own for dst in _DEFAULT):
        yield leak
    replies = sources.conf.port_forward.port_forward_table_id
    if replies in read and any(
            (replies, _DEFAULT[bool(rule.ipv6)]) not in own
            for rule, exact in sources.rules()
            if exact and rule.table == replies and
            rule.protocol == ownership.RULE_PROTOCOL):
        yield replies


def judge_tables(found: Tables) -> Iterator[check.Result]:
    """A foreign or lost default route is broken; other routes are warnings."""
    good = True
    for option, table, foreign in found.tables:
        defaults = [route for route in foreign if route.dst in _DEFAULT]
        others = [route for route in foreign if route.dst not in _DEFAULT]
        if defaults:
            good = False
            yield check.broken(
                f'table {table:d} ({option}) has a default route of another '
                f'program{_through(defaults[0])}',
                f'remove the route, or choose another table in {option}')
        if others:
            good = False
            yield check.warn(
                f'table {table:d} ({option}) has '
                f'{wording.count(len(others), "route")} of another program, '
                f'such as {others[0].dst}',
                f'remove them, or choose another table in {option}')
    for table in found.lost:
        good = False
        yield check.broken(
            f'table {table:d} has lost its default route, although an agent '
            'runs', 'see what removes it; the agent makes it again')
    if good:
        yield check.ok(', '.join(
            f'{table:d}' for _option, table, _foreign in found.tables) or
            'the agent uses no table of its own')


def _through(route: route_codec.Route) -> str:
    return f' through {route.dev}' if route.dev else ''


class Rules(typing.NamedTuple):
    """The policy rules."""

    priorities: tuple[int, ...]  # priorities of the agent's rules
    leak: tuple[int, int]  # (priority, table) of the rules of the veth leak
    # With whether the rule selects by nothing else.
    rules: tuple[tuple[rules.Rule, bool], ...]
    vrf: bool  # whether a VRF is in use


def priorities(conf: cfg.ConfigOpts) -> list[int]:
    """The priorities that the agent uses with this configuration."""
    found: list[int] = []
    if conf.port_forward.rules_file and conf.frr.vrf_name:
        found += ownership.FORWARD_PRIORITIES
    if conf.fip_route.route_table_id:
        found.append(conf.fip_route.route_rule_priority)
    if veth_leak.enabled(conf):
        found += ownership.leak_priorities(
            conf.veth_leak.veth_leak_rule_priority)
    return found


def read_rules(sources: sources.Sources) -> Rules:
    """Read the policy rules of all programs."""
    leak = sources.conf.veth_leak
    return Rules(tuple(priorities(sources.conf)),
                 (leak.veth_leak_rule_priority, leak.veth_leak_table_id),
                 tuple(sources.rules()),
                 sources.vrf in sources.links())


def judge_rules(found: Rules) -> Iterator[check.Result]:
    """Warn of each priority of the agent that another program uses."""
    unknown = [rule for rule, exact in found.rules
               if rule.priority in found.priorities and
               not explained(rule, exact, found.leak)]
    for number in sorted({rule.priority for rule in unknown}):
        rule = next(r for r in unknown if r.priority == number)
        yield check.warn(
            f'priority {number:d} is in use by a rule of another program: '
            f'{_shown(rule)}', 'give that rule, or the agent\'s option, '
            'another priority: of equal priorities the older rule is first')
    if not unknown:
        yield check.ok(', '.join(map(str, found.priorities)) or
                       'the agent uses none')


def explained(rule: rules.Rule, exact: bool, leak: tuple[int, int]) -> bool:
    """Whether a rule is the agent's, the kernel's, or the original's."""
    if rule.protocol == ownership.RULE_PROTOCOL and exact:
        return True
    if rule.protocol == _KERNEL:
        return True
    priority, table = leak
    return not rule.protocol and exact and (
        (rule.priority == priority and rule.table == table) or
        (rule.priority == priority - 1 and
         rule.iif == ownership.VETH_DEFAULT) or
        (rule.priority in (ownership.PRIORITY_FORWARD,
                           ownership.PRIORITY_REPLY) and
         rule.fwmark is not None) or
        (rule.dst or '').endswith('/32'))


def _shown(rule: rules.Rule) -> str:
    parts = [f'{word} {value}' for word, value in (
        ('from', rule.src), ('to', rule.dst), ('iif', rule.iif),
        ('lookup', rule.table)) if value]
    return ' '.join(parts) or 'it has other selectors'


def judge_l3mdev(found: Rules) -> Iterator[check.Result]:
    """A VRF without the kernel's rule for VRFs is broken."""
    if not found.vrf:
        yield check.not_checked('no VRF')
    elif any(not exact and rule.protocol == _KERNEL and
             rule.ipv6 is None and not rule.table
             for rule, exact in found.rules):
        yield check.ok('the rule is there')
    else:
        yield check.broken(
            'the kernel\'s rule for VRFs is missing, so the tables of VRFs '
            'are not used', f'"ip rule add l3mdev pref {_L3MDEV:d} protocol '
            'kernel"')


class Default(typing.NamedTuple):
    """The default route of the VRF."""

    present: bool | None  # whether the VRF has one; None without a VRF
    version: int = 4  # 4 or 6, the family of the route


def read_default(sources: sources.Sources, version: int = 4) -> Default:
    """The default route of the VRF; NotChecked without the configured VRF."""
    if not sources.vrf:
        return Default(None, version)
    vrf = sources.links().get(sources.vrf)
    if vrf is None or not vrf.vrf_table:
        raise check.NotChecked('there is no such VRF')
    return Default(sources.has_default(vrf, version), version)


def judge_default(found: Default) -> Iterator[check.Result]:
    """A VRF without a default route is broken."""
    family = f'IPv{found.version:d}'
    if found.present is None:
        yield check.not_checked('[frr] vrf_name is empty: the default VRF')
    elif found.present:
        yield check.ok(f'the VRF has a default route of {family}')
    else:
        yield check.broken(
            f'the VRF has no default route of {family} that can be used, so '
            'what floating IPs send is dropped', 'have the fabric announce a '
            f'default route of {family}, and FRR accept it (an inbound '
            'prefix list)')


CHECKS = (
    check.Check(
        'routing-tables', 'routing tables', 'no other program has routes in '
        'the tables of the agent', read_tables, judge_tables, ('vrf',)),
    check.Check(
        'rule-priorities', 'policy rules', 'no other program has rules at '
        'the priorities of the agent', read_rules, judge_rules),
    check.Check(
        'l3mdev-rule', 'policy rules', 'the kernel\'s rule for VRFs is '
        'there', read_rules, judge_l3mdev, ('vrf',)),
    *check.of_both('default-route-ipv6', check.Check(
        'vrf-default-route', 'provider VRF', 'the VRF has a default route of '
        'IPv4', read_default, judge_default,
        ('vrf', 'uplink', 'l3mdev-rule', 'bgp-sessions')),
        'the VRF has a default route of IPv6'),
)


_SYS = '/sys/class/net'
_NAMES = {4: 'arp_cache', 6: 'ndisc_cache'}
# Another node may fail, and its addresses come here.
_RESERVE = 2
_LEAST = 4096


class Sizes(typing.NamedTuple):
    """The MTU of the devices that a packet passes."""

    uplinks: dict[str, int]  # bytes by name
    # Bytes by name: the provider bridge, the veth pair.
    internal: dict[str, int]


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
    if not found.uplinks or not found.internal:
        yield check.not_checked(
            'there is no uplink in the VRF' if found.internal
            else 'there is no provider bridge')
        return
    largest = max(found.internal.values())
    small = {name: size for name, size in found.uplinks.items()
             if size < largest}
    for name, size in small.items():
        wide = ', '.join(sorted(each for each, bytes_ in found.internal.items()
                                if bytes_ == largest))
        yield check.warn(
            f'{name} has an MTU of {size:d} bytes, and {wide} of '
            f'{largest:d}: small packets pass, and larger ones may get lost '
            'without a message',
            f'"ip link set {name} mtu {largest:d}" here and at the other end '
            'of the link, and in the configuration of the network; or see '
            'that no machine and no tenant network has a larger MTU')
    narrow = {name: size for name, size in found.internal.items()
              if size < largest}
    for name, size in narrow.items():
        yield check.warn(
            f'{name} has an MTU of {size:d} bytes, and others on the same way '
            f'{largest:d}', f'"ip link set {name} mtu {largest:d}"')
    if not small and not narrow:
        yield check.ok(', '.join(f'{name} {size:d} bytes' for name, size in
                                 (found.uplinks | found.internal).items()))


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
                f'{wording.count(table.overflows, "time")} since the boot'
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


LIMITS = (
    check.Check(
        'mtu', 'kernel', 'the uplinks take packets as large as the provider '
        'bridge and the veth pair do', read_mtu, judge_mtu, ('uplink',)),
    check.Check(
        'neighbour-tables', 'sysctls',
        'the tables of neighbours have room for twice the addresses of this '
        'node, and were never full', read_neighbours, judge_neighbours,
        check.VIEW),
)
