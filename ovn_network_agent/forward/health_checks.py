# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Health checks of destinations: what is wanted, and what was found.

:mod:`forward.health_thread` makes them beside the loop.  Its libraries take 25
ms of the processor and 3 MiB, and most agents check nothing, so the first
target imports it.
"""

from collections.abc import Set
import threading
import typing

from oslo_log import log as logging

from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.common import wording
from ovn_network_agent.model import port_forwards

if typing.TYPE_CHECKING:
    from ovn_network_agent.forward import health_thread

LOG = logging.getLogger(__name__)


class Target(typing.NamedTuple):
    """The target of a check."""

    address: str  # IP address of a destination, canonical text
    port: int  # TCP port to connect to, never 0
    check: port_forwards.HealthCheck

    @property
    def label(self) -> str:
        """The target in a message."""
        return f'{self.address} port {self.port:d} ({self.check.kind})'


# Most checks at the same time, each with one socket.
MAX_CHECKS = 256


class Checks:
    """The health of all destinations that have a check.

    Without :meth:`start`, nothing is checked, and each target counts as alive.
    All methods return at once.
    """

    def __init__(self, max_checks: int = MAX_CHECKS) -> None:
        self._max_checks = max_checks
        self._lock = threading.Lock()
        self._trigger: triggers.Trigger | None = None
        self._rounds: health_thread.Rounds | None = None
        self._stopping = False
        self._targets: frozenset[Target] = frozenset()
        # Replaced as a whole, so that readers need no lock.
        self._dead: dict[Target, str] = {}

    # -- for the agent (any thread) ---------------------------------------

    def start(self, trigger: triggers.Trigger) -> None:
        """Check from the first target on; each change fires the trigger."""
        with self._lock:
            self._trigger = trigger
            self._tell()

    def want(self, targets: Set[Target]) -> None:
        """Check these targets from now on, and no others.

        Called on any thread, at each change of the rules, also before
        :meth:`start`.
        """
        with self._lock:
            # A dead target whose check has changed waits for its first good
            # result.
            before = {(t.address, t.port): why
                      for t, why in self._dead.items()}
            self._dead = {
                t: before[t.address, t.port] for t in targets
                if (t in self._dead if t in self._targets else
                    (t.address, t.port) in before)}
            self._targets = frozenset(targets)
            self._tell()

    def alive(self, target: Target) -> bool:
        """False if a check has found the target dead; True without result."""
        return target not in self._dead

    def why(self, target: Target) -> str:
        """The result of the check that found the target dead, or ''."""
        return self._dead.get(target, '')

    def stop(self) -> None:
        """End the checks, without a wait; may be called twice."""
        with self._lock:
            self._stopping = True
            self._tell()

    def _tell(self) -> None:
        """Make the thread read the wanted targets; call with the lock."""
        if self._rounds is not None:
            self._rounds.tell()
        elif (self._trigger is not None and self._targets and
              not self._stopping):
            from ovn_network_agent.forward import health_thread
            self._rounds = health_thread.Rounds(
                lambda: None if self._stopping else self._targets,
                self._take, self._max_checks)
            self._rounds.start()

    # -- for the thread ---------------------------------------------------

    def _take(self, target: Target, verdict: 'health_thread.Verdict',
              why: str) -> None:
        with self._lock:
            known = target not in self._dead
            if target not in self._targets or known is verdict.alive:
                return
            self._dead = {t: w for t, w in self._dead.items() if t != target}
            if why:
                self._dead[target] = why
            trigger = self._trigger
        if verdict.alive:
            LOG.info('Destination %s: dead -> alive (%s in a row)',
                     target.label, wording.count(verdict.row, 'good check'))
        else:
            LOG.warning('Destination %s: alive -> dead: %s (%s in a '
                        'row)', target.label, why,
                        wording.count(verdict.row, 'bad check'))
        if trigger is not None:
            trigger.fire(f'health of {target.label}', urgent=True)
