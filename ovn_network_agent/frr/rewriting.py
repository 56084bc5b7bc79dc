# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines that write entries of a prefix list again.

FRR 8 keeps a list's networks again for route maps, and the removal of an entry
takes its network out of there, also when another entry has it.  A new entry
puts it back, but not with the same number: FRR finds no difference.  So it
gets another number.  bgpd may look at its routes between two lines, so both
halves of the network are permitted meanwhile.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from ovn_network_agent.common import ip_text
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines


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
    for network, former in sorted(due.items()):
        held = {prefix_list_lines.shaped(copy).get(network)
                for copy in copies.values()}
        number = prefix_list_lines.free_number(network, [entries])
        if held != {former} or number is None:
            # a copy that differs is for the next comparison
            continue
        entries.append(_entry(network, number))
        for half in _halves(network, entries):
            free = prefix_list_lines.free_number(half, [entries])
            if free is not None:
                entries.append(_entry(half, free))
                before.append(_line(name, half, free))
                after.append(_line(name, half))
        between += [_line(name, network), _line(name, network, number)]
        renewed.append((network, former, number))
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
                        *prefix_list_lines.hosts(network))


def _line(name: str, network: str, number: int | None = None) -> str:
    """The line that adds the entry, or removes it without a number."""
    line = lines.prefix_list_entry(name, network,
                                   *prefix_list_lines.hosts(network), number)
    return line if number is not None else 'no ' + line
