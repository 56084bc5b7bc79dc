# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines that write entries of a prefix list again.

FRR 8 keeps the networks of a prefix list a second time, for its route maps.
The removal of any entry takes the network of this entry out of there, also
when another entry has the same network.  A new entry puts the network back,
and the same entry with the same number is none: FRR finds no difference.  So
the entry gets another number of its network.

FRR carries out the lines one by one, and bgpd may look at its routes between
two lines.  So both halves of the network are permitted meanwhile.
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
    """The lines that write entries again.

    :param name: of the list
    :param due: number of the entry by network
    :param copies: by daemon
    :returns: network, former number, new number; and configuration lines.  An
        entry is left out when another daemon has another number for it, or
        when no number is free
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
            # A copy that differs is for the next comparison.
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
    """The halves of a network, unless an entry of another owner has one.

    The removal of a half at the end would disturb such an entry.  A network of
    two addresses or one has no halves that a line could name.
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
    """The line that adds the entry, or removes it if there is no number."""
    line = lines.prefix_list_entry(name, network,
                                   *prefix_list_lines.hosts(network), number)
    return line if number is not None else 'no ' + line
