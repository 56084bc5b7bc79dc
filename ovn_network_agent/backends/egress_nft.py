# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend egress_nft: our nftables table of egress addresses, by family.

It is recognised by what it says about itself (:mod:`nft.listing`). One that
has changed since its load is loaded again with its elements; else elements
change. Either is one transaction.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import shutil
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import calls
from ovn_network_agent.backends import nft_tables
from ovn_network_agent.common import notices
from ovn_network_agent.common import wording
from ovn_network_agent.nft import egress
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged.daemon import context

_DRIVER = 'egress_ip'
# The elements of the table, by the fields of their values.
_FIELDS = {resources.EgressMachine: ('machine', 'link'),
           resources.EgressSource: ('machine', 'link', 'address'),
           resources.EgressHeld: ('address',)}


class EgressNftBackend(nft_tables.TablesBackend):
    """One nftables table for each family, and its elements."""

    name = 'egress_nft'
    table = ownership.NFT_EGRESS
    kinds = (resources.EgressTable, resources.EgressMachine,
             resources.EgressSource, resources.EgressHeld)
    doubted_by = (notices.EGRESS_NFT,)

    def check(self) -> list[str]:
        """The program that the driver needs."""
        if _DRIVER in self.conf.drivers and shutil.which('nft') is None:
            return [f'[DEFAULT] drivers has {_DRIVER}: the program nft is '
                    'not in PATH; install the package nftables']
        return []

    def read(self, known: base.Known) -> list[resources.Resource]:
        """Read our tables, also what a former run has left.

        :raises base.BackendError: when nft does not answer
        """
        if known:
            self.start_watch()
        elif self._idle or shutil.which('nft') is None:
            # A node without egress addresses is spared the processes.
            return []
        found = _listed()
        if found and self._watch is None:
            # A former run's may be wanted as they are, without another
            # reading.
            self.start_watch()
            found = _listed()
        self._idle = not known and not found
        if _DRIVER not in self.conf.drivers:
            # The privileged side changes no elements then; they go with the
            # table.
            return [resources.EgressTable(family, listed.digest)
                    for family, listed in found.items()]
        return [resource for family, listed in found.items()
                for resource in _resources(family, listed)]

    def apply(self, delta: Any) -> base.Failures:
        """Load or delete the tables, and change elements, by family."""
        failures = {}
        for family in elements.FAMILIES:
            steps = [(verb, r) for verb, r in delta.steps
                     if r.family == family]
            if steps:
                failures.update(self._apply(family, delta, steps))
        return failures

    def _apply(self, family: str, delta: Any,
               steps: list[tuple[str, Any]]) -> base.Failures:
        """Make the changes of a family: all at once, else one by one."""
        removed = [r for r in delta.delete if r.family == family]
        added = [r for r in delta.wanted if r.family == family]
        try:
            self._change(family, removed, added)
        except base.BackendError as error:
            if len(steps) == 1:
                return {steps[0][1].ref: str(error)}
        else:
            return {}
        failures: base.Failures = {}
        one: tuple[list[Any], list[Any]]
        for one in [([r], []) for r in removed] + [([], [r]) for r in added]:
            try:
                self._change(family, *one)
            except base.BackendError as error:
                failures[(*one[0], *one[1])[0].ref] = str(error)
        return failures

    def _change(self, family: str, removed: list[Any], added: list[Any]
                ) -> None:
        """Bring the table to what is wanted."""
        if any(isinstance(r, resources.EgressTable) for r in removed):
            self._run(nft.delete_egress, family)
        else:
            self._change_table(family, removed, added)
        # What has begun without the translation never gets it.
        machines = {r.machine: '' for r in removed
                    if isinstance(r, resources.EgressSource)}
        machines |= {r.machine: r.address for r in added
                     if isinstance(r, resources.EgressSource)}
        if machines:
            self._run(nft.delete_senders, family,
                      [list(each) for each in sorted(machines.items())])

    def _change_table(self, family: str, removed: list[Any], added: list[Any]
                      ) -> None:
        before = _listed([family]).get(family)
        there = (before.machines, before.sources, [
            (each,) for each in before.held]) if before else ((), (), ())
        after = [
            {key: value for key, value in (*_keyed(found), *_keyed(
                _values(added, kind))) if key not in leaving}
            for found, kind in zip(there, _FIELDS, strict=True)
            for leaving in [{key for key, _value in _keyed(
                _values(removed, kind))}]]
        wanted = [sorted(set(each.values())) for each in after]
        if any(isinstance(r, resources.EgressTable) for r in added):
            self._run(nft.replace_egress, family, *(
                _plain(each) for each in wanted))
            self._run(nft.stamp_egress, family,
                      _listed([family])[family].listing)
            return
        change = [[_plain(sorted(one - other))
                   for one, other in pairs] for pairs in (
                       [(set(was), set(now)) for was, now
                        in zip(there, wanted, strict=True)],
                       [(set(now), set(was)) for was, now
                        in zip(there, wanted, strict=True)])]
        if any(change[0]) or any(change[1]):
            self._run(nft.change_egress, family, *change)

    def _run(self, function: Callable[..., Any], *args: Any) -> None:
        with calls.explained(), self.own_change() as ours:
            ours(function(*args))


def _values(found: Iterable[resources.Resource], kind: type[resources.Resource]
            ) -> list[tuple[str, ...]]:
    return [tuple(getattr(r, name) for name in _FIELDS[kind])
            for r in found if isinstance(r, kind)]


def _plain(values: Iterable[Any]) -> list[Any]:
    """The values as an entry point takes them."""
    return [list(value) if len(value) > 1 else value[0] for value in values]


def _keyed(values: Iterable[Any]
           ) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """(machine, link) and the value, of each."""
    return [(value[:2], value) for value in values]


def _listed(families: Sequence[str] = tuple(elements.FAMILIES)
            ) -> dict[str, egress.Listed]:
    """Our tables that are there, by family."""
    try:
        return {family: egress.parse(printed) for family, printed in
                nft.read_egress(list(families)).items()}
    except (*context.FAILURES, listing.Unreadable) as error:
        raise base.BackendError(
            f'the table {ownership.NFT_EGRESS} cannot be read: '
            f'{wording.error(error)}'
        ) from error


def _resources(family: str, listed: egress.Listed
               ) -> Iterator[resources.Resource]:
    yield resources.EgressTable(family, listed.digest)
    for machine, link in listed.machines:
        yield resources.EgressMachine(family, machine, link)
    for machine, link, address in listed.sources:
        yield resources.EgressSource(family, machine, link, address)
    for address in listed.held:
        yield resources.EgressHeld(family, address)
