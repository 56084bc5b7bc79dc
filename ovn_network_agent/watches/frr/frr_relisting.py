# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The repair of lines of the prefix list that bgpd has forgotten.

bgpd of FRR 8 forgets a line in its route maps when an entry of the same
network is removed (:mod:`frr.prefix_list_lines`): it keeps back what the list
permits.  Another filter has the same effect, so a line is written again only
once for each fault, without withdrawing anything.
"""

from collections.abc import Callable
from collections.abc import Mapping
import time

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent.common import trigger
from ovn_network_agent.frr import effect
from ovn_network_agent.privileged.routing import prefix_lists

LOG = logging.getLogger(__name__)

# Seconds: route maps are evaluated 5 s after a change of the list ("bgp
# route-map delay-timer"), and take a while.
TIMEOUT = 6.0
_BATCH = 100  # addresses of one call
_BACKEND = 'frr_prefix_list'


class Relisting:
    """Remembers the addresses that bgpd keeps back."""

    def __init__(self, conf: cfg.ConfigOpts,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._conf = conf
        self._clock = clock
        self._first_seen: dict[str, float] = {}
        self._tried: set[str] = set()

    def repair(self, faults: Mapping[str, str], sessions: bool,
               trigger: trigger.Trigger) -> None:
        """Write the lines of addresses again that bgpd still keeps back.

        :param faults: by prefix (:func:`effect.problem`), all found wrong
            twice
        :raises OSError: or others of :data:`context.FAILURES`, when FRR fails
        """
        name = self._conf.frr.frr_prefix_list
        now = self._clock()
        # No line of a network of its own is known to be forgotten.
        refused = {prefix for prefix, fault in faults.items()
                   if prefix.endswith(('/32', '/128')) and (
                       fault == effect.NOT_IN_BGP or
                       fault == effect.NOT_ADVERTISED and sessions)}
        self._first_seen = {prefix: self._first_seen.get(prefix, now)
                            for prefix in refused}
        self._tried &= refused
        due = sorted(prefix for prefix in refused - self._tried
                     if now - self._first_seen[prefix] >= TIMEOUT)[:_BATCH]
        if not due or not name:
            return
        self._tried.update(due)
        try:
            renewed, message = prefix_lists.renew(name, due)
        finally:
            # The next pass adds a line that is missing for any reason.
            trigger.fire('lines written again', stale=(_BACKEND,))
        for network, previous, number in renewed:
            LOG.warning('bgpd did not announce addresses of %s, which %s '
                        'permits: the line was written again, with the number '
                        '%d in place of %d%s', network, name, number, previous,
                        f' ({message})' if message else '')
