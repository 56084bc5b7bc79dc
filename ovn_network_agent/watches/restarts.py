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


"""The watch for restarts of daemons, by their sockets.

The agent writes nothing into the files of FRR and Open vSwitch.  So a
restarted daemon silently lacks the agent's objects.  The observer checks the
sockets once a second, without a process.  The privileged side is asked only
where the directory of the sockets is closed to the agent.  The observer
puts the backends in doubt when no socket has changed for a second.  It does so
again some seconds later, because the daemons may still have been reading
their own files.
"""

import threading
import time

from oslo_log import log as logging

from ovn_network_agent.privileged import context
from ovn_network_agent.watches import base

LOG = logging.getLogger(__name__)

# Seconds between two checks, between two while a daemon is awaited, and from
# the restart to the second doubt.
_INTERVAL = 1.0
_AWAITED = 0.2
_SECOND = 5.0


def openly(read, privileged):
    """A function that reads sockets, with privileges only where need be.

    :param read: function as for :class:`RestartWatch`
    :param privileged: likewise, of the privileged side
    """
    def look():
        try:
            return read()
        except PermissionError:
            return privileged()
    return look


class RestartWatch(base.Observer):
    """Checks once a second whether a socket was made anew.

    :param name: name of the watched program for the log, such as 'FRR'
    :param where: name of the option with the directory of the sockets
    :param read: function without arguments that returns a dict of the name
        of a daemon to a value that differs after a restart; raises one of
        :data:`context.FAILURES`
    :param word: the word that puts the backends of the program in doubt
    :param restarted: function without arguments, called with each doubt
    :param clock: function that returns monotonic seconds
    :param metric: name of the metric that counts the restarts, '' for none
    :param at_once: whether the backends are in doubt at the first sight, too
    :param awaited: function without arguments that returns whether a daemon
        is known not to run; the checks are more frequent then
    """

    def __init__(self, name, where, read, word,
                 restarted=lambda: None, clock=time.monotonic, metric='',
                 at_once=False, awaited=lambda: False):
        self._name = name
        self._where = where
        self._sockets = read
        self._words = (word,)
        self._restarted = restarted
        self._clock = clock
        self._metric = metric
        self._at_once = at_once
        self._awaited = awaited
        self._trigger = None
        self._stop = threading.Event()
        self._seen = None
        self._doubts = []
        self._trouble = None
        #: number of noticed restarts
        self.restarts = 0

    @property
    def counts(self):
        """The number of noticed restarts, if a metric has a name for it."""
        return {self._metric: self.restarts} if self._metric else {}

    def start(self, trigger):
        """Remember the present sockets, and start the checks.

        :param trigger: :class:`trigger.Trigger`
        """
        self._trigger = trigger
        # The first pass reads the state of the daemons that run now.
        self._seen = self._read()
        threading.Thread(target=self._run, daemon=True,
                         name=f'watch-{self._name}').start()

    def stop(self):
        """End the checks after the present one, without a wait."""
        self._stop.set()

    def _run(self):
        while not self._stop.wait(_AWAITED if self._awaited()
                                  else _INTERVAL):
            self.look()

    def look(self):
        """Check once."""
        now = self._clock()
        found = self._read()
        if found is None:
            return
        if found != self._seen:
            self._changed(found, now)
            return
        if self._doubts and now >= self._doubts[0]:
            self._doubts.pop(0)
            self._doubt()

    def _changed(self, found, now):
        before, self._seen = self._seen, found
        if before is None:
            # The sockets could not be read before.
            before = {}
        fresh = sorted(name for name, mark in found.items()
                       if before.get(name) != mark)
        if fresh:
            self.restarts += 1
            LOG.info('Started again in %s: %s', self._name,
                     ', '.join(fresh))
            self._doubts = [now, now + _SECOND]
            if self._at_once:
                self._doubt()

    def _doubt(self):
        self._trigger.fire(f'{self._name} was restarted',
                           stale=self._words, revived=self._words)
        self._restarted()

    def _read(self):
        """The sockets by name, or None when they cannot be read."""
        try:
            found = self._sockets()
        except context.FAILURES as error:
            self._say(f'A restart of {self._name} is only noticed at the '
                      f'reconcile_interval: {self._where}: {error}')
            return None
        self._say(None)
        return {name: tuple(mark) for name, mark in found.items()}

    def _say(self, trouble):
        if trouble is not None and trouble != self._trouble:
            LOG.warning('%s', trouble)
        self._trouble = trouble
