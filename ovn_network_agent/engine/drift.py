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

"""Drift: the warnings about objects that others removed or changed."""

import collections
import time

from oslo_log import log as logging

from ovn_network_agent.engine import health
from ovn_network_agent.engine import outcome

LOG = logging.getLogger(__name__)

# From this reading in a row on, another program manages the objects, too, and
# the operator has to find the program (acceptance row FIP-13).
TOO_OFTEN = 3
# The most objects that one line names.
_NAMED = 5


class Drift:
    """Counts the readings in a row that found drift, and the objects.

    :param wall: function that returns seconds since the epoch
    """

    def __init__(self, wall=time.time):
        self._wall = wall
        self._streaks = collections.Counter()
        self._repairs = collections.defaultdict(dict)

    def note(self, name, lost):
        """Count a reading, and log the drift that it found.

        :param name: name of the backend
        :param lost: list of refs that were as desired and no longer are
        """
        if not lost:
            self._streaks.pop(name, None)
            return
        self._count(name, lost)
        self._streaks[name] += 1
        streak = self._streaks[name]
        named = ', '.join(f'{ref.kind} {outcome.brief(ref.key)}'
                          for ref in lost[:_NAMED])
        if len(lost) > _NAMED:
            named += ', ...'
        objects = ('1 object of ours was' if len(lost) == 1 else
                   f'{len(lost):d} objects of ours were')
        said = (f'{objects} removed or changed by others, and restored '
                f'({named})')
        if streak < TOO_OFTEN:
            LOG.warning('%s: %s', name, said)
        else:
            LOG.error('%s: %s, now in %d readings in a row: something else on '
                      'this node manages them, too', name, said, streak)

    @property
    def streaks(self):
        """The streaks that last, dict of name to int."""
        return dict(self._streaks)

    def streak(self, name):
        """Number of readings in a row that found drift, an int."""
        return self._streaks[name]

    def repairs(self, name):
        """The drift of a backend since the start of the agent.

        :param name: name of the backend
        :returns: tuple of :class:`health.Repair`, by kind
        """
        found = self._repairs.get(name, {})
        return tuple(found[kind] for kind in sorted(found))

    def _count(self, name, lost):
        known = self._repairs[name]
        for kind, count in collections.Counter(
                ref.kind for ref in lost).items():
            before = known[kind].count if kind in known else 0
            known[kind] = health.Repair(kind, before + count, self._wall())
