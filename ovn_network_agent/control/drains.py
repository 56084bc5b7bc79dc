# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drains: wishes, reasons why a gateway stays, begins, and the overlap."""

from collections.abc import Callable
from collections.abc import Set
import datetime

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent.common import error_words
from ovn_network_agent.conf import mode
from ovn_network_agent.conf import plugins
from ovn_network_agent.privileged import overlap
from ovn_network_agent.privileged.daemon import context


def drain_scope(group: model.GatewayGroup, drains: Set[str]) -> str:
    """The wish that covers a group: 'all', 'router' (one of its) or ''."""
    if model.ALL in drains:
        return 'all'
    return '' if drains.isdisjoint(group.routers) else 'router'


def stays(group: model.GatewayGroup, chassis: str,
          name: Callable[[str], str] = str) -> str:
    """The reason why a drain does not move a group, '' when it does.

    It leaves no group without a ready candidate; a chassis with priority 0 and
    without a port has nothing to move.
    """
    own = group.candidate(chassis) or model.Candidate(chassis, 0)
    here = any(port.chassis == chassis for port in group.ports)
    if group.takers(chassis) or not (own.priority > 0 or here):
        return ''
    others = [c for c in group.candidates if c.chassis != chassis]
    if not others:
        return 'this chassis is its only candidate'
    reasons = ', '.join(f'{name(c.chassis)} {_why(c)}' for c in others)
    return f'none of its other candidates is ready ({reasons})'


def _why(candidate: model.Candidate) -> str:
    if not candidate.known:
        return 'has no chassis in OVN SB'
    if candidate.drained == model.UNFIT:
        return 'has priority 0, as its BGP could not announce anything'
    return 'has priority 0'


class Since:
    """Notes the time of the first view with a drain, and with a handover.

    The database has none, so the earliest is that of the agent's start.
    """

    def __init__(self,
                 clock: Callable[[], datetime.datetime] = (
                     lambda: datetime.datetime.now(datetime.UTC))
                 ) -> None:
        self._clock = clock
        # Times like 2026-01-31T12:00:00Z, by a member of node.drains, and by
        # name of the Logical_Router_Port.  Replaced as a whole, for any
        # thread.
        self.drains: dict[str, str] = {}
        self.handovers: dict[str, str] = {}

    def note(self, snapshot: model.Snapshot) -> None:
        """Note a new view; on one thread only."""
        leaving = [port.lrp for router in snapshot.routers
                   for port in router.ports
                   if port.handover is not model.Handover.NONE]
        if not (snapshot.node.drains or leaving or self.drains or
                self.handovers):
            return
        now = self._clock().strftime('%Y-%m-%dT%H:%M:%SZ')
        self.drains = {drain: self.drains.get(drain, now)
                       for drain in snapshot.node.drains}
        self.handovers = {lrp: self.handovers.get(lrp, now)
                          for lrp in leaving}


def overlap_state(conf: cfg.ConfigOpts) -> str:
    """The overlap of drains: 'on', 'off', why none, or '' without drains.

    Asks ovn-controller, which takes some seconds at the most.
    """
    if (not plugins.requested(conf, plugins.RANKING) or
            mode.forwards_only(conf)):
        return ''
    if not conf.gateway_drain.overlap:
        return 'off'
    try:
        return overlap.standing() or 'on'
    except context.FAILURES as error:
        return f'not known: {error_words.text(error)}'
