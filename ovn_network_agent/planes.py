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
later and later, and costs the others nothing meanwhile.
"""

from oslo_log import log as logging

from ovn_network_agent.backends import base
from ovn_network_agent import drift

LOG = logging.getLogger(__name__)


class Planes:
    """All backends and what is known of their state.

    :param backends: list of :class:`backends.base.Backend`
    :param tracker: :class:`delta.Tracker` that takes the actual state
    :param retries: :class:`backoff.Retries`
    """

    def __init__(self, backends, tracker, retries):
        self._backends = {b.name: b for b in backends}
        self._kinds = {b.name: tuple(k.kind for k in b.kinds)
                       for b in backends}
        self._stages = {k.kind: k.stage for b in backends for k in b.kinds}
        self._tracker = tracker
        self._retries = retries
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

    def refresh(self, busy, by_us=False):
        """Read what is in doubt.

        :param busy: names of backends that work beside the loop
        :param by_us: the doubt comes from a change of our own, so that
            what is gone is no surprise
        """
        for name in [n for n in self._backends if n in self._stale]:
            if name in busy or self.hopeless(name):
                continue
            kinds = self._kinds[name]
            try:
                lost = self._tracker.resync(
                    kinds, self._backends[name].read(
                        self._tracker.known_refs(kinds)))
            except Exception as e:
                self.failed(name, expected(name, e))
                continue
            if not by_us:
                self._drift.note(name, lost)
            self._stale.discard(name)
            self._never_read.discard(name)
            self.reached(name)

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
