# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The table of port forwarding as the input of nft, from frozen values. Pure.

doc/source/reference/port-forwarding.rst gives the purpose of each chain. The
rules find services in sets and maps, so a packet costs the same with one VIP
and with a thousand.

The agent renders the text only for its digest, by which it recognises the
table in the kernel; the privileged side loads it.

Tried with nft 1.0.6: the value of a map is ``address . port``, because a colon
is a syntax error (trap T59). A set or a hash hides the family, so the text
names it there.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import functools
import hashlib
import itertools
import re

from ovn_network_agent import ownership
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import values

# About packets that are too big or in vain. Answers to the host's own requests
# are none of them.
_ERRORS = {
    'ip': 'icmp type { destination-unreachable, time-exceeded, '
          'parameter-problem }',
    'ip6': 'icmpv6 type { destination-unreachable, packet-too-big, '
           'time-exceeded, parameter-problem }'}
_CHAIN = re.compile(r'^\tchain (\w+) \{$', re.MULTILINE)
# The letters 'ona'. Another number would move clients to other destinations,
# and nft would choose one at each load, on each node.
_SEED = 0x6f6e61
_LEAK = f'oifname "{ownership.VETH_DEFAULT}"'


def braces(kind: str, name: str, lines: Iterable[str]) -> list[str]:
    """The lines of a 'set' or 'chain' of the table, from unindented ones."""
    return [f'\t{kind} {name} {{',
            *('\t\t' + line for line in lines), '\t}']


def chain(name: str, base: tuple[str, str, str], rules: list[list[str]]
          ) -> list[str]:
    """The lines of a chain of (type, hook, priority), none without rules."""
    if not rules:
        return []
    kind, hook, priority = base
    return braces('chain', name, [
        f'type {kind} hook {hook} priority {priority}; policy accept;',
        *itertools.chain(*rules)])


def lookup(before: str, elements: Iterable[str], after: str = '') -> list[str]:
    """The lines of a rule that uses a set or map.

    Each element has its own line, so that two tables are easily compared.
    """
    elements = list(elements)
    return [before + ' {',
            *(f'\t{element},' for element in elements[:-1]),
            '\t' + elements[-1],
            ('} ' + after).rstrip()]


def _service(address: str, proto: str, port: int) -> str:
    """A key of a set of services."""
    return f'{address} . {proto} . {port}'


def removal(family: object, table: str = ownership.NFT_TABLE) -> str:
    """The input of nft that removes a table.

    The addition comes first, because nft deletes no missing table.
    """
    elements.check_family(family)
    return f'add table {family} {table}\ndelete table {family} {table}\n'


def stamp(family: object, table: str, comment: str) -> str:
    """The input of nft that notes the load of a table, see nft.listing."""
    elements.check_family(family)
    return (f'flush chain {family} {table} {ownership.NFT_LOADED}\n'
            f'add rule {family} {table} {ownership.NFT_LOADED} return '
            f'comment "{comment}"\n')


def address_match(family: str, direction: str) -> str:
    """The key of a packet in sets: address ('d' or 's'), protocol, port."""
    return f'{family} {direction}addr . meta l4proto . th {direction}port'


def text(table: values.Table) -> str:
    """What is between a table's braces: sets without elements, and chains."""
    return '\n'.join((
        *_sets(table), *_zones(table), *_translation(table),
        *(_marks(table) if table.vrf else ()), *_sources(table),
        *_redirects(table))) + '\n'


def digest(rendered: str) -> str:
    """The agent recognises a :func:`text` by this digest of 32 hex digits."""
    return hashlib.sha256(rendered.encode()).hexdigest()[:32]


def sets(table: values.Table) -> frozenset[str]:
    """Names of the sets that a table has."""
    return frozenset((
        ownership.NFT_NETWORKS, ownership.NFT_SNAT, ownership.NFT_PREFIXES,
        ownership.NFT_TARGETS, ownership.NFT_LEAVING,
        *([ownership.NFT_GUARDED] if table.vrf else ())))


def chains(rendered: str) -> frozenset[str]:
    """Names of the chains of a :func:`text`, with the chain of every table."""
    return frozenset((ownership.NFT_LOADED, *_CHAIN.findall(rendered)))


def _sets(table: values.Table) -> Iterator[str]:
    """Sets whose elements follow the routers."""
    address = f'type {elements.ADDRESS_TYPES[table.family]}'
    yield from braces('set', ownership.NFT_NETWORKS,
                      [address, 'flags interval'])
    yield from braces('set', ownership.NFT_SNAT, [address])
    if table.vrf:
        yield from braces('set', ownership.NFT_GUARDED, ['type ifname'])


def _zones(table: values.Table) -> Iterator[str]:
    """One zone for both directions, independent of the incoming device.

    All packets from the port of a destination are in the zone, so all packets
    to the port have to be, too, also those of a health check.
    """
    name = table.family
    behind = _behind(table)
    towards = sorted({
        *(_service(vip.address, service.proto, service.port)
          for vip in table.vips for service in vip.services), *behind})
    zone = f'ct zone set {table.zone}'
    rules = [
        lookup(address_match(name, 'd'), towards, zone),
        lookup(address_match(name, 's'), sorted(behind), zone)]
    # Without the zone, an ICMP error belongs to no connection, and a client
    # behind a smaller MTU would never get a long reply. The error comes from
    # this node where an uplink has the smaller MTU, and for IPv6 where a
    # destination on this node has had one: the kernel remembers the MTU with
    # the route, and also forwards by it.
    errors = lookup(f'{_ERRORS[name]} {name} daddr',
                    _addresses(table.vips), zone)
    for hook in ('prerouting', 'output'):
        yield from chain(
            hook + '_ctzone', ('filter', hook, 'raw'),
            [*((*_tenants(table), *_crossed(table)) if hook == 'prerouting'
               else ()), *rules, errors])


def _tenants(table: values.Table) -> Iterator[list[str]]:
    """Tenants in VRFs of their own may have any address, also of VIPs."""
    if table.vnis:
        yield [f'iifgroup {ownership.EVPN_GROUP:d} return']


def _crossed(table: values.Table) -> Iterator[list[str]]:
    """Answers that have crossed the pair are translated already.

    An ICMP error of the kernel inherits the connection of its packet, and has
    to find the one that was translated.
    """
    if table.vrf:
        yield lookup(
            f'iifname "{ownership.VETH_PROVIDER}" ' +
            address_match(table.family, 's'), sorted({
                _service(vip.address, service.proto, service.port)
                for vip in table.vips for service in vip.services}),
            'notrack')


def _behind(table: values.Table, masqueraded: bool = False) -> set[str]:
    """Services of all destinations, or only of the masqueraded."""
    return {_service(destination.address, service.proto,
                     service.dest_port)
            for vip in table.vips for service in vip.services
            for destination in service.destinations
            if service.masquerade or not masqueraded}


def _addresses(vips: Iterable[values.Vip]) -> list[str]:
    return sorted(vip.address for vip in vips)


def _translation(table: values.Table) -> Iterator[str]:
    name = table.family
    single, several, chains = [], [], {}
    for vip in table.vips:
        for service in vip.services:
            key = _service(vip.address, service.proto, service.port)
            if len(service.shares) == 1:
                [(index, _buckets)] = service.shares
                single.append(
                    f'{key} : {service.destinations[index].address} . '
                    f'{service.dest_port}')
            elif service.shares:
                target, block = balance(
                    name, tuple(d.address for d in service.destinations),
                    service.dest_port, service.shares)
                chains[target] = block
                several.append(f'{key} : goto {target}')
    for _target, block in sorted(chains.items()):
        yield from block
    rules = []
    match = address_match(name, 'd')
    if single:
        rules.append(lookup(
            f'dnat {name} to {match} map', sorted(single)))
    if several:
        rules.append(lookup(match + ' vmap', sorted(several)))
    yield from chain('prerouting_dnat',
                     ('nat', 'prerouting', 'dstnat'),
                     [*_tenants(table), *rules] if rules else [])


def _marks(table: values.Table) -> Iterator[str]:
    """The marks that lead packets out of the VRF and back into it."""
    addresses = _addresses(table.vips)
    to, back = (
        lookup(f'ct direction {direction} {_dnated(table)}',
               addresses, f'meta mark set {mark:#x}')
        for direction, mark in (('original', ownership.MARK_FORWARD),
                                ('reply', ownership.MARK_REPLY)))
    yield from chain(
        'prerouting_fwmark', ('filter', 'prerouting', 'filter'), [to, back])
    # A packet of a destination on this node, and an ICMP error of this node,
    # is routed before the mark is set; the type route makes the kernel route
    # it again.
    yield from chain(
        'output_fwmark', ('route', 'output', 'filter'), [to, back])
    yield from chain(
        'forward_veth_guard', ('filter', 'forward', 'filter'), [[
            f'{_LEAK} {table.family} saddr @{ownership.NFT_NETWORKS} accept',
            f'{_LEAK} meta mark {ownership.MARK_REPLY:#x} accept',
            # Empty as long as no network is known: until then no packet may be
            # dropped (trap T63).
            f'oifname @{ownership.NFT_GUARDED} drop']])
    # The mark would cross the veth pair and send the packet back (trap T60).
    yield from chain(
        'postrouting_fwmark_clear', ('filter', 'postrouting', 'filter'),
        [[f'{_LEAK} meta mark {ownership.MARK_REPLY:#x} meta mark set 0x0']])


def _sources(table: values.Table) -> Iterator[str]:
    """Replace a source by an address of this node."""
    name, rules = table.family, []
    masqueraded = sorted(_behind(table, masqueraded=True))
    if masqueraded:
        rules.append(lookup(
            'ct status dnat ' + address_match(name, 'd'), masqueraded,
            'masquerade'))
    for wanted, where in (
            ([v for v in table.vips if v.hairpin_masquerade],
             ownership.NFT_NETWORKS),
            ([v for v in table.vips if v.router_masquerade],
             ownership.NFT_SNAT)):
        if wanted:
            rules.append(lookup(
                _dnated(table), _addresses(wanted),
                f'{name} saddr @{where} masquerade'))
    yield from chain('postrouting_snat',
                     ('nat', 'postrouting', 'srcnat'), rules)


def _redirects(table: values.Table) -> Iterator[str]:
    """No destination of IPv6 hears of another way to its clients.

    An answer in flight misses the translation when its connection is removed.
    For IPv4, a sysctl keeps the kernel from sending the redirect (RFC 4861,
    section 8.2); IPv6 has none.
    """
    if table.family == 'ip6':
        yield from chain(
            'output_redirects', ('filter', 'output', 'filter'),
            [lookup('icmpv6 type nd-redirect ip6 daddr', sorted({
                destination.address for vip in table.vips
                for service in vip.services
                for destination in service.destinations}), 'drop')])


def _dnated(table: values.Table) -> str:
    return f'ct status dnat ct original {table.family} daddr'


# All services may be asked for at each death of a destination.
@functools.lru_cache(maxsize=16384)
def balance(family: str, addresses: tuple[str, ...], dest_port: int,
            shares: values.Shares) -> tuple[str, tuple[str, ...]]:
    """Name and lines of the chain that selects a client's destination.

    Services with the same destinations share a chain. It maps ranges of a
    number from 0 to N - 1, to which the kernel scales the hash of the client's
    address by reciprocal_scale(), which keeps the order of hashes.
    """
    ranges, first = [], 0
    for index, buckets in shares:
        ranges.append(f'{_range(first, first + buckets - 1)} : '
                      f'{addresses[index]} . {dest_port}')
        first += buckets
    body = lookup(
        f'meta l4proto {{ tcp, udp }} dnat {family} to jhash {family} saddr '
        f'mod {first} seed {_SEED:#x} map', ranges)
    hashed = hashlib.sha256('\n'.join(body).encode()).hexdigest()
    name = 'balance_' + hashed[:16]
    return name, tuple(braces('chain', name, body))


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f'{first}-{last}'
