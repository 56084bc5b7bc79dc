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

"""The planes: backends whose state is read, cached and doubted.

A plane that cannot be read keeps its last known state; it is tried again
later and later, and costs the others nothing meanwhile.  What may hang is
read beside the loop.  That is waited for as long as it is usual; then its
last known state counts until the answer is there.
"""

from oslo_log import log as logging

from ovn_network_agent.backends import base
from ovn_network_agent import drift
from ovn_network_agent import executor

LOG = logging.getLogger(__name__)


class Planes:
    """All backends and what is known of their state.

    :param backends: list of :class:`backends.base.Backend`
    :param tracker: :class:`delta.Tracker` that takes the actual state
    :param retries: :class:`backoff.Retries`
    :param beside: :class:`executor.Beside`
    """

    def __init__(self, backends, tracker, retries, beside):
        self._backends = {b.name: b for b in backends}
        self._kinds = {b.name: tuple(k.kind for k in b.kinds)
                       for b in backends}
        self._stages = {k.kind: k.stage for b in backends for k in b.kinds}
        self._tracker = tracker
        self._retries = retries
        self._beside = beside
        # Names of those that are read beside the loop, with ``by_us``.
        self._reading = {}
        self._stale = set(self._backends)
        self._never_read = set(self._backends)
        self._unreadable = {}
        self._drift = drift.Drift()

    @property
    def names(self):
        """Names of all backends, a set."""
        return set(self._backends)

    @property
    def kinds(self):
        """All kinds that there is a backend for, a set."""
        return {kind for kinds in self._kinds.values() for kind in kinds}

    @property
    def unreadable(self):
        """dict of backend name to str: why it cannot be read or reached."""
        return dict(self._unreadable)

    def backend(self, name):
        """The :class:`backends.base.Backend` of a name."""
        return self._backends[name]

    def at(self, stage):
        """Backends with a kind of that stage, in order of registration."""
        return [b for b in self._backends.values()
                if any(k.stage is stage for k in b.kinds)]

    def delta(self, backend, stage):
        """What has to change for a backend in a stage.

        :returns: :class:`backends.base.Delta`
        """
        return self._tracker.delta(
            [k.kind for k in backend.kinds if k.stage is stage])

    def stage(self, kind):
        """:class:`resources.Stage` of a kind."""
        return self._stages[kind]

    def owner(self, kind):
        """Name of the backend of a kind, or None."""
        return next((name for name, kinds in self._kinds.items()
                     if kind in kinds), None)

    def doubt(self, names):
        """Have these backends read again at the next refresh."""
        self._stale.update(n for n in names if n in self._backends)

    def invalidated_by(self, backend):
        """Doubt what hangs on what this backend changed.

        :returns: True when there is something to read again
        """
        names = [n for n in backend.invalidates if n in self._backends]
        self.doubt(names)
        return bool(names)

    def refresh(self, by_us=False):
        """Read what is in doubt, but for what works beside the loop.

        :param by_us: the doubt comes from a change of our own, so that
            what is gone is no surprise
        """
        busy = self._beside.running()
        names = [n for n in self._backends if n in self._stale and
                 n not in busy and not self.hopeless(n)]
        beside = [n for n in names if self._backends[n].system]
        # What did not answer the last time is not waited for.
        awaited = [n for n in beside if n not in self._unreadable]
        for name in beside:
            self._stale.discard(name)
            self._reading[name] = by_us
            self._beside.read(self._backends[name], self._known(name),
                              awaited=name in awaited)
        for name in names:
            if name not in beside:
                self._read(name, by_us)
        self._beside.wait(executor.PATIENCE, awaited, wake=False)
        for backend, _delta, found, error in self._beside.done(beside):
            self.take(backend.name, found, error)

    def _read(self, name, by_us):
        try:
            found = self._backends[name].read(self._known(name))
            self._found(name, found, by_us)
        except Exception as e:
            self.failed(name, expected(name, e))
            return
        self._stale.discard(name)

    def take(self, name, found, error):
        """Take in what was read beside the loop.

        :param found: list of resources, or None
        :param error: why it could not be read, or None
        """
        by_us = self._reading.pop(name)
        try:
            if error is not None:
                raise error
            self._found(name, found, by_us)
        except Exception as e:
            self.failed_beside(name, expected(name, e))

    def _found(self, name, found, by_us):
        lost = self._tracker.resync(self._kinds[name], found)
        if not by_us:
            self._drift.note(name, lost)
        self._never_read.discard(name)
        self.reached(name)

    def _known(self, name):
        return self._tracker.known_refs(self._kinds[name])

    def first_look(self, name):
        """Whether it is being read for the first time."""
        return (name in self._reading and name in self._never_read and
                name not in self._unreadable)

    def unread(self, name):
        """Whether its state was never read: nothing can be told apart."""
        return name in self._never_read

    def hopeless(self, name):
        """Unreachable a moment ago: no use in waiting for it again now."""
        return name in self._unreadable and self._retries.waiting(name)

    def failed(self, name, error):
        """Take note that a plane could not be reached, and doubt it."""
        if self._unreadable.get(name) != str(error):
            LOG.warning('%s: %s', name, error)
        self._unreadable[name] = str(error)
        self.doubt([name])

    def failed_beside(self, name, error):
        """Likewise, and try again later: this pass has not begun it."""
        self.failed(name, error)
        self._retries.note({name}, {name})

    def reached(self, name):
        """Take note that a plane answered."""
        if self._unreadable.pop(name, None):
            LOG.info('%s: reachable again', name)

    def close(self):
        """Give back what backends hold."""
        for backend in self._backends.values():
            backend.close()


def expected(name, error):
    """The error as a BackendError.

    A bug in one backend costs what it owns, not the whole pass.
    """
    if isinstance(error, base.BackendError):
        return error
    LOG.error('Backend %s failed', name, exc_info=error)
    return base.BackendError('%s: %s' % (type(error).__name__, error))
