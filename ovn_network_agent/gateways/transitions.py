# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The states of a gateway group on this chassis, as tables.

A table names the next state for each pair of a state and a condition.  Each
pass reads the condition from the view and never from an event, so a missed
change does no harm (decision record 0014).  Pairs that cannot occur are
declared, and have the right next state all the same.

``tools/gateway_states.py`` draws this module in the documentation.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import enum
import itertools
import types
import typing
from typing import Generic
from typing import TypeVar

from ovn_network_agent import model

State = model.GatewayState
Tenure = model.Tenure
Handover = model.Handover
_State = TypeVar('_State', bound=enum.Enum)
_Condition = TypeVar('_Condition', bound=enum.Enum)


class Situation(enum.Enum):
    """The conditions of a group's state; the first one that applies counts."""

    ALONE = 'alone'
    OVERLAP = 'overlap'
    HOLD = 'hold'
    AT_ZERO = 'at zero'
    TAKER = 'taker'
    HEIR = 'heir'
    NO_TAKER = 'no taker'
    STOP = 'stop'
    MOVE = 'move'
    UNFIT_OWNER = 'unfit owner'
    OWNER = 'owner'
    RANKED = 'ranked'
    LOWERED_BY_AGENT = 'lowered by agent'
    LOWERED_BY_OTHERS = 'lowered by others'


class Place(enum.Enum):
    """The conditions of a tenure; the first one that applies counts."""

    NO_PORT = 'no port'
    RAISED = 'raised'
    OVER = 'over'
    ANSWERED = 'answered'
    SILENT = 'silent'
    PREVIOUS_ANSWERS = 'former answers'
    FIRST = 'first'


class Passage(enum.Enum):
    """The conditions of the handover of a port."""

    HERE = 'here'
    NEVER_HERE = 'never here'
    AWAITED = 'awaited'
    ENOUGH = 'enough'
    SETTLED = 'settled'


class Stage(enum.Enum):
    """How far the overlap of this node is; there is one for all groups."""

    NONE = 'none'
    TAKING = 'taking'
    INSTALLING = 'installing'
    CHANGING = 'changing'
    OVER = 'over'


class Progress(enum.Enum):
    """The conditions of the stage of an overlap: the first that applies."""

    NOTHING = 'nothing'
    WAITING = 'waiting'
    REFUSED = 'refused'
    ENDED = 'ended'
    READY = 'ready'
    HERE = 'here'
    LEFT = 'left'


class Order(enum.Enum):
    """The priority that is wanted for this chassis in the group."""

    AS_IT_IS = 'as it is'
    LEAD = 'lead'
    UNMARK = 'unmark'
    STANDBY = 'standby'
    ZERO = 'zero'


class Wants(typing.NamedTuple):
    """The wishes of the drivers in a state."""

    order: Order = Order.AS_IT_IS
    # Whether the packets of a port on this chassis also go to the next owner.
    relay: bool = False
    announce: bool = False  # whether a port that has left is still announced
    forward: bool = False  # whether packets for such a port are forwarded
    # Whether the next owners are to believe that this chassis has died.
    overlap: bool = False
    # Whether the order of all groups that are left has to stay.
    hold: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Table(Generic[_State, _Condition]):
    """A table of states and their transitions."""

    name: str  # subject of the table, for the picture
    states: type[_State]  # of which the first is the start
    conditions: type[_Condition]  # in the order of precedence
    rows: Mapping[tuple[_State, _Condition], _State]  # complete
    impossible: frozenset[tuple[_State, _Condition]]
    wants: Mapping[_State, Wants]  # complete
    # A sentence for each state and condition.
    meanings: Mapping[enum.Enum, str]

    def after(self, state: _State, condition: _Condition) -> _State:
        """The next state."""
        return self.rows[state, condition]


def _complete(states: Iterable[_State], always: Mapping[_Condition, _State],
              others: Mapping[tuple[_State, _Condition],
                              _State] = types.MappingProxyType({})
              ) -> Mapping[tuple[_State, _Condition], _State]:
    """The rows of a table, read-only.

    :param always: the usual next state after a condition
    """
    return types.MappingProxyType({
        (state, condition): others.get((state, condition), after)
        for state in states for condition, after in always.items()})


def _pairs(states: Iterable[_State], conditions: Iterable[_Condition]
           ) -> frozenset[tuple[_State, _Condition]]:
    return frozenset(itertools.product(states, conditions))


# -- the state of a group ---------------------------------------------------

# Only a running agent is in these situations, and a stop is never undone.
_RUNNING = (Situation.MOVE, Situation.UNFIT_OWNER, Situation.OWNER,
            Situation.RANKED, Situation.LOWERED_BY_AGENT,
            Situation.LOWERED_BY_OTHERS)

GROUP = Table(
    'State of a gateway group on this chassis', State, Situation,
    _complete(State, {
        Situation.ALONE: State.ALONE,
        Situation.OVERLAP: State.OVERLAPPING,
        Situation.HOLD: State.HELD,
        Situation.AT_ZERO: State.DRAINED,
        Situation.TAKER: State.LEAVING,
        Situation.HEIR: State.FORSAKEN,
        Situation.NO_TAKER: State.LAST,
        Situation.STOP: State.KEPT,
        Situation.MOVE: State.YIELDING,
        Situation.UNFIT_OWNER: State.STOPGAP,
        Situation.OWNER: State.SERVING,
        Situation.RANKED: State.STANDBY,
        Situation.LOWERED_BY_AGENT: State.RETURNING,
        Situation.LOWERED_BY_OTHERS: State.SET_ASIDE}),
    _pairs([State.KEPT], [*_RUNNING, Situation.HEIR]) |
    _pairs([State.FORSAKEN], [*_RUNNING, Situation.STOP, Situation.HOLD,
                              Situation.OVERLAP]),
    types.MappingProxyType({
        State.UNDECIDED: Wants(),
        State.ALONE: Wants(),
        State.STANDBY: Wants(Order.UNMARK),
        State.RETURNING: Wants(Order.STANDBY),
        State.SET_ASIDE: Wants(),
        State.SERVING: Wants(Order.LEAD),
        State.YIELDING: Wants(relay=True),
        State.STOPGAP: Wants(),
        State.HELD: Wants(relay=True),
        State.OVERLAPPING: Wants(relay=True),
        State.LEAVING: Wants(Order.ZERO, relay=True),
        State.DRAINED: Wants(Order.ZERO, relay=True),
        State.LAST: Wants(relay=True),
        State.FORSAKEN: Wants(Order.ZERO, relay=True),
        State.KEPT: Wants()}),
    types.MappingProxyType({
        State.UNDECIDED: 'Not looked at: the agent starts or is at its end, '
                         'or has no driver for the order.',
        State.ALONE: 'There is no other candidate.',
        State.STANDBY: 'Has a priority, and not all of the ports.',
        State.RETURNING: 'At 0 since a drain that is over; becomes a '
                         'standby.',
        State.SET_ASIDE: 'At 0, for reasons that no agent knows.',
        State.SERVING: 'Has all ports, and is to be first in the order.',
        State.YIELDING: 'Has all ports; OVN may be about to move these.',
        State.STOPGAP: 'Has all ports, cannot announce, and waits for a '
                       'candidate that can.',
        State.HELD: 'Is to be left; waits a moment for the relay to the '
                    'next owner, or until OVN is back.',
        State.OVERLAPPING: 'Is to be left; the next owners take over while '
                           'this chassis serves.',
        State.LEAVING: 'Is to be left; the priority goes to 0.',
        State.DRAINED: 'Is to be left, and the priority is 0.',
        State.LAST: 'Is to be left, and no candidate could take over.',
        State.FORSAKEN: 'The agent ends without a taker; the first '
                        'candidate that can announce gets the ports.',
        State.KEPT: 'The agent stops without a drain.',
        Situation.ALONE: 'no other candidate',
        Situation.OVERLAP: 'to be left, and an overlap begins',
        Situation.HOLD: 'to be left; the relay or OVN does not answer yet',
        Situation.AT_ZERO: 'to be left, with priority 0',
        Situation.TAKER: 'to be left, and a candidate can take over',
        Situation.HEIR: 'abandoned, and a candidate may take over later',
        Situation.NO_TAKER: 'to be left, and no candidate can take over',
        Situation.STOP: 'the agent stops, drain_on_shutdown is off',
        Situation.MOVE: 'all ports here, tenure with a relay (below)',
        Situation.UNFIT_OWNER: 'all ports here, unfit and marked as unfit',
        Situation.OWNER: 'all ports here',
        Situation.RANKED: 'a priority above 0',
        Situation.LOWERED_BY_AGENT: '0 by a mark, or since the start',
        Situation.LOWERED_BY_OTHERS: '0 without either'}))


# -- the tenure -------------------------------------------------------------

# OVN has moved the ports here although another candidate is before this
# chassis, which has died, unless it still answers.
_CAME = (Tenure.CONTESTED, Tenure.INHERITED)
# No candidate was before this chassis in the last view.
_NOT_OUTRANKED = (Tenure.NEW, Tenure.FIRST, Tenure.LINGERING)

TENURE = Table(
    'Tenure of the ports of a gateway group', Tenure, Place,
    _complete(Tenure, {
        Place.NO_PORT: Tenure.ELSEWHERE,
        Place.RAISED: Tenure.OUTRANKED,
        Place.OVER: Tenure.OVERDUE,
        Place.ANSWERED: Tenure.OUTRANKED,
        Place.SILENT: Tenure.OUTRANKED,
        Place.PREVIOUS_ANSWERS: Tenure.LINGERING,
        Place.FIRST: Tenure.FIRST}, {
            (Tenure.ELSEWHERE, Place.ANSWERED): Tenure.CONTESTED,
            (Tenure.ELSEWHERE, Place.SILENT): Tenure.INHERITED,
            **{(came, place): after for came in _CAME for place, after in (
                (Place.ANSWERED, Tenure.CONTESTED),
                (Place.SILENT, Tenure.INHERITED),
                (Place.OVER, Tenure.INHERITED))}}),
    _pairs(_NOT_OUTRANKED, [Place.OVER, Place.ANSWERED, Place.SILENT]) |
    _pairs([Tenure.ELSEWHERE], [Place.RAISED, Place.OVER]) |
    _pairs([Tenure.OVERDUE], [Place.ANSWERED, Place.SILENT]) |
    _pairs(set(Tenure) - {*_CAME, Tenure.LINGERING},
           [Place.PREVIOUS_ANSWERS]),
    types.MappingProxyType({
        **dict.fromkeys(Tenure, Wants()),
        **dict.fromkeys((Tenure.OUTRANKED, Tenure.CONTESTED,
                         Tenure.LINGERING), Wants(relay=True))}),
    types.MappingProxyType({
        Tenure.NEW: 'Never looked at.',
        Tenure.ELSEWHERE: 'None of the ports is here.',
        Tenure.FIRST: 'Ports are here, and no candidate is before this '
                      'chassis.',
        Tenure.OUTRANKED: 'A candidate has got before this chassis, and OVN '
                          'may move the ports.',
        Tenure.OVERDUE: 'OVN has not moved the ports in time: that '
                        'candidate does not take these.',
        Tenure.CONTESTED: 'Ports came although a candidate before this '
                          'chassis still answers.',
        Tenure.INHERITED: 'Ports came, as those before this chassis do not '
                          'answer or do not take these back in time.',
        Tenure.LINGERING: 'First now, and compute nodes may still send to '
                          'the candidate that was.',
        Place.NO_PORT: 'no port of the group is here',
        Place.RAISED: 'a candidate is before this chassis that was not',
        Place.OVER: 'and for longer than OVN takes to move ports',
        Place.ANSWERED: 'and the first of the others answers in its relay',
        Place.SILENT: 'and the first of the others does not',
        Place.PREVIOUS_ANSWERS: 'none is, and the one that was still answers',
        Place.FIRST: 'none is before this chassis'}))


# -- the handover of a port -------------------------------------------------

PORT = Table(
    'Handover of a gateway port', Handover, Passage,
    _complete(Handover, {
        Passage.HERE: Handover.NONE,
        Passage.NEVER_HERE: Handover.NONE,
        Passage.AWAITED: Handover.ANNOUNCE,
        Passage.ENOUGH: Handover.FORWARD,
        Passage.SETTLED: Handover.NONE}),
    # A port that has left is remembered; a port that was let go stays silent.
    _pairs([Handover.ANNOUNCE, Handover.FORWARD], [Passage.NEVER_HERE]) |
    _pairs([Handover.FORWARD], [Passage.AWAITED]) |
    _pairs([Handover.NONE, Handover.ANNOUNCE], [Passage.SETTLED]),
    types.MappingProxyType({
        Handover.NONE: Wants(),
        Handover.ANNOUNCE: Wants(announce=True, forward=True),
        Handover.FORWARD: Wants(forward=True)}),
    types.MappingProxyType({
        Handover.NONE: 'Is here, or is no longer served from here.',
        Handover.ANNOUNCE: 'Has left, and stays announced until the new '
                           'owner has proved that it announces.',
        Handover.FORWARD: 'Has left and is withdrawn; what still arrives is '
                          'forwarded.',
        Passage.HERE: 'the port is here',
        Passage.NEVER_HERE: 'the port is not here, and was not',
        Passage.AWAITED: 'the port was here, and the new owner is to '
                         'announce it',
        Passage.ENOUGH: 'the new owner does, or time is up, or nothing can '
                        'be relayed',
        Passage.SETTLED: 'and the fabric has had time to act on that'}))


# -- the overlap of the node ------------------------------------------------

_UNDER_WAY = (Stage.TAKING, Stage.INSTALLING, Stage.CHANGING)

OVERLAP = Table(
    'Overlap of the node', Stage, Progress,
    _complete(Stage, {
        Progress.NOTHING: Stage.NONE,
        Progress.WAITING: Stage.NONE,
        Progress.REFUSED: Stage.OVER,
        Progress.ENDED: Stage.OVER,
        Progress.READY: Stage.CHANGING,
        Progress.HERE: Stage.TAKING,
        Progress.LEFT: Stage.INSTALLING}),
    _pairs([*_UNDER_WAY, Stage.OVER],
           [Progress.WAITING, Progress.REFUSED]) |
    _pairs([Stage.NONE], [Progress.ENDED, Progress.READY, Progress.LEFT]) |
    _pairs([Stage.OVER], [Progress.READY, Progress.HERE, Progress.LEFT]),
    types.MappingProxyType({
        Stage.NONE: Wants(),
        Stage.TAKING: Wants(overlap=True, hold=True),
        Stage.INSTALLING: Wants(overlap=True, hold=True),
        Stage.CHANGING: Wants(overlap=True),
        Stage.OVER: Wants()}),
    types.MappingProxyType({
        Stage.NONE: 'There is none.',
        Stage.TAKING: 'The next owners take over; ports are still here.',
        Stage.INSTALLING: 'The next owners have the ports, and get their '
                          'flows.',
        Stage.CHANGING: 'The order is changed, and compute nodes follow it.',
        Stage.OVER: 'It has ended, or could not begin; none until another '
                    'departure.',
        Progress.NOTHING: 'no group is to be left',
        Progress.WAITING: 'it cannot begin before a relay and OVN answer',
        Progress.REFUSED: 'it cannot begin: a group stays, or it is off',
        Progress.ENDED: 'compute nodes have had time, or time is up',
        Progress.READY: 'flows have had time, or the next owners take long',
        Progress.HERE: 'ports of these groups are here',
        Progress.LEFT: 'none is'}))

TABLES = (GROUP, TENURE, PORT, OVERLAP)


def relays(group: model.GatewayGroup) -> bool:
    """Whether the packets of a group's ports on this chassis are relayed."""
    return (GROUP.wants[group.state].relay or
            TENURE.wants[group.tenure].relay)
