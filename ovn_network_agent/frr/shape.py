# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Lines of the prefix list: their shape, and their numbers.  Pure."""

import functools

from ovn_network_agent import iptext
from ovn_network_agent import ownership

# The same few lines are compared with each address of a node.
_network = functools.lru_cache(4096)(iptext.network)
# The Go program (see the glossary) numbers the lines in these steps.
_STEP = 5


def hosts(network):
    """(ge, le) of a line that permits the host routes of a network."""
    return (128, 128) if ':' in network else (32, 32)


def fits(network, ge, le):
    """Whether the agent writes lines with these lengths."""
    return (ge, le) == hosts(network) or (
        ge == le and network.endswith(f'/{le}'))


def permits(entries):
    """The entries that permit host routes or a network, whosever they are.

    :param entries: iterable of :class:`frr.output.Entry`
    :returns: dict of (network, ge, le) to sequence number; both lengths are
        those of the network if it is permitted itself
    """
    return {(entry.prefix, *lengths): entry.sequence for entry in entries
            if entry.action == 'permit' and (lengths := _lengths(entry))}


def _lengths(entry):
    """(ge, le) of an entry, None for one that the agent would not write."""
    if (entry.ge, entry.le) == hosts(entry.prefix):
        return hosts(entry.prefix)
    if entry.ge or entry.le or '/' not in entry.prefix:
        return None
    return (_network(entry.prefix).prefixlen,) * 2


def shaped(entries):
    """The entries that permit host routes, of the agent or of others.

    :param entries: iterable of :class:`frr.output.Entry`
    :returns: dict of network to sequence number
    """
    return {network: number for (network, *lengths), number
            in permits(entries).items() if tuple(lengths) == hosts(network)}


def is_ours(network, number):
    """Whether the agent gives a sequence number to a network's line."""
    return number is not None and ownership.is_prefix_list_number(
        network, number)


def numbered(copies):
    """(network, ge, le) of the entries with a number of the agent, a set.

    :param copies: dict of daemon to list of :class:`frr.output.Entry`
    """
    return {line for entries in copies.values()
            for line, number in permits(entries).items()
            if is_ours(line[0], number)}


def free_number(network, copies):
    """A sequence number of a network that no entry has.

    :param network: text such as '198.51.100.0/24'
    :param copies: iterable of lists of :class:`frr.output.Entry`
    :returns: int, or None when all numbers of the network are in use
    """
    taken = {entry.sequence for entries in copies for entry in entries
             if (':' in entry.prefix) == (':' in network)}
    return next((number for number in ownership.prefix_list_numbers(network)
                 if number not in taken), None)


def permitting(entries, addresses):
    """The agent's entries for addresses that a list permits.

    :param entries: iterable of :class:`frr.output.Entry`
    :param addresses: iterable of IP addresses
    :returns: dict of network to sequence number, without the networks of
        addresses that no entry permits, or that an entry denies first
    """
    ordered = sorted(entries)
    permitted = [address for address in addresses
                 if _permits(ordered, address)]
    return {network: number for network, number in shaped(ordered).items()
            if is_ours(network, number) and any(
                address in iptext.network(network) for address in permitted)}


def _permits(ordered, address):
    first = next((entry for entry in ordered if matches(entry, address)),
                 None)
    return first is not None and first.action == 'permit'


def matches(entry, address, length=None):
    """Whether an entry of a prefix list matches the route of an address.

    :param entry: :class:`frr.output.Entry`
    :param address: IP address, the first one of a route to several
    :param length: that of the route, None for a host route
    :returns: bool
    """
    if entry.prefix == 'any':
        return True
    network = _network(entry.prefix)
    if network.version != address.version or address not in network:
        return False
    length = address.max_prefixlen if length is None else length
    if not entry.ge and not entry.le:
        return network.prefixlen == length
    return (entry.ge or network.prefixlen) <= length <= (entry.le or length)


def counted(lines):
    """Networks whose line the Go program may have written.

    The Go program begins with the number 5, and gives each new line the
    highest number of such lines plus 5.  It writes no IPv6 lines.

    :param lines: result of :func:`shaped`
    :returns: set of str
    """
    return {network for network, number in lines.items()
            if ':' not in network and not is_ours(network, number) and any(
                number > other and not (number - other) % _STEP
                for other in (0, *lines.values()))}
