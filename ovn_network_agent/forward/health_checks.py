# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Health checks of destinations, all on one thread beside the loop.

Each target has a task of its own, which checks the target at its interval.
The tasks share a thread, so that hundreds of dead destinations cost no more
than their sockets.
"""

import asyncio
import secrets
import threading

from oslo_log import log as logging

from ovn_network_agent.forward import health
from ovn_network_agent.forward import health_probe
from ovn_network_agent.forward import health_verdict

LOG = logging.getLogger(__name__)

# Most checks at the same time, each with one socket; others wait.
ROOM = 256
# Seconds within which the first checks begin.
_BEGIN = 1.0
_SPREAD = secrets.SystemRandom()


class Checks(health.Health):
    """Runs the health checks of all destinations on one thread.

    :param look: coroutine function(target), see :func:`health_probe.look`
    :param room: see :data:`ROOM`
    """

    def __init__(self, look=health_probe.look, room=ROOM):
        self._look = look
        self._room = room
        self._lock = threading.Lock()
        self._trigger = None
        self._thread = None
        self._stopping = False
        self._targets = frozenset()
        # Replaced as a whole, so that readers need no lock.
        self._dead = {}
        # The event loop of the thread, and its event for news; None while
        # the thread does not run.
        self._loop = None
        self._news = None

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
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._news.set)
        elif (self._thread is None and self._trigger is not None and
              self._targets and not self._stopping):
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._run()), daemon=True,
                name='health')
            self._thread.start()

    # -- the thread -------------------------------------------------------

    async def _run(self):
        news = asyncio.Event()
        with self._lock:
            self._loop, self._news = asyncio.get_running_loop(), news
        room = asyncio.Semaphore(self._room)
        running = {}
        try:
            while not self._stopping:
                wanted = self._targets
                for target in running.keys() - wanted:
                    running.pop(target).cancel()
                for target in wanted - running.keys():
                    running[target] = asyncio.create_task(
                        self._follow(target, room))
                await news.wait()
                news.clear()
        finally:
            with self._lock:
                self._loop = None

    async def _follow(self, target, room):
        """Check one target as long as it is wanted."""
        check = target.check
        verdict = health_verdict.Verdict(check.rise, check.fall)
        loop = asyncio.get_running_loop()
        # The first checks begin soon, but not all at once.
        soon = min(check.interval, _BEGIN)
        due = loop.time() + _SPREAD.uniform(0, soon)
        pause = _SPREAD.uniform(soon, check.interval)
        doubt = ''
        while True:
            await asyncio.sleep(due - loop.time())
            async with room:
                why, unknown = await self._result(target)
            if unknown != doubt:
                doubt = unknown
                self._say_doubt(target, doubt)
            if not doubt and verdict.take(not why):
                self._take(target, verdict, why)
            due = max(due + pause, loop.time())
            pause = check.interval

    async def _result(self, target):
        """(why it is bad or '', why that is not known or '')."""
        try:
            return await self._look(target), ''
        except health_probe.NoResult as error:
            return '', str(error)
        except Exception as error:
            # A bug must end neither the checks nor a destination.
            LOG.exception('The check of %s failed', _name(target))
            return '', f'{type(error).__name__}: {error}'

    def _say_doubt(self, target, doubt):
        if doubt:
            LOG.warning('The check of %s could not be made, what is known of '
                        'it stays: %s', _name(target), doubt)
        else:
            LOG.info('The check of %s can be made again', _name(target))

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
                     _name(target), verdict.row)
        else:
            LOG.warning('Destination %s: alive -> dead: %s (%d bad checks in '
                        'a row)', _name(target), why, verdict.row)
        trigger.fire(f'health of {_name(target)}', urgent=True)


def _name(target):
    return f'{target.address} port {target.port:d} ({target.check.kind})'
