# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of what other programs decide before the agent, by rules, flows, and
nftables."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import typing

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import wording
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.kernel import routing
from ovn_network_agent.diagnosis.readers import kernel
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.nft import filters

# Words of ovs-ofctl for the Ethernet types of IPv4 and ARP, and the words
# for the addresses then.
_TYPES = {None: ('', 'nw'), 0x0800: ('ip', 'nw'), 0x0806: ('arp', 'arp')}
_FIELDS = {'nw': ('nw_src', 'nw_dst'), 'arp': ('arp_spa', 'arp_tpa')}
# linux/fib_rules.h and linux/rtnetlink.h: the kernel's rule for its main
# table, the table of local addresses, and the protocol of the kernel's rules.
_MAIN_RULE = 32766
_LOCAL_TABLE = 255
_KERNEL = 2
_DEFAULT = '0.0.0.0/0'
# The most networks that one finding names.
_NAMED = 3


class Drops(typing.NamedTuple):
    """The flows that drop, and what must not be dropped."""

    addresses: tuple[ip_text.Address, ...]
    bridge: str
    ports: frozenset[int]  # its OpenFlow ports that lead to OVN
    drops: tuple[switch.Drop, ...]


def read_drops(sources: sources.Sources) -> tuple[Drops, ...]:
    """Read the dropping flows of other programs."""
    sources.ovn_and_daemons()
    segments, found = sources.segments(), []
    for bridge in bridges.served(sources.conf):
        drops = switch.read_drops(sources.conf, bridge)
        found.append(Drops(sources.announceable(4), bridge, frozenset(
            segment.patch_port for segment in segments
            if segment.bridge == bridge), drops))
    return tuple(found)


def judge_drops(found: Sequence[Drops]) -> list[check.Result]:
    """Warn of each flow that drops packets of this node's addresses.

    One that drops those of all addresses, without a condition, is broken.
    """
    results = [each for drops in found for each in _judge_bridge(drops)]
    number = sum(len(drops.drops) for drops in found)
    return results or [check.ok(
        f'of {wording.count(number, "flow")} of other programs with the '
        'action drop, none drops packets of this node\'s addresses')]


def _judge_bridge(found: Drops) -> Iterator[check.Result]:
    for drop in found.drops:
        affected = _affected(drop, found)
        if affected:
            certain = (not drop.selection.narrow and
                       affected == set(found.addresses))
            yield (check.broken if certain else check.warn)(
                f'{found.bridge}: the flow with cookie {drop.cookie:#x} and '
                f'"{match(drop)}" of another program drops packets of '
                f'{check.named(affected)}', _remedy(drop, found.bridge))


def _affected(drop: switch.Drop, found: Drops) -> set[ip_text.Address]:
    chosen = drop.selection
    if chosen.ether_type not in _TYPES or not found.addresses:
        return set()
    if not chosen.src and not chosen.dst:
        # Packets that the agent's flows leave alone may be dropped.
        above = drop.priority > ownership.PRIORITY_MAC_TWEAK
        every = above and not chosen.narrow and chosen.ether_type in (
            None, 0x0800) and _passes(chosen.in_port, found.ports, True)
        return set(found.addresses) if every else set()
    affected = set()
    if chosen.dst and _passes(chosen.in_port, (resources.LOCAL,)):
        affected |= _covered(chosen.dst, found.addresses)
    if (chosen.src and drop.priority > ownership.PRIORITY_MAC_TWEAK and
            _passes(chosen.in_port, found.ports)):
        affected |= _covered(chosen.src, found.addresses)
    return affected


def _passes(in_port: int | None, ports: Collection[int], local: bool = False
            ) -> bool:
    return in_port is None or in_port in ports or (
        local and in_port == resources.LOCAL)


def match(drop: switch.Drop) -> str:
    """The known match of a flow of IPv4, ARP or both, for ovs-ofctl(8)."""
    chosen = drop.selection
    protocol, family = _TYPES[chosen.ether_type]
    port = ('LOCAL' if chosen.in_port == resources.LOCAL
            else chosen.in_port)
    fields = (('in_port', port), (protocol, ''),
              *zip(_FIELDS[family], (
                  prefix and prefix.removesuffix('/32')
                  for prefix in (chosen.src, chosen.dst)), strict=True))
    return ','.join((f'priority={drop.priority:d}', *(
        f'{name}={value}' if value else name for name, value in fields
        if name and value is not None)))


def _remedy(drop: switch.Drop, bridge: str) -> str:
    if drop.selection.narrow:
        return (f'look at "ovs-ofctl dump-flows {bridge} '
                f'cookie={drop.cookie:#x}/-1", and have its program except '
                'these addresses')
    return ('have its program except these addresses; "ovs-ofctl --strict '
            f'del-flows {bridge} cookie={drop.cookie:#x}/-1,{match(drop)}" '
            'removes the flow')


class Filters(typing.NamedTuple):
    """What other programs drop, and what must not be dropped."""

    addresses: tuple[ip_text.Address, ...]
    found: filters.Found


def read_filters(sources: sources.Sources) -> Filters:
    """Read the dropping rules of other programs in nftables."""
    sources.ovn_and_daemons()
    found = kernel.read_filters()
    return Filters(sources.announceable(4), found)


def judge_filters(has: Filters) -> Iterator[check.Result]:
    """Warn of each rule that drops packets of this node's addresses.

    A rule that certainly drops the packets of all addresses is broken.
    """
    wrong = False
    for one in has.found.filters:
        affected = {each for each in has.addresses if one.covers(each)}
        if not affected:
            continue
        wrong = True
        what, show = kernel.culprit(one)
        certain = one.certain and affected == set(has.addresses)
        yield (check.broken if certain else check.warn)(
            f'{what} of another program drops '
            f'{"" if one.certain else "some "}packets of '
            f'{check.named(affected)}',
            f'look at "{show}", and have its program except these addresses')
    if not wrong:
        closed = ', '.join(f'"{chain}"' for chain in has.found.closed
                           if not chain.startswith('ip6 '))
        yield check.ok(
            f'of {wording.count(len(has.found.filters), "rule")} of other '
            'programs with a drop by address, none names an address of this '
            'node' + (
                f'; {closed} drops what its rules do not accept'
                if closed else ''))


class Order(typing.NamedTuple):
    """The rules of other programs, and what they come before."""

    addresses: tuple[ip_text.Address, ...]
    inward: int  # priority of the rule that decides about packets to them
    outward: int  # likewise, about packets from them
    entry: str  # device of the packets to them, '' for any but ``exits``
    exits: frozenset[str]  # devices of the packets from them
    rules: tuple['Foreign', ...]


class Foreign(typing.NamedTuple):
    """A rule of another program."""

    rule: rules.Rule
    exact: bool  # whether the rule selects by nothing else
    routes: tuple[str, ...] = ()  # IPv4 prefixes of its table


def read_order(sources: sources.Sources) -> Order:
    """Read the rules of other programs before the agent's."""
    sources.ovn()
    conf, addresses = sources.conf, sources.announceable(4)
    leak, pair = (conf.veth_leak.veth_leak_rule_priority,
                  veth_leak.enabled(conf))
    of_fips = conf.fip_route.route_table_id and (
        conf.fip_route.route_rule_priority)
    return Order(
        addresses, of_fips or (leak - 1 if pair else _MAIN_RULE),
        leak if pair else _MAIN_RULE,
        ownership.VETH_DEFAULT if pair else '', _exits(sources), tuple(
            Foreign(rule, exact, _routes(sources, rule.table))
            for rule, exact in sources.rules()
            if _foreign(rule, exact, conf)))


def _foreign(rule: rules.Rule, exact: bool, conf: cfg.ConfigOpts) -> bool:
    """Whether a rule of IPv4 is another program's, and is first."""
    leak = conf.veth_leak
    return not (
        rule.ipv6 or ':' in (rule.src or '') + (rule.dst or '') or
        rule.priority >= _MAIN_RULE or rule.fwmark is not None or
        rule.table == _LOCAL_TABLE or
        rule.priority in routing.priorities(conf) or
        rule.protocol in (_KERNEL, ownership.RULE_PROTOCOL) or
        routing.explained(rule, exact, (leak.veth_leak_rule_priority,
                                        leak.veth_leak_table_id)))


def _exits(sources: sources.Sources) -> frozenset[str]:
    """The devices of provider segments, which have what OVN sends."""
    return frozenset((*bridges.served(sources.conf), *(
        segment.device for segment in sources.segments())))


def _routes(sources: sources.Sources, table: int) -> tuple[str, ...]:
    return tuple(route.dst for route in sources.routes(table)
                 if ':' not in route.dst) if table else ()


def judge_order(found: Order) -> Iterator[check.Result]:
    """Warn of each rule that decides about packets of this node's addresses.

    A rule that certainly drops the packets of all addresses is broken.
    """
    wrong = False
    for foreign in found.rules:
        affected = _decided(foreign, found)
        if not affected:
            continue
        wrong = True
        rule = foreign.rule
        certain = foreign.exact and not rule.table and (
            affected == set(found.addresses))
        parts = _destinations(foreign)
        yield (check.broken if certain else check.warn)(
            f'the rule "{text(rule)}" of another program comes before the '
            f'rule of priority {max(found.inward, found.outward):d}, and '
            f'decides about packets of {check.named(affected)}' + (
                f' to {", ".join(parts[:_NAMED])}' if parts else ''),
            _rule_remedy(foreign))
    if not wrong:
        yield check.ok(f'of {wording.count(len(found.rules), "rule")} of '
                       'other programs, none decides about this node\'s '
                       'addresses')


def _decided(foreign: Foreign, found: Order) -> set[ip_text.Address]:
    rule = foreign.rule
    plain = foreign.exact and not rule.src and not rule.dst
    affected = set()
    if rule.priority < found.inward and _may_enter(rule.iif, found) and (
            rule.dst or plain):
        affected |= {each for each in _covered(rule.dst, found.addresses)
                     if not rule.table or any(
                      each in ip_text.network(route)
                      for route in foreign.routes)}
    if rule.priority < found.outward and (
            rule.iif is None or rule.iif in found.exits) and (
            rule.src or plain) and _leads_somewhere(foreign, plain):
        affected |= _covered(rule.src, found.addresses)
    return affected


def _covered(prefix: str | None, addresses: Iterable[ip_text.Address]
             ) -> set[ip_text.Address]:
    if not prefix:
        return set(addresses)
    network = ip_text.network(prefix)
    return {each for each in addresses if each in network}


def _may_enter(device: str | None, found: Order) -> bool:
    if found.entry:
        return device in (None, found.entry)
    return device not in found.exits


def _leads_somewhere(foreign: Foreign, plain: bool) -> bool:
    """Whether the kernel does not go on with the next rule anyway."""
    if not foreign.rule.table:
        return True
    if plain and foreign.rule.suppress is not None:
        return False
    return bool(foreign.routes)


def _destinations(foreign: Foreign) -> list[str]:
    """The networks that alone are in the table of a rule."""
    rule = foreign.rule
    if not rule.table or rule.dst or _DEFAULT in foreign.routes:
        return []
    return sorted(set(foreign.routes))


def text(rule: rules.Rule) -> str:
    """A rule without a mark, in the notation of ip-rule(8)."""
    return ' '.join((f'priority {rule.priority:d}', *(
        f'{word} {value}' for word, value in (
            ('from', rule.src), ('to', rule.dst), ('iif', rule.iif),
            ('lookup', rule.table),
            ('suppress_prefixlength', rule.suppress))
        if value not in (None, 0) or word.startswith('suppress') and
        value is not None), *(() if rule.table else ('blackhole',))))


def _rule_remedy(foreign: Foreign) -> str:
    if not foreign.exact:
        return (f'look at "ip rule show priority {foreign.rule.priority:d}", '
                'and have its program except these addresses')
    return ('have its program except these addresses, or give the rule a '
            f'larger number; "ip rule del {text(foreign.rule)}" removes the '
            'rule')


CHECKS = (
    check.Check(
        'dropping-flows', 'provider bridge', 'no flow of another program '
        'drops packets of this node\'s addresses', read_drops, judge_drops,
        (*check.DATABASES, 'bridge-mappings')),
    check.Check(
        'packet-filters', 'kernel', 'no rule of another program in nftables '
        'drops packets of this node\'s addresses by name', read_filters,
        judge_filters, check.DATABASES),
    check.Check(
        'rule-order', 'policy rules', 'no rule of another program before '
        'those of the agent decides about packets of this node\'s addresses',
        read_order, judge_order, check.DATABASES),
)
