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

"""The contributions of the drivers, asked for only where an input changed.

Pure.  A driver may be foreign code.  When a driver raises, its former
contribution stays, and the other contributions are not affected.
"""

import dataclasses

from oslo_log import log as logging

from ovn_network_agent import model
from ovn_network_agent import port_forwards
from ovn_network_agent import resources
from ovn_network_agent.engine import desired

LOG = logging.getLogger(__name__)

# The most contributions that a line of the debug log names.
_NAMED = 10

# Kinds that are statements of a driver and have no backend.
_STATEMENTS = (resources.Keep.kind, resources.Problem.kind)


class Contributions:
    """Asks the drivers and keeps the merged desired state current.

    :param drivers: list of :class:`drivers.base.Driver`
    :param tracker: :class:`tracking.Tracker` that takes the desired state
    :param kinds: set of the kinds that have a backend
    :ivar drivers: list, which the caller may replace by drivers of the same
        names; only drivers with changed settings are asked again
    :ivar broken: dict of contributor to text: drivers that raised
    """

    def __init__(self, drivers, tracker, kinds):
        self.drivers = drivers
        self._kinds = kinds
        self._state = desired.DesiredState(tracker)
        self._memo = {}
        self._problems = {}
        self._known_problems = frozenset()
        self.broken = {}

    @property
    def conflicts(self):
        """Refs that drivers do not agree about, dict of Ref to text."""
        return self._state.conflicts

    @property
    def left_out(self):
        """tuple of :class:`resources.Problem`, sorted, each text once."""
        by_text = {problem.text: problem for problems
                   in self._problems.values() for problem in problems}
        return tuple(by_text[text] for text in sorted(by_text))

    def forget(self):
        """Ask every driver again at the next update."""
        self._memo.clear()

    def update(self, snapshot):
        """Ask the drivers about each input that changed since the last time.

        :param snapshot: :class:`model.Snapshot`
        """
        node, forwards = snapshot.node, snapshot.forwards
        if forwards is not None:
            node = dataclasses.replace(
                node, extent=port_forwards.extent(forwards))
        present = set()
        computed = []
        for driver in self.drivers:
            for about, method, *part in _questions(driver, snapshot):
                contributor = (driver.name, about)
                present.add(contributor)
                if self._ask(contributor, method, node.phase,
                             (driver.settings, *part, node)):
                    computed.append(contributor)
        self._drop_all_but(present)
        self._report_problems()
        LOG.debug('Computed %d of %d contributions: %s',
                  len(computed), len(present),
                  ', '.join('/'.join(c) for c in computed[:_NAMED]))

    def _drop_all_but(self, present):
        for contributor in self._state.contributors() - present:
            self._state.contribute(contributor, ())
        for known in (self._memo, self.broken, self._problems):
            for contributor in known.keys() - present:
                del known[contributor]

    def _ask(self, contributor, method, phase, known):
        """Make a driver contribute, unless its input is the same.

        :param known: the input: the settings of the driver, and the arguments
            of the method
        :returns: whether the driver was asked
        """
        if self._memo.get(contributor) == known:
            self.broken.pop(contributor, None)
            return False
        _settings, *arguments = known
        try:
            wanted = self._understood(method(*arguments))
        except Exception as e:
            # The last contribution stays, so that a bug in a driver does not
            # withdraw what works.
            self._failed(contributor, f'{type(e).__name__}: {e}')
            if phase is not model.Phase.STOPPED:
                return True
            wanted = self._state.contributed(contributor)
        else:
            self._memo[contributor] = known
        self.broken.pop(contributor, None)
        self._take(contributor, wanted, phase)
        return True

    def _failed(self, contributor, why):
        """Log a failure once, though each pass asks the driver again."""
        if self.broken.get(contributor) != why:
            LOG.exception('Driver %s failed on %s', *contributor)
        self.broken[contributor] = why

    def _take(self, contributor, wanted, phase):
        if phase is model.Phase.STOPPED:
            # At the end of the agent nothing is desired.  Objects of others
            # still stay.  An object that was kept in doubt goes, because no
            # agent is left that could resolve the doubt.
            wanted = [r for r in wanted if r.kind == resources.Keep.kind
                      and r.theirs]
        self._problems[contributor] = tuple(
            r for r in wanted if r.kind == resources.Problem.kind)
        self._state.contribute(contributor, [
            r for r in wanted if r.kind != resources.Problem.kind])

    def _understood(self, wanted):
        """The resources that a driver yields, checked, as a list.

        :raises ValueError: when an item is no resource, or no backend could
            make the resource
        """
        wanted = list(wanted)
        for resource in wanted:
            if not isinstance(resource, resources.Resource):
                raise ValueError(f'{resource!r} is not a resource')
            hash(resource.ref)
            if (resource.kind not in self._kinds and
                    resource.kind not in _STATEMENTS):
                raise ValueError(
                    f'no backend makes resources of the kind {resource.kind}; '
                    'install the package that has this backend')
        return wanted

    def _report_problems(self):
        """Log each problem once, and once that the problem is gone."""
        problems = frozenset(problem.text for problem in self.left_out)
        for text in sorted(problems - self._known_problems):
            LOG.warning('Left out: %s', text)
        for text in sorted(self._known_problems - problems):
            LOG.info('No longer left out: %s', text)
        self._known_problems = problems


def _questions(driver, snapshot):
    """The questions to a driver: (subject, method, arguments but the node).

    :param driver: :class:`drivers.base.Driver`
    :param snapshot: :class:`model.Snapshot`
    :returns: iterator of such tuples
    """
    yield 'node', driver.for_node
    if snapshot.forwards is not None:
        yield 'forwards', driver.for_forwards, snapshot.forwards
    for group in snapshot.groups:
        yield f'{group.table} {group.key}', driver.for_group, group
    for router in snapshot.routers:
        yield router.uuid, driver.for_router, router
