# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Lines of the prefix list: their shape, and their numbers.  Pure.

FRR 8 keeps a list's networks again for route maps, and the removal of an entry
takes its network out of there, also when another entry has it.  A new entry
puts it back, but not with the same number: FRR finds no difference.  So it
gets another number.  bgpd may look at its routes between two lines, so both
halves of the network are permitted meanwhile.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output

# the steps of the Go program's numbers (see the glossary)
_STEP = 5


def hosts(network: str) -> tuple[int, int]:
    """The ge and le of a line that permits the host routes of a network."""
    return (128, 128) if ':' in network else (32, 32)


def fits(network: str, ge: int, le: int) -> bool:
    """Whether the agent writes lines with these lengths."""
    return (ge, le) == hosts(network) or (
        ge == le and network.endswith(f'/{le}'))


def permits(entries: Iterable[output.Entry]
            ) -> dict[tuple[str, int, int], int]:
    """Number by (network, ge, le) of any entry that permits host routes, or
    the network itself by its own length.
    """
    return {(entry.prefix, *lengths): entry.sequence for entry in entries
            if entry.action == 'permit' and (lengths := _lengths(entry))}


def _lengths(entry: output.Entry) -> tuple[int, int] | None:
    """None for an entry that the agent would not write."""
    if (entry.ge, entry.le) == hosts(entry.prefix):
        return hosts(entry.prefix)
    if entry.ge or entry.le or '/' not in entry.prefix:
        return None
    return (output.network(entry.prefix).prefixlen,) * 2


def shaped(entries: Iterable[output.Entry]) -> dict[str, int]:
    """Number by network of anybody's entries that permit host routes."""
    return {network: number for (network, *lengths), number
            in permits(entries).items() if tuple(lengths) == hosts(network)}


def is_ours(network: str, number: int | None) -> bool:
    """Whether the agent gives a sequence number to a network's line."""
    return number is not None and ownership.is_prefix_list_number(
        network, number)


def numbered(copies: Mapping[str, Iterable[output.Entry]]
             ) -> set[tuple[str, int, int]]:
    """(Network, ge, le) of entries, by daemon, with the agent's numbers."""
    return {line for entries in copies.values()
            for line, number in permits(entries).items()
            if is_ours(line[0], number)}


def free_number(network: str,
                copies: Iterable[Iterable[output.Entry]]) -> int | None:
    """A sequence number of a network that no entry has, if one is free."""
    used = {entry.sequence for entries in copies for entry in entries
            if (':' in entry.prefix) == (':' in network)}
    return next((number for number in ownership.prefix_list_numbers(network)
                 if number not in used), None)


def permitting(entries: Iterable[output.Entry],
               addresses: Iterable[ip_text.Address]) -> dict[str, int]:
    """Number by network of the agent's entries for permitted addresses."""
    ordered = sorted(entries)
    permitted = [address for address in addresses
                 if _permits(ordered, address)]
    return {network: number for network, number in shaped(ordered).items()
            if is_ours(network, number) and any(
                address in ip_text.network(network) for address in permitted)}


def _permits(ordered: Iterable[output.Entry],
             address: ip_text.Address) -> bool:
    first = next((entry for entry in ordered if matches(entry, address)),
                 None)
    return first is not None and first.action == 'permit'


def matches(entry: output.Entry, address: ip_text.Address,
            length: int | None = None) -> bool:
    """Whether an entry matches a route.

    :param address: the first one of a route to several
    :param length: that of the route, None for a host route
    """
    if entry.prefix == 'any':
        return True
    network = output.network(entry.prefix)
    if network.version != address.version or address not in network:
        return False
    length = address.max_prefixlen if length is None else length
    if not entry.ge and not entry.le:
        return network.prefixlen == length
    return (entry.ge or network.prefixlen) <= length <= (entry.le or length)


def counted(lines: Mapping[str, int]) -> set[str]:
    """Networks of :func:`shaped` that may be the Go program's: its numbers
    begin with 5, each the highest plus 5, and it has no IPv6.
    """
    return {network for network, number in lines.items()
            if ':' not in network and not is_ours(network, number) and any(
                number > other and not (number - other) % _STEP
                for other in (0, *lines.values()))}


def renewal(name: str, due: Mapping[str, int],
            copies: Mapping[str, Sequence[output.Entry]]
            ) -> tuple[list[tuple[str, int, int]], list[str]]:
    """The lines that write entries of the list ``name`` again.

    :param due: number of the entry by network
    :param copies: by daemon
    :returns: (network, former number, new number); lines.  Without entries
        that have another number in a daemon, or no free one
    """
    entries = [entry for copy in copies.values() for entry in copy]
    renewed: list[tuple[str, int, int]] = []
    before: list[str] = []
    between: list[str] = []
    after: list[str] = []
    for network, previous in sorted(due.items()):
        held = {shaped(copy).get(network)
                for copy in copies.values()}
        number = free_number(network, [entries])
        if held != {previous} or number is None:
            # a copy that differs is for the next comparison
            continue
        entries.append(_entry(network, number))
        for half in _halves(network, entries):
            free = free_number(half, [entries])
            if free is not None:
                entries.append(_entry(half, free))
                before.append(_line(name, half, free))
                after.append(_line(name, half))
        between += [_line(name, network), _line(name, network, number)]
        renewed.append((network, previous, number))
    return renewed, [*before, *between, *after]


def _halves(network: str, entries: Iterable[output.Entry]) -> list[str]:
    """Halves of more than two addresses; others' entries would be disturbed.
    """
    whole = ip_text.network(network)
    if whole.prefixlen > whole.max_prefixlen - 2:
        return []
    halves = [str(half) for half in whole.subnets()]
    taken = {entry.prefix for entry in entries}
    return [] if taken.intersection(halves) else halves


def _entry(network: str, number: int) -> output.Entry:
    return output.Entry(number, 'permit', network,
                        *hosts(network))


def _line(name: str, network: str, number: int | None = None) -> str:
    """The line that adds the entry, or removes it without a number."""
    line = lines.prefix_list_entry(name, network,
                                   *hosts(network), number)
    return line if number is not None else 'no ' + line
