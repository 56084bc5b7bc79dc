# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The drain: passes in phase DRAINING until everything has been taken over.

Each port is handed over as at any other move.  This module only decides when
the drain is over.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import enum
import threading
import time

from oslo_config import cfg
from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent.common import wording
from ovn_network_agent.conf import plugins
from ovn_network_agent.gateways import departure

LOG = logging.getLogger(__name__)

_NAMED = 5


class Result(enum.Enum):
    """The result of a drain, the first one that applies.

    TIMEOUT: also after a second stop request.  NOBODY: no other candidate
    could take over.  NOOP: there was nothing to do.
    """

    ERROR = 'error'
    TIMEOUT = 'timeout'
    NOBODY = 'nobody'
    NOOP = 'noop'
    COMPLETED = 'completed'


# After these, the agent withdraws what no other chassis is known to announce.
_FAILED = (Result.ERROR, Result.TIMEOUT, Result.NOBODY)


class Drain:
    """Decides when a drain is over.

    :param second_stop: set by a second stop request
    """

    def __init__(self, conf: cfg.ConfigOpts, second_stop: threading.Event,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._conf = conf
        self._second_stop = second_stop
        self._clock = clock
        self._began = 0.0
        self._departed: set[str] = set()
        self._back: set[str] = set()
        self._here: set[str] = set()
        self._expected: frozenset[str] = frozenset()
        self._stays: tuple[str, ...] = ()
        self.result: Result | None = None
        self.waiting: tuple[str, ...] = ()
        # Whether this chassis still has a priority in a group that another
        # candidate is to get, at once or when it can announce the group.
        self.unclaimed = False

    def begin(self, snapshot: model.Snapshot | None) -> None:
        """Start the clock; the snapshot is the last one before the stop."""
        self._began = self._clock()
        if not (plugins.requested(self._conf, plugins.RANKING) and
                self._conf.gateway_drain.drain_on_shutdown):
            self.result = Result.NOOP
            return
        if snapshot is None:
            self._end(Result.NOOP)
            return
        self.waiting = tuple(_waiting(snapshot))
        self._note(snapshot)
        if not self.waiting:
            self._end(Result.NOBODY if self._stays else Result.NOOP)
            return
        LOG.info('Drain: waiting up to %.3g s for %s; a second stop request '
                 'ends the wait', self.left(), _some(self.waiting))
        self._here = _here(snapshot)
        self._expected = frozenset(_expected(snapshot))

    @property
    def failed(self) -> bool:
        """Whether a port was not handed over that could have been."""
        return self.result in _FAILED

    def left(self) -> float:
        """Seconds until the limit of the drain."""
        limit: float = self._conf.gateway_drain.drain_timeout
        return max(0.0, self._began - self._clock() + limit)

    def consider(self, snapshot: model.Snapshot, error: str = '') -> None:
        """Judge the view after a pass.

        :param error: the reason why the whole pass failed, or ''
        """
        self._watch(_here(snapshot))
        self.waiting = (*_waiting(snapshot), *self._unsettled(snapshot))
        self._log_expected(frozenset(_expected(snapshot)))
        self._note(snapshot)
        if not self.waiting and not error:
            self._end(Result.NOBODY if self._stays else Result.COMPLETED)
        elif self._second_stop.is_set() or not self.left():
            self._end(Result.ERROR if error else Result.TIMEOUT, error)

    def _note(self, snapshot: model.Snapshot) -> None:
        stays = [group for group in _left(snapshot)
                 if not group.takers(snapshot.node.chassis)]
        self._stays = tuple(
            f'{group.name} ({_reasons(group, snapshot.node.chassis)})'
            for group in stays)
        # With an unchanged priority, OVN would move the ports back to this
        # chassis, which no longer announces them.
        self.unclaimed = any(
            group.heirs(snapshot.node.chassis) for group in (
                *stays, *_unchanged(snapshot)))

    def _watch(self, here: set[str]) -> None:
        for port in sorted(self._here - here):
            LOG.info('Drain: %s has left', port)
            self._departed.add(port)
            self._back.discard(port)
        for port in sorted(here & self._departed):
            LOG.warning('Drain: %s is bound to this chassis again; it is '
                        'forwarded until it leaves or time is up', port)
            self._departed.discard(port)
            # The new owner may be dead, or may only restart ovn-controller.
            self._back.add(port)
        self._here |= here
        self._here -= self._departed

    def _unsettled(self, snapshot: model.Snapshot) -> Iterator[str]:
        """Ports that OVN will move back, as the new owner died, in words."""
        for port in sorted(self._back):
            yield f'{port} to leave again'
        nowhere = {port.redirect for group in snapshot.groups
                   for port in group.ports if not port.chassis}
        for port in sorted(nowhere & self._departed):
            yield f'{port} to be bound to a chassis'

    def _log_expected(self, expected: frozenset[str]) -> None:
        for text in sorted(expected - self._expected):
            LOG.info('Drain: waiting for %s', text)
        for text in sorted(self._expected - expected):
            LOG.info('Drain: no longer waiting for %s', text)
        self._expected = expected

    def _end(self, result: Result, error: str = '') -> None:
        self.result = result
        took = self._clock() - self._began
        if result is Result.NOOP:
            LOG.info('Drain: noop, there is nothing to hand over, or no '
                     'other candidate')
        elif result is Result.NOBODY:
            LOG.warning('Drain: nobody has taken over after %.1f s, and what '
                        'is here becomes unreachable: %s', took,
                        _some(self._stays))
        elif result is Result.COMPLETED:
            LOG.info('Drain: completed after %.1f s', took)
        else:
            LOG.warning('Drain: %s after %.1f s%s; still waited for: %s',
                        result.value, took, error and ': ' + error,
                        _some(self.waiting) or 'nothing')


def _waiting(snapshot: model.Snapshot) -> Iterator[str]:
    chassis = snapshot.node.chassis
    yield from _expected(snapshot)
    for group in snapshot.groups:
        if not group.takers(chassis):
            continue
        if departure.has_priority(group, chassis):
            yield _lowering(group)
        for port in group.ports:
            if port.chassis == chassis:
                yield f'{port.redirect} to leave'
    if snapshot.node.overlap or snapshot.node.overlapping:
        yield 'ovn-controller to go on'
    yield from _handed_over(snapshot.routers)


def _lowering(group: model.GatewayGroup) -> str:
    if group.fixed:
        return f'OVN NB to answer, for the priority of {group.name}'
    if group.late:
        return ('all chassis to be connected to OVN SB again, for the '
                f'priority of {group.name}')
    return f'the priority of {group.name} to be lowered'


def _handed_over(routers: Iterable[model.Router]) -> Iterator[str]:
    for router in routers:
        for port in router.ports:
            if port.handover is model.Handover.ANNOUNCE:
                chassis = port.chassis or 'the next chassis'
                yield (f'the agent of {chassis} to announce router '
                       f'{router.called}')
            elif port.handover is model.Handover.FORWARD:
                yield f'what is under way to router {router.called}'


def _left(snapshot: model.Snapshot) -> list[model.GatewayGroup]:
    """Groups of this chassis that another candidate could take over.

    Also those whose ports OVN is about to move here, because no other
    candidate has a priority, as when two gateway nodes stop at once.
    """
    chassis = snapshot.node.chassis
    return [group for group in snapshot.groups
            if len(group.candidates) > 1 and (any(
                port.chassis == chassis for port in group.ports) or
                group.ports and departure.has_priority(group, chassis) and
                not group.takers(chassis))]


def _unchanged(snapshot: model.Snapshot) -> Iterator[model.GatewayGroup]:
    for group in snapshot.groups:
        if group.ports and departure.has_priority(group,
                                                  snapshot.node.chassis):
            yield group


def _expected(snapshot: model.Snapshot) -> Iterator[str]:
    """Groups that wait until another candidate can announce them, in words.

    A group does not wait if this chassis cannot announce it either.
    """
    chassis = snapshot.node.chassis
    for group in _left(snapshot):
        returning = group.returning(chassis)
        if returning and not group.takers(chassis) and not group.unfit:
            yield f'{" or ".join(map(_awaited, returning))}, for {group.name}'


def _awaited(candidate: model.Candidate) -> str:
    if candidate.silent:
        return f'{candidate.chassis} to answer again'
    if candidate.drained == model.UNFIT:
        return f'{candidate.chassis} to be able to announce'
    return f'the agent of {candidate.chassis} to be back'


def _reasons(group: model.GatewayGroup, chassis: str) -> str:
    return ', '.join(f'{c.chassis} {_why(c)}' for c in group.candidates
                     if c.chassis != chassis)


def _why(candidate: model.Candidate) -> str:
    if not candidate.known:
        return 'has no chassis in OVN SB'
    if candidate.silent:
        return 'does not answer'
    return {model.UNFIT: 'could not announce anything',
            model.SHUTDOWN: 'has no agent',
            model.MAINTENANCE: 'is drained by its operator'}.get(
                candidate.drained, f'has priority {candidate.priority:d}')


def _here(snapshot: model.Snapshot) -> set[str]:
    return {port.redirect for group in snapshot.groups
            for port in group.ports if port.chassis == snapshot.node.chassis}


def _some(texts: Sequence[str]) -> str:
    return wording.first(texts, _NAMED)
