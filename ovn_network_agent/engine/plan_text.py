# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The plan of a dry run, also as text: one line a change, in order."""

import collections

from ovn_network_agent import resources
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import removal
from ovn_network_agent.engine import tracking

SIGNS = {'create': '+', 'update': '~', 'delete': '-', 'unknown': '?'}


def steps(backends: actual.Backends, tracker: tracking.Tracker,
          removals: removal.Removals) -> list[tuple[str, resources.Resource]]:
    """The changes that a pass would make, in the order of the work.

    :returns: ('create', 'update', 'delete' or 'unknown', resource); 'unknown'
        for a change of an unreadable backend, or one that waits for it
    """
    found = []
    for _stage, _backend, kinds in backends.order:
        delta = tracker.delta(kinds)
        for verb, changed in (('create', delta.create), (
                'update', [new for _old, new in delta.update])):
            found += [('unknown' if any(
                backends.unread(backends.owners.get(ref.kind))
                for ref in (r.ref, *r.requires)) else verb, r)
                for r in changed]
    removed = [r for _stage, _backend, kinds in backends.order_down
               for r in tracker.delta(kinds).delete]
    removed.sort(key=lambda r: not r.leaves_early)
    return found + [('unknown' if removals.announcement_unknown(r) else
                     'delete', r) for r in removed]


def render(steps: list[tuple[str, resources.Resource]],
           outcome: outcomes.Outcome) -> list[str]:
    """Lines of the plan, as of :meth:`reconciler.Reconciler.plan`."""
    lines = [f'{SIGNS[verb]} {resource.kind} {outcomes.describe(resource)}'
             for verb, resource in steps]
    lines += [f'! {reason}' for reason in outcome.degraded]
    counts = collections.Counter(verb for verb, _resource in steps)
    unknown = (f', {counts["unknown"]:d} that could not be looked at'
               if counts['unknown'] else '')
    lines.append(f'Plan: {counts["create"]:d} to create, {counts["update"]:d} '
                 f'to update, {counts["delete"]:d} to delete{unknown}; '
                 'nothing was changed.')
    return lines
