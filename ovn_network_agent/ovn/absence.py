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

"""Which chassis are gone for good, by the host names that they left behind.

A managed default route carries the host name of its chassis.  When SB has
had no chassis of that name for long enough, no agent is left to remove the
route, and the other agents remove it.  Time counts only while SB is connected,
in sync, and has this chassis: after each loss the count begins anew.

No I/O; the only memory is since when each chassis has been missing.
"""

import random
import time

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

# The most seconds that are added to the grace.  Each process draws its own
# number, so that not all agents remove the same route at the same time.
JITTER = 30.0


class Absence:
    """Remembers since when each chassis has been missing in SB.

    :param clock: function that returns monotonic seconds
    :param jitter: seconds on top of the grace, or None to draw them
    :ivar dead: frozenset of host names that count as gone for good
    """

    def __init__(self, clock=time.monotonic, jitter=None):
        self._clock = clock
        self._jitter = (random.SystemRandom().uniform(0, JITTER)
                        if jitter is None else jitter)
        self._since = {}
        self._session = None
        self._due = None
        self.dead = frozenset()

    def look(self, tags, present, session, grace):
        """Compare the tags on managed routes with the chassis in SB.

        :param tags: iterable of str, host names on managed routes; the tag
            '' names no chassis
        :param present: collection of str, host names that SB has
        :param session: a value that differs after each loss of SB, None
            while SB is not to be trusted
        :param grace: seconds that a host may be missing, 0: for ever
        :returns: True when :attr:`dead` has changed
        """
        if session is None or session != self._session or not grace:
            self._since.clear()
        self._session = session
        missing = {tag for tag in tags if tag and not known(tag, present)}
        if session is None or not grace:
            missing = set()
        now, before = self._clock(), self.dead
        limit = grace + self._jitter
        self._note(missing, now, limit)
        self.dead = frozenset(
            tag for tag, since in self._since.items() if now >= since + limit)
        rest = [since + limit for tag, since in self._since.items()
                if tag not in self.dead]
        self._due = min(rest, default=None)
        return self.dead != before

    def due_in(self):
        """Seconds until the next chassis counts as gone for good, or None.
        """
        return (None if self._due is None else
                max(0.0, self._due - self._clock()))

    def _note(self, missing, now, limit):
        for tag in sorted(self._since.keys() - missing):
            del self._since[tag]
            LOG.info('Chassis %s is there again, or has nothing left here',
                     tag)
        for tag in sorted(missing - self._since.keys()):
            self._since[tag] = now
            LOG.warning(
                'OVN SB has no chassis with the host name %s that answers, '
                'and managed rows of OVN NB have this name; unless the '
                'chassis returns within %.0f s, they are removed', tag, limit)


def known(tag, present):
    """Whether a host name is that of a chassis.

    The Go program cuts its host name at the first dot.  So a short tag
    matches each chassis whose host name begins with the tag, and a long tag
    matches a chassis with the short host name.

    :param tag: host name on a route
    :param present: collection of host names that SB has
    :returns: bool
    """
    short, dot, _domain = tag.partition('.')
    if dot:
        return tag in present or short in present
    return any(name.partition('.')[0] == tag for name in present)
