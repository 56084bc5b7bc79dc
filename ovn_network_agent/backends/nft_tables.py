# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The table of each family: its work, its loading, its changes by elements.

What fails is a :class:`base.BackendError` with a text for the operator. Former
targets are kept as "leaving" until their connections are deleted. Only then
the table counts as loaded, so whatever goes wrong in between is done again.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import functools
import typing
from typing import Any
from typing import TypeAlias
from typing import cast

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.common import wording
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import values
from ovn_network_agent.privileged import nft
from ovn_network_agent.watches import nftables

LOG = logging.getLogger(__name__)


#: With a function that takes the process id of nft
OwnChange: TypeAlias = contextlib.AbstractContextManager[
    Callable[[int], object]]

_Resource: typing.TypeAlias = resources.NftTable | resources.NftElement

_READING = f'the table {ownership.NFT_TABLE} cannot be read'
_NOTHING = listing.Listed(listing.ALTERED, '')
# Changes that fail before the others are not tried any more.
_TRIES = 3


class TablesBackend(base.Backend):
    """A backend of our tables, with a watch for changes by other programs."""

    system = 'nftables'
    # 1,000 VIPs take nft seconds; a gateway that moves here must not wait.
    patience = 0.1
    # Name of the tables.
    table = ownership.NFT_TABLE

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        self._watch: nftables.TableWatch | None = None
        self._wake: Callable[..., object] | None = None
        # Whether there was nothing when there had been nothing to do, yet.
        self._idle = False

    def attach(self, context: base.Context) -> None:
        """Remember how to wake the loop after a change by another program."""
        self._wake = context.wake

    def close(self) -> None:
        """Stop the watch for changes by other programs."""
        if self._watch is not None:
            self._watch.stop()

    def own_change(self) -> OwnChange:
        """A context around a change that is not to wake the loop."""
        if self._watch is None:
            return contextlib.nullcontext(lambda _pid: None)
        return self._watch.own_change()

    def start_watch(self) -> None:
        """Report changes from here on, if there is a loop to wake."""
        if self._watch is None and self._wake is not None:
            self._watch = nftables.started(functools.partial(
                self._wake, stale=self.doubted_by), self.table)


class Tables:
    """Our tables in the kernel.

    :param own_change: returns a context around a change, with a function that
        takes the process id of nft, so that a watch knows whose change it was
    """

    def __init__(self, conf: Any, own_change: Callable[[], OwnChange]
                 ) -> None:
        self._conf = conf
        self._own_change = own_change

    def all(self) -> dict[str, listing.Listed]:
        """Our tables that are there, by family."""
        with calls.explained(_READING):
            found = nft.read_tables(list(elements.FAMILIES))
        return {family: _parsed(printed) for family, printed in found.items()}

    def table(self, family: str) -> listing.Listed | None:
        """Our table of one family, None when it is not there.

        :raises base.BackendError: when it cannot be read
        """
        with calls.explained(_READING):
            found = nft.read_tables([family])
        return _parsed(found[family]) if found else None

    def sets(self, family: str, wanted: set[str]) -> listing.Listed:
        """Those of some sets of our table that are there, and nothing else."""
        if ownership.NFT_NETWORKS in wanted:
            wanted = {*wanted, ownership.NFT_PREFIXES}
        with calls.explained(_READING):
            found = nft.read_sets(family, [name for name in sorted(wanted)
                                           if values.is_name(name)])
        return _parsed(*found.values())

    def change(self, function: Callable[..., Any], *args: Any) -> None:
        """Call an entry point that changes the table."""
        with calls.explained(), self._own_change() as ours:
            ours(function(*args))

    def forget(self, family: str, targets: Collection[values.Target]) -> None:
        """Delete the connections that were translated to these."""
        if not targets:
            return
        with calls.explained('connections to destinations that were removed '
                             'stay in connection tracking'):
            count = nft.delete_connections(
                family, self._conf.port_forward.port_forward_ct_zone,
                [list(target) for target in sorted(targets)])
        LOG.info('%s to %s deleted',
                 wording.count(count, 'connection'),
                 wording.count(len(targets), 'removed destination'))


def _parsed(*printed: str) -> listing.Listed:
    try:
        return listing.parse(*printed)
    except listing.Unreadable as error:
        raise base.BackendError(wording.error(error)) from error


class Work(typing.NamedTuple):
    """The changes to make."""

    # To load.
    table: resources.NftTable | None = None
    # To take away.
    unwanted: resources.NftTable | None = None
    adds: Sequence[resources.NftElement] = ()
    deletes: Sequence[resources.NftElement] = ()


def work_for(delta: base.Delta, family: str) -> Work | None:
    """The work of a delta for 'ip' or 'ip6'."""
    wanted, unwanted = ([
        r for r in some if isinstance(r, _Resource) and r.family == family]
        for some in (delta.wanted, delta.delete))
    if not wanted and not unwanted:
        return None
    return Work(_table(wanted), _table(unwanted), _elements(wanted),
                _elements(unwanted))


def _table(found: Iterable[_Resource]) -> resources.NftTable | None:
    return next((r for r in found if isinstance(r, resources.NftTable)),
                None)


def _elements(found: Iterable[_Resource]) -> list[resources.NftElement]:
    return [r for r in found if isinstance(r, resources.NftElement)]


def possible(family: str, adds: Iterable[resources.NftElement],
             sets: Collection[str]
             ) -> tuple[base.Failures, list[resources.NftElement]]:
    """The reasons against elements that a table's sets lack; the others."""
    failures = {}
    for resource in adds:
        try:
            elements.added(family, resource.set, resource.element)
            if resource.set not in sets:
                raise ValueError(f'there is no set {resource.set} for it')
        except (TypeError, ValueError) as error:
            failures[resource.ref] = str(error)
    return failures, [r for r in adds if r.ref not in failures]


def by_set(entries: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The sorted elements of (set, element), by set."""
    sets = collections.defaultdict(list)
    for name, element in sorted(entries):
        sets[name].append(element)
    return dict(sets)


class Family:
    """One table, of 'ip' or 'ip6'."""

    def __init__(self, name: str, tables: Tables) -> None:
        self.name = name
        self._tables = tables

    def apply(self, work: Work) -> base.Failures:
        """Bring the table to what is wanted."""
        if work.unwanted:
            return self._remove(work.unwanted)
        if work.table is not None:
            return self._replace(work.table, work,
                                 self._tables.table(self.name) or _NOTHING)
        return self._change(work)

    def _remove(self, table: resources.NftTable) -> base.Failures:
        """Take the table away, and all in it."""
        listed = self._tables.table(self.name)
        if listed is not None:
            try:
                self._tables.change(nft.delete_table, self.name)
                self._tables.forget(self.name,
                                    listed.targets | listed.leaving)
            except base.BackendError as error:
                return {table.ref: str(error)}
        return {}

    def _replace(self, table: resources.NftTable, work: Work,
                 before: listing.Listed) -> base.Failures:
        """Load the table with all that is to be in it."""
        failures, adds = possible(
            self.name, work.adds, rendering.sets(_content(table)))
        wanted = {(r.set, r.element) for r in adds}
        deletes = {(r.set, r.element) for r in work.deletes}
        # Elements of other programs go with the former table.
        kept = {entry for entry in before.elements - deletes
                if elements.is_ours(*entry)}
        try:
            self._load(table, kept | wanted, before)
        except base.BackendError as error:
            if wanted <= kept:
                return {**failures, table.ref: str(error)}
            # nft cannot have refused what the former table had.
            failures.update(self._replace(
                table, Work(deletes=work.deletes), before))
            if table.ref in failures:
                failures.update({r.ref: str(error) for r in adds})
            else:
                failures.update(self._one_by_one(
                    [Work(adds=[r]) for r in adds]))
        return failures

    def _load(self, table: resources.NftTable, contents: set[tuple[str, str]],
              before: listing.Listed) -> None:
        leaving = (before.targets | before.leaving) - set(table.targets)
        declared = rendering.sets(_content(table))
        sets = by_set(entry for entry in contents
                      if entry[0] in declared)
        removed = [list(t) for t in sorted(leaving)]
        if (before.digest == listing.ALTERED or
                not self._exchange(table, sets, removed, before)):
            self._tables.change(nft.replace_table,
                                values.pack(_content(table)), sets, removed)
        self._tables.forget(self.name, leaving)
        listed = self._tables.table(self.name) or _NOTHING
        self._tables.change(nft.stamp_table, self.name, table.digest,
                            listed.listing)

    def _exchange(self, table: resources.NftTable, sets: dict[str, list[str]],
                  leaving: list[list[Any]], before: listing.Listed) -> bool:
        """Exchange the rules of a table that is as we know it, in two steps.

        See :func:`nft.transaction.extension`: after a load in one step, a
        packet under way could miss both tables; if a new connection does, all
        its packets will.

        :returns: False when a chain or set of the name is something else now
        """
        of_rules = ownership.NFT_NETWORKS
        present = by_set(
            {entry for entry in before.elements if entry[0] != of_rules} |
            {(of_rules, prefix) for prefix in before.networks})
        try:
            self._tables.change(nft.extend_table, values.pack(_content(table)),
                                sets, present, leaving)
            self._tables.change(
                nft.prune_table, self.name, [list(r) for r in before.rules],
                sorted(before.chains - rendering.chains(
                    rendering.text(_content(table)))),
                sorted(before.sets - rendering.sets(_content(table))))
        except base.BackendError as error:
            LOG.info('The table is loaded in place of the former one: %s',
                     error)
            return False
        return True

    def _change(self, work: Work) -> base.Failures:
        """Change elements; when nft refuses, one by one."""
        listed = self._tables.sets(
            self.name, {r.set for r in (*work.adds, *work.deletes)})
        failures, adds = possible(self.name, work.adds, listed.sets)
        try:
            self._change_elements(adds, work.deletes, listed)
        except base.BackendError as error:
            steps = [Work(adds=[r]) for r in adds] + [
                Work(deletes=[r]) for r in work.deletes]
            if len(steps) == 1:
                return {**failures,
                        (adds or work.deletes)[0].ref: str(error)}
            failures.update(self._one_by_one(steps))
        return failures

    def _one_by_one(self, steps: Sequence[Work]) -> base.Failures:
        """Find out which of several changes nft refuses.

        After some failures, nft itself is the reason, and the rest is not
        tried.
        """
        failures: base.Failures = {}
        for step in steps:
            if len(failures) < _TRIES:
                failures.update(self._change(step))
            else:
                failures.update({r.ref: 'not tried, because others failed'
                                 for r in (*step.adds, *step.deletes)})
        return failures

    def _change_elements(self, adds: Sequence[resources.NftElement],
                         deletes: Sequence[resources.NftElement],
                         listed: listing.Listed) -> None:
        after = listed.elements | {(r.set, r.element) for r in adds}
        after -= {(r.set, r.element) for r in deletes}
        removed = by_set(listed.elements - after)
        new = by_set(after - listed.elements)
        of_rules = ownership.NFT_NETWORKS
        prefixes = removed.pop(of_rules, []), new.pop(of_rules, [])
        if any(prefixes):
            removed[ownership.NFT_PREFIXES], new[ownership.NFT_PREFIXES] = (
                prefixes)
            outer = set(elements.outer(
                element for name, element in after if name == of_rules))
            removed[of_rules] = sorted(listed.networks - outer)
            new[of_rules] = sorted(outer - listed.networks)
        if removed or new:
            self._tables.change(nft.change_elements, self.name, removed, new)


def _content(table: resources.NftTable) -> values.Table:
    """The content of a wanted table."""
    # The package of resources does not know this class.
    return cast(values.Table, table.content)
