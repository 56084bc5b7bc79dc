# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The withdrawal guard: a mass withdrawal waits for a confirmed view.  Pure.

To withdraw a large share of the announced addresses is more often the result
of a damaged database than a wish.  An address that another gateway node has is
never held: two nodes must not announce one for long.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Set
import typing

from oslo_log import log as logging

from ovn_network_agent import resources
from ovn_network_agent.common import normal_wait
from ovn_network_agent.common import wording
from ovn_network_agent.engine import actual
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.engine import tracking
from ovn_network_agent.model import evpn_names

LOG = logging.getLogger(__name__)

UNCONFIRMED = 'the servers of OVN have not confirmed the loss yet'
EMPTIED = ('the Northbound database had lost all of its routers, and these '
           'addresses have not come back')
_STAYS = 'stays while the withdrawal guard holds addresses'


class CrossCheck(typing.Protocol):
    """What the guard asks of :class:`ovn.cross_check.CrossCheck`."""

    confirmed: frozenset[str]

    @property
    def emptied(self) -> bool:
        """Whether the Northbound database has no router at all."""

    def elsewhere(self, subject: str) -> bool:
        """Whether a gateway port on another chassis has an address."""

    def doubts(self, subjects: Iterable[str]) -> Iterable[str]:
        """The reasons to believe that addresses are not gone for good."""


class Limits(typing.NamedTuple):
    """The limits of one pass, and the cross-check that ends a hold."""

    # Of the announced addresses, that may go without a confirmation, 0 to 100.
    percent: int
    # A withdrawal of fewer addresses is never held.
    minimum: int
    cross_check: CrossCheck


class Guard:
    """Decides which withdrawals have to wait."""

    def __init__(self, backends: actual.Backends, tracker: tracking.Tracker,
                 entries: ledger.Ledger, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kinds = [kind for _backend, kinds in backends.announcers
                       for kind in kinds]
        self._tracker = tracker
        self._ledger = entries
        self.forget()

    def forget(self) -> None:
        """Hold nothing, and remember nothing of former passes."""
        self.held = outcome.Held()
        self._began, self._warned = 0.0, False
        # The addresses whose loss is confirmed, of a database that was
        # emptied, and let go by the operator.
        self._believed: frozenset[str] = frozenset()
        self._emptied: frozenset[str] = frozenset()
        self._let_go: frozenset[str] = frozenset()
        # Whether something of former passes is remembered.
        self._active = False

    def release(self) -> int:
        """Let the held addresses go with the next pass; their number."""
        self._let_go |= self.held.subjects
        return len(self.held.subjects)

    def judge(self, limits_of: Callable[[], Limits | None],
              exempt_subjects: Iterable[str]) -> None:
        """Decide for one pass, before its deletions.

        :param limits_of: returns None for a pass without a guard
        :param exempt_subjects: those that go for a reason other than OVN
        """
        kinds = self._kinds
        deletes = self._tracker.delta(kinds).delete
        if not (deletes or self._active):
            return
        limits = limits_of()
        if limits is None:
            self.forget()
            return
        exempt = frozenset(exempt_subjects)
        removed = _subjects(deletes) - exempt
        if not self._active and len(removed) < limits.minimum:
            # The common case does not look at all announcements.
            return
        # No announcement of another kind takes their place.
        going = removed and removed.difference(
            _subjects(self._tracker.wanted(kinds)))
        # An address that comes back is judged again when it goes again.
        self._believed &= going
        self._emptied &= going
        self._let_go &= going
        if len(going) >= limits.minimum or self.held.subjects:
            going = frozenset(subject for subject in going if not
                              limits.cross_check.elsewhere(subject))
            self._decide(limits, going, exempt)
        self._active = bool(self.held.subjects or self._believed or
                           self._emptied or self._let_go)

    def permits(self, resource: resources.Resource) -> bool:
        """Whether a resource may be removed; notes in the ledger why not.

        An object of no single address stays, as it may serve held addresses.
        A table of port forwards does not: it follows the file of rules.
        """
        if not self.held.subjects:
            return True
        if resource.subject in self.held.subjects:
            why = f'the withdrawal guard holds it, because {self.held.why}'
            self._ledger.put(resource.ref, ledger.State.HELD, why)
            return False
        is_of_one = (resource.subject or '').endswith((
            '/32', '/128')) and not _is_anchor(resource)
        if (not is_of_one and not resource.retained and
                resource.stage < resources.Stage.ANNOUNCE and
                resource.kind != resources.NftTable.kind):
            self._ledger.put(resource.ref, ledger.State.HELD, _STAYS)
            return False
        return True

    def _decide(self, limits: Limits, going: frozenset[str],
                exempt: Set[str]) -> None:
        check, before = limits.cross_check, self.held
        self._believed = (self._believed | (
            before.unconfirmed & check.confirmed)) & going
        announced = _subjects(self._tracker.actual(self._kinds)) - exempt
        is_mass = (len(going) >= limits.minimum and
                   100 * len(going) > limits.percent * len(announced))
        found = (going if is_mass else
                 going & before.subjects) - self._let_go
        reasons = tuple(check.doubts(found)) if found else ()
        if found and check.emptied:
            self._emptied |= found
        unconfirmed = found - self._believed
        subjects = found if reasons else unconfirmed | self._emptied & found
        if not before.subjects:
            self._began = self._clock()
        why = reasons or (
            *((UNCONFIRMED,) if unconfirmed else ()),
            *((EMPTIED,) if self._emptied & subjects else ()))
        self.held = outcome.Held(
            subjects, len(announced), why, unconfirmed, usual=(
                why == (UNCONFIRMED,) and
                self._clock() < self._began + normal_wait.USUAL))
        self._tell(before)

    def _tell(self, before: outcome.Held) -> None:
        now = self.held
        if now.subjects and not now.usual and not self._warned:
            self._warned = True
            LOG.warning('%s', now.text)
        elif now.subjects and not before.subjects:
            LOG.info('%s', now.text)
        elif before.subjects and not now.subjects:
            LOG.log(logging.WARNING if self._warned else logging.INFO,
                    'The withdrawal guard holds nothing any more; %s '
                    'held', wording.count(len(before.subjects), 'address was',
                                          'addresses were'))
            self._warned = False


def _is_anchor(resource: resources.Resource) -> bool:
    """Whether a route keeps all of a VNI announced, see drivers.evpn."""
    return (isinstance(resource, resources.KernelRoute) and
            evpn_names.vni_of_vrf(resource.dev) != 0)


def _subjects(announcements: Iterable[resources.Resource]) -> frozenset[str]:
    return frozenset(resource.subject for resource in announcements
                     if resource.subject is not None)
