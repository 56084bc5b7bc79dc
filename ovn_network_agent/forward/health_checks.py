# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Health checks of destinations: what is wanted, and what was found.

:mod:`forward.health_rounds` makes the checks, on one thread beside the loop.
Its libraries take 25 ms of the processor and 3 MiB, and most agents check
nothing.  So the first target imports it.
"""

import threading

from oslo_log import log as logging

from ovn_network_agent.forward import health

LOG = logging.getLogger(__name__)

# Most checks at the same time, each with one socket; others wait.
ROOM = 256


class Checks(health.Health):
    """The health of all destinations that have a check.

    :param room: see :data:`ROOM`
    """

    def __init__(self, room=ROOM):
        self._room = room
        self._lock = threading.Lock()
        self._trigger = None
        self._rounds = None
        self._stopping = False
        self._targets = frozenset()
        # Replaced as a whole, so that readers need no lock.
        self._dead = {}

    # -- for the agent (any thread) ---------------------------------------

    def start(self, trigger):
        """Remember the trigger; the thread starts with the first target.

        :param trigger: :class:`trigger.Trigger`
        """
        with self._lock:
            self._trigger = trigger
            self._tell()

    def want(self, targets):
        """Begin and end the checks of single targets.

        A dead target whose check has changed stays dead until the first good
        result.

        :param targets: frozenset of :class:`health.Target`
        """
        with self._lock:
            # A dead target whose check has changed stays dead until the first
            # good result.
            before = {(t.address, t.port): why
                      for t, why in self._dead.items()}
            self._dead = {
                t: before[t.address, t.port] for t in targets
                if (t in self._dead if t in self._targets else
                    (t.address, t.port) in before)}
            self._targets = frozenset(targets)
            self._tell()

    def alive(self, target):
        """Whether no check has found the target dead; True without a result.

        :param target: :class:`health.Target`
        """
        return target not in self._dead

    def why(self, target):
        """The result of the check that found the target dead, text, or ''.

        :param target: :class:`health.Target`
        """
        return self._dead.get(target, '')

    def stop(self):
        """Have the thread cancel the checks and end, without a wait."""
        with self._lock:
            self._stopping = True
            self._tell()

    def _tell(self):
        """Make the thread read the wanted targets; call with the lock."""
        if self._rounds is not None:
            self._rounds.tell()
        elif (self._trigger is not None and self._targets and
              not self._stopping):
            from ovn_network_agent.forward import health_rounds
            self._rounds = health_rounds.Rounds(
                lambda: None if self._stopping else self._targets,
                self._take, self._room)
            self._rounds.start()

    # -- for the thread ---------------------------------------------------

    def _take(self, target, verdict, why):
        """Note a changed verdict, log it, and wake the loop."""
        with self._lock:
            known = target not in self._dead
            if target not in self._targets or known is verdict.alive:
                return
            self._dead = {t: w for t, w in self._dead.items() if t != target}
            if why:
                self._dead[target] = why
            trigger = self._trigger
        if verdict.alive:
            LOG.info('Destination %s: dead -> alive (%d good checks in a '
                     'row)',
                     target.label, verdict.row)
        else:
            LOG.warning('Destination %s: alive -> dead: %s (%d bad checks in '
                        'a row)', target.label, why, verdict.row)
        trigger.fire(f'health of {target.label}', urgent=True)
