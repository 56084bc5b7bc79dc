# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend router_advertisement: interfaces where FRR advertises this node.

An interface of FRR is the agent's while it has an interval or a lifetime of
the agent (:mod:`frr.advertisement`). Else its lines are the operator's, stay,
and a wanted advertisement fails. Beside the agent's lines, the operator may
have others, such as ``ipv6 nd managed-config-flag``. FRR has the lines also
while the device does not exist.
"""

from collections.abc import Callable
import dataclasses
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.common import error_words
from ovn_network_agent.common import notices
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.routing import router_advertisements


@dataclasses.dataclass(frozen=True, slots=True)
class Incomplete(resources.RouterAdvertisement):
    """Advertisements that lack a line; never equal to wanted ones."""


class RouterAdvertisementBackend(base.Backend):
    """Router advertisements with a mark of the agent."""

    name = 'router_advertisement'
    system = 'FRR'
    kinds = (resources.RouterAdvertisement,)
    # frr-reload.py removes all lines of the agent at once.
    doubted_by = (notices.FRR_RESTARTED, notices.PREFIX_LISTS,
                  notices.ZEBRA_STATIC)
    revived_by = (notices.FRR_RESTARTED,)

    def read(self, known: base.Known) -> list[resources.RouterAdvertisement]:
        """Read the advertisements of the agent.

        :param known: without any of this kind, a node need not have FRR
        :raises base.BackendError: when FRR does not answer
        """
        kind, = self.kinds
        try:
            found = self._call(router_advertisements.read)
        except base.BackendError:
            if any(ref.kind == kind.kind for ref in known):
                raise
            return []
        return [(kind if complete else Incomplete)(
            dev, tuple(prefixes), *flags)
                for dev, complete, prefixes, flags in found]

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write and remove lines; a new reading decides what has failed.

        :raises base.BackendError: when FRR does not answer
        """
        adds, deletes = (resources.of_kind(resources.RouterAdvertisement, some)
                         for some in (delta.wanted, delta.delete))
        refused, output = self._call(
            router_advertisements.change,
            [[r.dev, list(r.prefixes), [r.managed, r.other]] for r in adds],
            [[r.dev] for r in deletes])
        lists = {'adds': adds, 'deletes': deletes}
        failures = {lists[name][index].ref: reason
                    for name, index, reason in refused}
        there = {r.ref: r for r in self.read(frozenset(
            r.ref for r in (*adds, *deletes)))}
        reason = 'FRR rejected it: ' + (
            ' '.join(output.split()) or 'no message')
        for resource in adds:
            if there.get(resource.ref) != resource:
                failures.setdefault(resource.ref, reason)
        for resource in deletes:
            if resource.ref in there:
                failures.setdefault(resource.ref, reason)
        return failures

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return function(*args)
        except context.FAILURES as error:
            raise base.BackendError(
                f'router advertisements of FRR: '
                f'{error_words.text(error)}') from error
