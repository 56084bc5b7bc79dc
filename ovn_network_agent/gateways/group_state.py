# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The situation of a gateway group, which decides about its state.  Pure."""

from typing import Any

from ovn_network_agent import model
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import transitions

_Situation = transitions.Situation


def settled(group: model.GatewayGroup, node: model.Node, conf: Any,
            held: bool = False,
            overlapping: bool = False) -> model.GatewayState:
    """The next state of a group.

    :param group: with the former state and the present tenure
    :param held: whether the group has to wait for a relay
    :param overlapping: whether the group has to wait for an overlap
    """
    return transitions.GROUP.after(
        group.state, read(group, node, conf, held, overlapping))


def read(group: model.GatewayGroup, node: model.Node, conf: Any,
         held: bool = False,
         overlapping: bool = False) -> transitions.Situation:
    """The situation of a group, with the parameters of :func:`settled`."""
    own = group.candidate(node.chassis)
    if own is None or len(group.candidates) < 2:
        return _Situation.ALONE
    if departure.why(group, node, conf):
        return _leaving(group, own, held, overlapping)
    if node.phase is not model.Phase.RUNNING:
        return _Situation.STOP
    if {port.chassis for port in group.ports} - {''} == {node.chassis}:
        return _owner(group, own)
    if own.priority:
        return _Situation.RANKED
    return (_Situation.LOWERED_BY_AGENT if own.drained or group.restore
            else _Situation.LOWERED_BY_OTHERS)


def _leaving(group: model.GatewayGroup, own: model.Candidate, held: bool,
             overlapping: bool) -> transitions.Situation:
    if not group.abandoned and (held or overlapping):
        return _Situation.OVERLAP if overlapping else _Situation.HOLD
    if not own.priority:
        return _Situation.AT_ZERO
    if group.takers(own.chassis):
        return _Situation.TAKER
    # This chassis announces it no longer: the first that can is to get it.
    if group.abandoned and group.heirs(own.chassis):
        return _Situation.HEIR
    return _Situation.NO_TAKER


def _owner(group: model.GatewayGroup,
           own: model.Candidate) -> transitions.Situation:
    # Somebody gave another candidate a higher priority.
    if group.moving:
        return _Situation.MOVE
    # The ports came only because no candidate could announce them, so the
    # first candidate that can is to get them.
    if group.unfit and own.drained == model.UNFIT:
        return _Situation.UNFIT_OWNER
    return _Situation.OWNER
