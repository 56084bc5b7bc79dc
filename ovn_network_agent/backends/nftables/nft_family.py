# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The table of one family: loaded as a whole, or changed by elements.

Former targets are kept as "leaving" until their connections are deleted. Only
then the table counts as loaded, so whatever goes wrong in between is done
again.
"""

from collections.abc import Sequence
from typing import Any
from typing import cast

from oslo_log import log as logging

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends.nftables import nft_tables
from ovn_network_agent.backends.nftables import nft_work
from ovn_network_agent.nft import codec
from ovn_network_agent.nft import elements
from ovn_network_agent.nft import listing
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import values
from ovn_network_agent.privileged.nft import nft

LOG = logging.getLogger(__name__)

_NOTHING = listing.Listed(listing.ALTERED, '')
# Changes that fail before the others are not tried any more.
_TRIES = 3


class Family:
    """One table, of 'ip' or 'ip6'."""

    def __init__(self, name: str, tables: nft_tables.Tables) -> None:
        self.name = name
        self._tables = tables

    def apply(self, work: nft_work.Work) -> base.Failures:
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

    def _replace(self, table: resources.NftTable, work: nft_work.Work,
                 before: listing.Listed) -> base.Failures:
        """Load the table with all that is to be in it."""
        failures, adds = nft_work.possible(
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
                table, nft_work.Work(deletes=work.deletes), before))
            if table.ref in failures:
                failures.update({r.ref: str(error) for r in adds})
            else:
                failures.update(self._one_by_one(
                    [nft_work.Work(adds=[r]) for r in adds]))
        return failures

    def _load(self, table: resources.NftTable, contents: set[tuple[str, str]],
              before: listing.Listed) -> None:
        leaving = (before.targets | before.leaving) - set(table.targets)
        declared = rendering.sets(_content(table))
        sets = nft_work.by_set(entry for entry in contents
                               if entry[0] in declared)
        removed = [list(t) for t in sorted(leaving)]
        if (before.digest == listing.ALTERED or
                not self._exchange(table, sets, removed, before)):
            self._tables.change(nft.replace_table,
                                codec.pack(_content(table)), sets, removed)
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
        present = nft_work.by_set(
            {entry for entry in before.elements if entry[0] != of_rules} |
            {(of_rules, prefix) for prefix in before.networks})
        try:
            self._tables.change(nft.extend_table, codec.pack(_content(table)),
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

    def _change(self, work: nft_work.Work) -> base.Failures:
        """Change elements; when nft refuses, one by one."""
        listed = self._tables.sets(
            self.name, {r.set for r in (*work.adds, *work.deletes)})
        failures, adds = nft_work.possible(self.name, work.adds, listed.sets)
        try:
            self._change_at_once(adds, work.deletes, listed)
        except base.BackendError as error:
            steps = [nft_work.Work(adds=[r]) for r in adds] + [
                nft_work.Work(deletes=[r]) for r in work.deletes]
            if len(steps) == 1:
                return {**failures,
                        (adds or work.deletes)[0].ref: str(error)}
            failures.update(self._one_by_one(steps))
        return failures

    def _one_by_one(self, steps: Sequence[nft_work.Work]) -> base.Failures:
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

    def _change_at_once(self, adds: Sequence[resources.NftElement],
                        deletes: Sequence[resources.NftElement],
                        listed: listing.Listed) -> None:
        after = listed.elements | {(r.set, r.element) for r in adds}
        after -= {(r.set, r.element) for r in deletes}
        gone = nft_work.by_set(listed.elements - after)
        new = nft_work.by_set(after - listed.elements)
        of_rules = ownership.NFT_NETWORKS
        prefixes = gone.pop(of_rules, []), new.pop(of_rules, [])
        if any(prefixes):
            gone[ownership.NFT_PREFIXES], new[ownership.NFT_PREFIXES] = (
                prefixes)
            outer = set(elements.outer(
                element for name, element in after if name == of_rules))
            gone[of_rules] = sorted(listed.networks - outer)
            new[of_rules] = sorted(outer - listed.networks)
        if gone or new:
            self._tables.change(nft.change_elements, self.name, gone, new)


def _content(table: resources.NftTable) -> values.Table:
    """The content of a wanted table."""
    # The package of resources does not know this class.
    return cast(values.Table, table.content)
