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

"""The withdrawal guard: a mass withdrawal waits for a confirmed view.  Pure.

A pass that would withdraw a large share of the announced addresses is more
often the result of a damaged database than a wish.  Such a pass withdraws
nothing until the view is confirmed.  An address that another gateway node has
is never held, because two nodes must not announce one address for long.
"""

import dataclasses
import time

from oslo_log import log as logging

from ovn_network_agent import notyet
from ovn_network_agent import resources
from ovn_network_agent.engine import outcome

LOG = logging.getLogger(__name__)

UNCONFIRMED = 'the servers of OVN have not confirmed the loss yet'
EMPTIED = ('the Northbound database had lost all of its routers, and these '
           'addresses have not come back')
_STAYS = 'stays while the withdrawal guard holds addresses'


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one pass, and the evidence that ends a hold.

    :ivar percent: percent of the announced addresses that a pass may withdraw
        without a confirmation, 0 to 100
    :ivar minimum: a withdrawal of fewer addresses is never held
    :ivar evidence: :class:`ovn.evidence.Evidence`
    """

    percent: int
    minimum: int
    evidence: object


class Guard:
    """Decides which withdrawals have to wait.

    :param backends: :class:`engine.actual.Backends`
    :param tracker: :class:`engine.tracking.Tracker`
    :param entries: :class:`engine.ledger.Ledger`
    :param clock: function that returns monotonic seconds
    :ivar held: :class:`outcome.Held` of the last judgement
    :ivar active: whether the next pass has to be judged in any case, because
        something of former passes is remembered
    """

    def __init__(self, backends, tracker, entries, clock=time.monotonic):
        self._clock = clock
        self._backends = backends
        self._tracker = tracker
        self._ledger = entries
        self.forget()

    def forget(self):
        """Hold nothing, and remember nothing of former passes."""
        self.held = outcome.Held()
        # When the present hold began, and whether a warning was logged.
        self._since, self._warned = 0.0, False
        # The addresses whose loss is confirmed, those of a database that was
        # emptied, and those that the operator has let go.
        self._believed = self._emptied = self._let_go = frozenset()
        self.active = False

    def release(self):
        """Let the held addresses go with the next pass.

        :returns: their number
        """
        self._let_go |= self.held.subjects
        return len(self.held.subjects)

    def judge(self, limits, exempt=frozenset()):
        """Decide for one pass, before its deletions.

        :param limits: :class:`Limits`, or None for a pass without a guard
        :param exempt: subjects that go for a reason other than OVN
        """
        if limits is None:
            self.forget()
            return
        removed = self._removed() - exempt
        if not self.active and len(removed) < limits.minimum:
            # The common case does not look at all announcements.
            return
        going = self._of_no_other_kind(removed)
        # An address that comes back is judged anew when it goes again.
        self._believed &= going
        self._emptied &= going
        self._let_go &= going
        if len(going) >= limits.minimum or self.held.subjects:
            going = frozenset(subject for subject in going if not
                              limits.evidence.elsewhere(subject))
            self._decide(limits, going, exempt)
        self.active = bool(self.held.subjects or self._believed or
                           self._emptied or self._let_go)

    def permits(self, resource):
        """Whether a resource may be removed; notes in the ledger why not.

        An object of no single address may serve held addresses.  So the
        object stays.  A table of port forwards does not: it follows the file
        of rules, and not OVN.
        """
        if not self.held.subjects:
            return True
        if resource.subject in self.held.subjects:
            self._ledger.held(
                resource.ref, f'the withdrawal guard holds it, because '
                f'{self.held.why}')
            return False
        if (not _is_of_one(resource) and not resource.retained and
                resource.stage < resources.Stage.ANNOUNCE and
                resource.kind != resources.NftTable.kind):
            self._ledger.held(resource.ref, _STAYS)
            return False
        return True

    def _decide(self, limits, going, exempt):
        evidence, before = limits.evidence, self.held
        self._believed = (self._believed | (
            before.unconfirmed & evidence.confirmed)) & going
        announced = self._announced() - exempt
        is_mass = (len(going) >= limits.minimum and
                   100 * len(going) > limits.percent * len(announced))
        found = (going if is_mass else
                 going & before.subjects) - self._let_go
        reasons = tuple(evidence.doubts(found)) if found else ()
        if found and evidence.emptied:
            self._emptied |= found
        unconfirmed = found - self._believed
        subjects = found if reasons else unconfirmed | self._emptied & found
        if not before.subjects:
            self._since = self._clock()
        why = reasons or tuple(self._why(subjects, unconfirmed))
        self.held = outcome.Held(
            subjects, len(announced), why, unconfirmed, usual=(
                why == (UNCONFIRMED,) and
                self._clock() < self._since + notyet.USUAL))
        self._tell(before)

    def _why(self, subjects, unconfirmed):
        if unconfirmed:
            yield UNCONFIRMED
        if self._emptied & subjects:
            yield EMPTIED

    def _tell(self, before):
        now = self.held
        if now.subjects and not now.usual and not self._warned:
            self._warned = True
            LOG.warning('%s', now.text)
        elif now.subjects and not before.subjects:
            LOG.info('%s', now.text)
        elif before.subjects and not now.subjects:
            LOG.log(logging.WARNING if self._warned else logging.INFO,
                    'The withdrawal guard holds nothing any more; %d '
                    'addresses were held', len(before.subjects))
            self._warned = False

    # -- the announcements ------------------------------------------------

    def _removed(self):
        """Subjects of the announcements that go, a frozenset."""
        return frozenset(
            resource.subject for resource
            in self._tracker.delta(self._kinds()).delete)

    def _of_no_other_kind(self, removed):
        """Announcements whose place no announcement of another kind takes."""
        return removed and removed - {
            resource.subject for resource
            in self._tracker.wanted(self._kinds())}

    def _announced(self):
        """Subjects that are announced now, a frozenset."""
        return frozenset(resource.subject for resource
                         in self._tracker.actual(self._kinds()))

    def _announcers(self):
        return self._backends.backends_at(resources.Stage.ANNOUNCE)

    def _kinds(self):
        return [kind.kind for backend in self._announcers()
                for kind in backend.kinds
                if kind.stage is resources.Stage.ANNOUNCE]


def _is_of_one(resource):
    """Whether a resource is about a single address, and not a network."""
    return (resource.subject or '').endswith(('/32', '/128'))
