# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Whether the agent does its work: a short answer that takes no lock.

A health check comes every few seconds, too often for "status", which asks the
replicas and ovn-controller.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from ovn_network_agent import model
from ovn_network_agent.runtime.process import status as statuses

READY = 'ready'
DEGRADED = 'degraded'
NOT_READY = 'not ready'
# Seconds without a pass, beyond two full intervals, of a stuck loop.  A slow
# pass leaves as much time to others as it took.
STUCK = 60.0

_STOPS = {model.Phase.DRAINING: 'an orderly stop hands gateways over',
          model.Phase.STOPPED: 'an orderly stop cleans up'}


def build(snapshot: model.Snapshot | None, status: statuses.Status,
          interval: int, now: float) -> dict[str, Any]:
    """The health of the agent; without ``reasons`` it is ready.

    :param interval: seconds, ``[DEFAULT] reconcile_interval``
    :param now: monotonic seconds
    """
    phase = snapshot.node.phase if snapshot else model.Phase.RESTORING
    reasons = list(_reasons(phase, status, interval, now))
    return {'health': DEGRADED if reasons else READY, 'phase': phase.value,
            'reasons': reasons}


def verdict(snapshot: model.Snapshot | None, status: statuses.Status,
            interval: int, now: float, troubles: Iterable[str] = ()
            ) -> dict[str, Any]:
    """Whether the agent is well: ``state``, and its ``reasons``.

    :param troubles: of databases that are not connected, which the loop
        reports only with its next pass
    """
    found = build(snapshot, status, interval, now)
    reasons = list(dict.fromkeys((*found['reasons'], *troubles)))
    working = status.is_ready and found['phase'] == model.Phase.RUNNING.value
    return {'state': NOT_READY if not working else
            DEGRADED if reasons else READY, 'reasons': reasons}


def _reasons(phase: model.Phase, status: statuses.Status, interval: int,
             now: float) -> Iterator[str]:
    if phase in _STOPS:
        yield _STOPS[phase]
    yield from status.waiting
    if status.reasons is None or status.reported is None:
        yield 'no pass was made yet'
        return
    yield from status.reasons
    if not status.is_ready and not status.reasons:
        yield 'the first complete pass is not done yet'
    quiet = now - status.reported
    if phase is model.Phase.RUNNING and quiet > 2 * interval + STUCK:
        yield (f'the last pass ended {quiet:.0f} s ago, at a '
               f'reconcile_interval of {interval:d}: the loop is stuck; '
               'restart the agent')
