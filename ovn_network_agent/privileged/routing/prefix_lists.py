# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for the prefix lists of FRR, through vtysh."""

from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import errno
import functools
import re
import typing

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import checks
from ovn_network_agent.privileged.routing import vty
from ovn_network_agent.privileged.routing import vtysh

_DAEMONS = (vty.MGMTD, 'zebra', 'bgpd')
# the daemons that use the lists, by the names that FRR 8 prints
_HOLDERS = {'BGP': 'bgpd', 'ZEBRA': 'zebra'}
# Lines of a transaction.  For each, FRR 8.4 looks at all entries of the list
# and transaction, twice, or four times with "ge" and "le".  A daemon answers
# nobody meanwhile: with 1,000 lines for 5 to 17 s, with the last 25 of them
# for 0.1 to 0.5 s.  A vtysh costs a process, so it gets more.
_LINES, _LINES_OF_VTYSH = 25, 200
# network, ge, le
_Line = tuple[str, int, int]
#: most networks whose entries are read alone
FEW = 10
# the answer of a daemon without the list, see session.Session.ask
_ABSENT = re.compile(r'^status \d+ of \w+$', re.MULTILINE)

# Proven networks; the rule that proves a line may go before it.
_proven: set[str] = set()


@privileged.frr.entrypoint
def read(name: str) -> dict[str, list[list[typing.Any]]]:
    """:class:`frr.output.Entry` fields by daemon ('BGP', 'ZEBRA')."""
    vtysh.check_prefix_list(name)
    copies = _copies(name)
    # notes the lines of the Go program while their proof exists
    go_networks(copies, limits.current().leak)
    return {daemon: [list(entry) for entry in entries]
            for daemon, entries in copies.items()}


@privileged.frr.entrypoint
def read_of(name: str, networks: Sequence[str]
            ) -> dict[str, list[list[typing.Any]]]:
    """As :func:`read`, at least what has a number of some networks, at most
    :data:`FEW`: thousands are long in JSON.  What is no network has no
    numbers.
    """
    vtysh.check_prefix_list(name)
    wanted = []
    for text in checks.sequence(networks)[:FEW]:
        with contextlib.suppress(ValueError):
            wanted.append(str(lines.check_network(text)))
    return {daemon: [list(entry) for entry in entries]
            for daemon, entries in _copies(name, wanted).items()}


@privileged.frr.entrypoint
def permit() -> str:
    """Permit the list that the configuration files name by now."""
    return limits.permit_prefix_list()


@privileged.frr.change
def change(name: str, adds: checks.Items, deletes: checks.Items
           ) -> list[typing.Any]:
    """Add entries to a prefix list, then remove some.

    FRR replaces an entry with the number of a new one.  So that has to be the
    agent's (:func:`ownership.prefix_list_numbers`), or this entry's in some
    daemon; an entry to remove is numbered by the agent or of the Go program
    (:func:`go_networks`).

    :param adds: each [network, ge, le, sequence]
    :param deletes: each [network, ge, le]
    :returns: as :func:`vtysh.change_static`
    """
    vtysh.check_prefix_list(name)
    copies = functools.cache(lambda: _copies(name))
    removable = functools.cache(lambda: _removable(copies()))
    removals: dict[_Line, str] = {}

    def line(network: str, ge: int, le: int, *sequence: int) -> str:
        text = lines.prefix_list_entry(name, network, ge, le, *sequence)
        if not sequence:
            entry = network, ge, le
            if not (len(deletes) <= FEW and
                    entry in prefix_list_lines.numbered(
                        _copies(name, [network])) or
                    entry in removable()):
                raise ValueError(f'there is no entry {network} of ours')
            removals[entry] = 'no ' + text
        elif not prefix_list_lines.is_ours(network, *sequence) and not any(
                prefix_list_lines.permits(entries).get(
                    (network, ge, le)) == sequence[0]
                for entries in copies().values()):
            raise ValueError(f'sequence number {sequence[0]} is neither '
                             f'ours nor that of the entry {network}')
        return text
    refused, configuration = vtysh.checked_lines(adds, deletes, line)
    if not configuration:
        return [refused, '']
    messages = _write(configuration)
    if messages and removals:
        _remove_left(name, removals)
    return [refused, messages]


@privileged.frr.change
def renew(name: str, addresses: Sequence[str]) -> list[typing.Any]:
    """Write entries again that bgpd disobeys, in one call of vtysh (see
    :mod:`frr.prefix_list_lines`), which withdraws nothing on the way.

    :param addresses: host prefixes that bgpd refuses; what the list does not
        permit in bgpd has another fault, and is left out
    :returns: [each [network, former number, new number], messages of vtysh]
    """
    vtysh.check_prefix_list(name)
    wanted = [vtysh.checked(lines.check_host, text)
              for text in checks.sequence(addresses)]
    copies = _copies(name)
    due = prefix_list_lines.permitting(copies['BGP'], wanted)
    renewed, configuration = prefix_list_lines.renewal(name, due, copies)
    return [[list(each) for each in renewed],
            vtysh.configure(configuration, _DAEMONS)
            if configuration else '']


def _write(configuration: list[str]) -> str:
    """In transactions with the whole time limit each."""
    messages = []
    while configuration:
        size = _LINES
        try:
            messages.append(vty.configure_each(configuration[:size],
                                               _HOLDERS.values()))
        except vty.Unavailable:
            size = _LINES_OF_VTYSH
            messages.append(vtysh.configure(configuration[:size], _DAEMONS))
        configuration = configuration[size:]
    return '\n'.join(filter(None, messages))


def _remove_left(name: str, removals: dict[_Line, str]) -> None:
    """vtysh stops at the first daemon that lacks an entry: ask each alone."""
    for printed, left in _left(name, removals).items():
        vtysh.configure([removals[line] for line in left], (),
                        only=_HOLDERS[printed])
    forgotten = _left(name, removals).get('ZEBRA')
    if forgotten and vty.MGMTD in vtysh.read_daemons():
        _remove_forgotten(name, forgotten, removals)


def _remove_forgotten(name: str, left: dict[_Line, int],
                      removals: dict[_Line, str]) -> None:
    """Remove zebra's entries of a former mgmtd: since FRR 10 it obeys only
    mgmtd, which starts without them, so mgmtd gets them first.
    """
    for configuration in (
            [lines.prefix_list_entry(name, *line, number)
             for line, number in left.items()],
            [removals[line] for line in left]):
        vtysh.configure(configuration, (), only=vty.MGMTD)


def _left(name: str, removals: Container[_Line]
          ) -> dict[str, dict[_Line, int]]:
    """Numbers of the entries to remove in daemons that have some."""
    found = {printed: {line: number for line, number
                       in sorted(prefix_list_lines.permits(entries).items())
                       if line in removals}
             for printed, entries in _copies(name).items()}
    return {printed: left for printed, left in found.items() if left}


def _copies(name: str, networks: list[str] | None = None
            ) -> dict[str, list[output.Entry]]:
    """The lists of a name, by daemon.

    :param networks: only the entries with a number of these; with mgmtd all,
        as later FRR takes a second entry with the same content
    """
    running = vtysh.read_daemons()
    vtysh.require(running, *_HOLDERS.values())
    if vty.MGMTD in running:
        networks = None
    shown = [f'{family} prefix-list {name}'
             for family in ('ip', 'ipv6')] if networks is None else [
        f'{"ipv6" if ":" in network else "ip"} prefix-list {name} seq {number}'
        for network in networks
        for number in ownership.prefix_list_numbers(network)]
    return {printed: _copy(name, daemon, shown)
            for printed, daemon in _HOLDERS.items()}


def _copy(name: str, daemon: str, shown: Iterable[str]) -> list[output.Entry]:
    """One daemon's entries; vtysh would stop at the first without the list."""
    messages = _ABSENT.sub('', vtysh.ask({daemon: [
        f'show {each} json' for each in shown]}))
    try:
        return output.prefix_list(messages, name) or []
    except output.Unreadable as error:
        raise OSError(errno.EPROTO, f'{daemon} of FRR: {error}') from error


def _removable(copies: dict[str, list[output.Entry]]) -> set[_Line]:
    return prefix_list_lines.numbered(copies) | {
        (network, *prefix_list_lines.hosts(network)) for network
        in go_networks(copies, limits.current().leak)}


def go_networks(copies: dict[str, list[output.Entry]], leak: tuple[int, int]
                ) -> set[str]:
    """Networks whose lines, in the copies by daemon, are of the Go program;
    ``leak`` is (priority, table) of the rules of the veth leak.

    It is the older program of the same name (see the glossary).  An operator's
    lines may look alike, but beside each of its lines are a policy rule for
    the network without a protocol, which the agent's have, and a route of the
    agent's protocol through the veth pair.
    """
    found: set[str] = set()
    for entries in copies.values():
        found |= prefix_list_lines.counted(prefix_list_lines.shaped(entries))
    # a later line in the place of a removed one needs its own proof
    _proven.intersection_update(found)
    if found - _proven:
        _proven.update(_led_back(found - _proven, leak))
    return set(_proven)


def forget_go() -> None:
    """Forget all proofs, for tests."""
    _proven.clear()


def _led_back(wanted: set[str], leak: tuple[int, int]) -> set[str]:
    # FRR's daemon rarely needs these, and has to start fast.
    from ovn_network_agent.netlink.objects import routes
    from ovn_network_agent.netlink.objects import rules
    there = [(rule.src, rule.protocol) for rule in rules.read_all()
             if rule.src and rule.src in wanted and
             (rule.priority, rule.table) == leak and
             (rule.dst, rule.iif, rule.fwmark, rule.suppress) ==
             (None, None, None, None)]
    found = {src for src, protocol in there if not protocol} - {
        src for src, protocol in there
        if protocol == ownership.RULE_PROTOCOL}
    # The routes are read only if need be, because there may be many.
    return found and found & {
        route.dst for route in routes.read_ours(ownership.ROUTE_PROTOCOL)
        if route.dev == ownership.VETH_PROVIDER}
