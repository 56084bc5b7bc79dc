# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend frr_prefix_list: the prefix lists that permit announced routes.

An entry is ``permit <network> ge 32 le 32`` (128 in the list of IPv6, which
has the same name), or ``permit <network>`` for a network that is announced
itself. The sequence number marks the agent's entries: each network has a few
of its own (:func:`ownership.prefix_list_numbers`). An entry of the Go program
(:mod:`privileged.routing.prefix_lists`) is the agent's, too, if its network
is or was wanted here; it keeps its number.

FRR refuses a second entry with the same content, so a wanted entry of the
operator counts as present; it is never removed. The agent's numbers are high:
the first matching entry decides, and a ``deny`` of the operator comes first.

Each daemon of FRR has its own copy of a list, and a restarted one may have
lost it (that of bgpd counts for BGP). An entry that is not in all copies is
read as a :class:`PartialEntry`, and so written again with the same number.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import shutil
from typing import Any
from typing import TypeAlias

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import notices
from ovn_network_agent.frr import output
from ovn_network_agent.frr import prefix_list_lines
from ovn_network_agent.privileged.routing import prefix_lists

_WHAT = 'prefix list of FRR'  # in errors
_Copies: TypeAlias = Mapping[str, list[output.Entry]]
_Entries: TypeAlias = list[resources.PrefixListEntry]
# (network, ge, le)
_Line: TypeAlias = tuple[str, int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class PartialEntry(resources.PrefixListEntry):
    """An entry that some daemon has lost; never equal to a wanted entry."""

    missing_in: tuple[str, ...] = ()


class PrefixListBackend(base.Backend):
    """Entries of prefix lists with a sequence number of the agent."""

    name = 'frr_prefix_list'
    system = 'FRR'
    kinds = (resources.PrefixListEntry,)
    # 1,000 lines take FRR 8.4 about 40 s, for which announcements by static
    # routes would wait.
    max_changes = 50
    doubted_by = (notices.FRR_RESTARTED, notices.PREFIX_LISTS)
    revived_by = (notices.FRR_RESTARTED,)

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        # Names of earlier configurations, while entries are there.
        self._previous: set[str] = set()

    def check(self) -> list[str]:
        """A prefix list needs the program of ``[frr] vtysh_wrapper``."""
        program = (self.conf.frr.vtysh_wrapper.split() or ['vtysh'])[0]
        if not self.conf.frr.frr_prefix_list or shutil.which(program):
            return []
        return [f'{program} is not found: the prefix list of FRR is written '
                'to through vtysh; install FRR, set [frr] vtysh_wrapper to '
                'what reaches it in its container, or set [frr] '
                'frr_prefix_list to nothing']

    def read(self, known: base.Known) -> _Entries:
        """Read the agent's entries of the present list and of former ones.

        :param known: an entry of theirs counts with any sequence number
        :raises base.BackendError: when FRR or the kernel does not answer
        """
        found = []
        for name in self._lists():
            copies = self._copies(name)
            # First, while all entries of the Go program are there as proof.
            self._ours(copies)
            there = list(_found(name, copies, known).values())
            found += there
            if not there and name != self.conf.frr.frr_prefix_list:
                self._previous.discard(name)
        return found

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write entries, and remove the agent's from any of the lists.

        The lists are read before and after the change; the last reading
        decides.

        :returns: entries of another list or shape, networks without a free
            number, entries that FRR refused
        :raises base.BackendError: when FRR or the kernel does not answer
        """
        current, names = self.conf.frr.frr_prefix_list, self._lists()
        adds, deletes = (resources.of_kind(resources.PrefixListEntry, each)
                         for each in (delta.wanted, delta.delete))
        failures = {r.ref: f'not an entry of the prefix list "{current}" for '
                           'host routes or a network'
                    for of_lists, entries in (([current], adds),
                                              (names, deletes))
                    for r in entries
                    if r.name not in of_lists or
                    not prefix_list_lines.fits(r.network, r.ge, r.le)}
        for name in names:
            added, removed = ([r for r in entries
                               if r.name == name and r.ref not in failures]
                              for entries in (adds, deletes))
            if added or removed:
                failures.update(self._change(
                    name, added, removed, by_number=not delta.update))
        return failures

    def _lists(self) -> list[str]:
        """The present list, then former ones as long as they have entries.

        A reload may change the name.
        """
        current = self.conf.frr.frr_prefix_list
        previous = sorted(self._previous - {current})
        if current:
            self._previous.add(current)
        return [*filter(None, [current]), *previous]

    def _change(self, name: str, adds: _Entries, deletes: _Entries,
                by_number: bool) -> base.Failures:
        """Change one list.

        :param by_number: whether a few may be looked up by number; an entry
            with another number, of the operator or of the Go program, shows
            only among all entries
        """
        networks = sorted({r.network for r in (*adds, *deletes)})
        if by_number and len(networks) <= prefix_lists.FEW and (
                not self._attempt(name, adds, deletes, networks, networks)):
            return {}
        return self._attempt(name, adds, deletes, networks)

    def _attempt(self, name: str, adds: _Entries, deletes: _Entries,
                 networks: list[str], only: list[str] | None = None
                 ) -> base.Failures:
        known = {r.ref for r in (*adds, *deletes)}
        before = self._copies(name, only)
        concerned = _of(networks, before)
        present = _found(name, concerned, known)
        ours = prefix_list_lines.numbered(concerned) if only else (
            self._ours(before) if deletes else ())
        # FRR would complain about the removal of a missing entry.
        there = [r for r in deletes
                 if r.ref in present and _line(r) in ours]
        if only and len(there) < len(deletes):
            return {r.ref: 'not found by number' for r in deletes}
        deletes = there
        numbers = _numbers(before, concerned)
        numbered = {r: numbers(_line(r)) for r in adds
                    if present.get(r.ref) != r}
        failures = {r.ref: 'the sequence numbers of this network are in use; '
                           'give those entries other ones'
                    for r, number in numbered.items() if number is None}
        missing = [r for r in numbered if r.ref not in failures]
        if not missing and not deletes:
            return failures
        with calls.explained(_WHAT):
            refused, message = prefix_lists.change(
                name, [[r.network, r.ge, r.le, numbered[r]] for r in missing],
                [[r.network, r.ge, r.le] for r in deletes])
        failures.update(calls.of_lists(refused, adds=missing,
                                       deletes=deletes))
        after = _found(name, _of(networks, self._copies(name, only)), known)
        reason = 'FRR rejected it: ' + (
            ' '.join(message.split()) or 'no message')
        for resource in calls.missed(after, missing, deletes):
            failures.setdefault(resource.ref, reason)
        return failures

    def _ours(self, copies: _Copies) -> set[_Line]:
        """Those that may be removed."""
        leak = self.conf.veth_leak
        left = calls.reading(
            'what the Go program has left', prefix_lists.go_networks, copies,
            (leak.veth_leak_rule_priority, leak.veth_leak_table_id))
        ours: set[_Line] = prefix_list_lines.numbered(copies)
        return ours | {(network, *prefix_list_lines.hosts(network))
                       for network in left}

    def _copies(self, name: str, only: list[str] | None = None) -> _Copies:
        """By daemon, of all networks or of those to look up by number."""
        with calls.explained(_WHAT):
            found = (prefix_lists.read_of(name, only) if only else
                     prefix_lists.read(name))
        return {daemon: [output.Entry(*entry) for entry in entries]
                for daemon, entries in found.items()}


def _of(networks: list[str], copies: _Copies) -> _Copies:
    """The copies without the entries of other networks."""
    return {daemon: [entry for entry in entries if entry.prefix in networks]
            for daemon, entries in copies.items()}


def _found(name: str, copies: _Copies, known: Collection[resources.Ref]
           ) -> dict[resources.Ref, resources.PrefixListEntry]:
    """The agent's entries in any copy; known ones count with any number."""
    by_daemon = {daemon: prefix_list_lines.permits(entries)
                 for daemon, entries in copies.items()}
    found = {}
    there: set[_Line] = set().union(*by_daemon.values())
    for line in sorted(there):
        resource = resources.PrefixListEntry(name, *line)
        if resource.ref not in known and not any(
                prefix_list_lines.is_ours(line[0], numbers.get(line))
                for numbers in by_daemon.values()):
            continue
        missing_in = tuple(sorted(d for d, lines in by_daemon.items()
                                  if line not in lines))
        if missing_in:
            resource = PartialEntry(name, *line, missing_in=missing_in)
        found[resource.ref] = resource
    return found


def _line(resource: resources.PrefixListEntry) -> _Line:
    return resource.network, resource.ge, resource.le


def _numbers(copies: _Copies, concerned: _Copies
             ) -> Callable[[_Line], int | None]:
    """From an entry to its sequence number, None when all are in use.

    An entry keeps its number, unless another copy uses it otherwise.

    :param concerned: the entries of the networks alone, see :func:`_of`
    """
    # By number in the list of a family.
    used: dict[tuple[bool, int], set[tuple[object, ...]]] = {}
    old: dict[_Line, int] = {}
    for entries in concerned.values():
        old.update(prefix_list_lines.permits(entries))
    for entries in copies.values():
        for entry in entries:
            used.setdefault((':' in entry.prefix, entry.sequence),
                            set()).add(entry[1:])

    def number(line: _Line) -> int | None:
        ipv6 = ':' in line[0]
        if line in old and len(used[ipv6, old[line]]) == 1:
            return old[line]
        free = next((n for n in ownership.prefix_list_numbers(line[0])
                     if (ipv6, n) not in used), None)
        if free is not None:
            used[ipv6, free] = {line}
        return free
    return number
