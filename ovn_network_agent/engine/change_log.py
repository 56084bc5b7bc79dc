# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines of the log about what was changed.

A line takes 0.05 ms of the processor, which FRR needs when a thousand
addresses come.  So many changes of one kind share lines, with each key, so
that a search for an address finds the line.
"""

from collections.abc import Iterable
import itertools

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.engine import outcome

LOG = logging.getLogger(__name__)

#: Most changes of one kind, one after another, with a line for each.
EACH = 100
#: Most keys in a shared line.
SHARED = 50


def tell(changes: Iterable[tuple[str, resources.Resource]]) -> None:
    """Write the lines of changes.

    :param changes: ('created', 'updated' or 'deleted', a resource), in order
    """
    for (verb, kind), group in itertools.groupby(
            changes, lambda change: (change[0], change[1].kind)):
        changed = [resource for _verb, resource in group]
        if len(changed) <= EACH:
            for resource in changed:
                LOG.info('%s %s %s', verb, kind, outcome.describe(resource))
            continue
        for at in range(0, len(changed), SHARED):
            some = changed[at:at + SHARED]
            LOG.info('%s %s, %d to %d of %d: %s', verb, kind, at + 1,
                     at + len(some), len(changed), ' '.join(
                         outcome.brief(resource.key) for resource in some))
