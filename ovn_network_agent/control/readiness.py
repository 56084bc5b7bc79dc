# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wishes for a gateway group, and the reasons why it stays.  Pure."""

from collections.abc import Callable
from collections.abc import Set

from ovn_network_agent import model


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
