# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Gateway groups: the chassis that may have gateway ports."""

from collections.abc import Sequence
import enum
import operator
import typing

from ovn_network_agent.model.evpn_names import Vni
from ovn_network_agent.model.node import Segment


class GatewayState(enum.Enum):
    """The role of this chassis in a gateway group; drivers go by this alone.

    :mod:`gateways.transitions` has the meaning and what leads to each.
    """

    UNDECIDED = 'undecided'
    ALONE = 'alone'
    STANDBY = 'standby'
    RETURNING = 'returning'
    SET_ASIDE = 'set aside'
    SERVING = 'serving'
    YIELDING = 'yielding'
    STOPGAP = 'stopgap'
    HELD = 'held'
    OVERLAPPING = 'overlapping'
    LEAVING = 'leaving'
    DRAINED = 'drained'
    LAST = 'last'
    FORSAKEN = 'forsaken'
    KEPT = 'kept'


class Tenure(enum.Enum):
    """How this chassis has the ports, the memory of :class:`GatewayState`."""

    NEW = 'new'
    ELSEWHERE = 'elsewhere'
    FIRST = 'first'
    OUTRANKED = 'outranked'
    OVERDUE = 'overdue'
    CONTESTED = 'contested'
    INHERITED = 'inherited'
    LINGERING = 'lingering'


class Fact(enum.Enum):
    """A fact about a gateway group that is not in its rows.

    UNFIT: this chassis could not announce; without it, could or nobody knows.
    ABANDONED: it will stop announcing even without a successor.
    ZERO_SINCE_START: its priority was 0 at the start and still is.  FIXED: NB
    is away, so the order stays.  LATE: some chassis may not follow soon, see
    :func:`ovn.chassis.own_chassis.late_for`.
    """

    UNFIT = 'unfit'
    ABANDONED = 'abandoned'
    ZERO_SINCE_START = 'zero since start'
    FIXED = 'fixed'
    LATE = 'late'


REDIRECT = 'cr-'  # prefix of chassisredirect ports (ovn-northd)

SHUTDOWN = 'shutdown'  # in Candidate.drained
MAINTENANCE = 'maintenance'
UNFIT = 'unfit'


class Candidate(typing.NamedTuple):
    """One chassis of a gateway group."""

    chassis: str
    priority: int  # 0..32767, the highest of the living is active
    known: bool = True  # false for a removed chassis
    address: str = ''  # IP address of its tunnels (SB Encap), '' when unknown
    # Type of the tunnels of ``address``, 'geneve' or 'vxlan', '' when unknown.
    encap: str = ''
    # Why an agent has lowered the priority to 0, '' without such an agent;
    # 'unfit': could not announce.
    drained: str = ''
    earlier: int = 0  # the priority before that
    # In OVN's tunnel, as far as a drain has looked; see ovn.tunnels.
    silent: bool = False
    dead: bool = False  # silent for long enough
    further: tuple[str, ...] = ()
    # The priority in SB, by which the chassis go, copied by ovn-northd; None
    # when unknown.
    applied: int | None = None

    @property
    def lowered(self) -> bool:
        """Whether the priority is 0, as far as known in OVN SB, too."""
        return not self.priority and not self.applied

    @property
    def rank(self) -> tuple[int, str]:
        """OVN's order: of equal priorities, the last name wins (ADR 0009)."""
        return self.priority, self.chassis

    @property
    def addresses(self) -> tuple[str, ...]:
        """All addresses of its tunnels."""
        return (self.address, *self.further) if self.address else ()


class GroupPort(typing.NamedTuple):
    """A gateway port that a group decides about."""

    redirect: str  # name of its chassisredirect port
    chassis: str  # name of the chassis of that port, '' when unbound
    lrp: str = ''  # name of the Logical_Router_Port
    # 'address/len', as in the row, valid ones only.
    networks: tuple[str, ...] = ()
    segment: Segment | None = None  # None when it cannot be resolved
    # IPv4 networks of tenants that the router translates (SNAT), sorted.
    tenants: tuple[str, ...] = ()
    routed_by_ovn: bool = False  # see model.Router
    # Networks of tenants that are announced without NAT, sorted.
    routed: tuple[str, ...] = ()
    # Further ones with virtual IPs that are announced one by one, sorted.
    balanced: tuple[str, ...] = ()
    vni: Vni | None = None  # as GatewayPort has it


class GatewayGroup(typing.NamedTuple):
    """The candidates for ports: Gateway_Chassis (one) or HA_Chassis_Group."""

    table: str  # 'Gateway_Chassis' or 'HA_Chassis_Group'
    key: str = ''  # UUID of the Logical_Router_Port or of the group
    name: str = ''
    candidates: tuple[Candidate, ...] = ()  # sorted by chassis name
    ports: tuple[GroupPort, ...] = ()  # sorted by name
    # UUIDs of the routers of these ports, sorted.
    routers: tuple[str, ...] = ()
    facts: frozenset[Fact] = frozenset()
    state: GatewayState = GatewayState.UNDECIDED
    tenure: Tenure = Tenure.NEW

    @property
    def held(self) -> bool:
        """Whether this chassis will leave, but the order stays for now."""
        return self.state in (GatewayState.HELD, GatewayState.OVERLAPPING)

    @property
    def moving(self) -> bool:
        """Whether OVN may be about to move the ports, by the tenure."""
        return self.tenure in (Tenure.OUTRANKED, Tenure.CONTESTED,
                               Tenure.LINGERING)

    @property
    def restore(self) -> bool:
        """Whether :attr:`Fact.ZERO_SINCE_START` is known."""
        return Fact.ZERO_SINCE_START in self.facts

    @property
    def unfit(self) -> bool:
        """Whether :attr:`Fact.UNFIT` is known."""
        return Fact.UNFIT in self.facts

    @property
    def fixed(self) -> bool:
        """Whether :attr:`Fact.FIXED` is known."""
        return Fact.FIXED in self.facts

    @property
    def late(self) -> bool:
        """Whether :attr:`Fact.LATE` is known."""
        return Fact.LATE in self.facts

    @property
    def abandoned(self) -> bool:
        """Whether :attr:`Fact.ABANDONED` is known."""
        return Fact.ABANDONED in self.facts

    def bridges(self, served: Sequence[str]) -> tuple[str, ...]:
        """The served bridges that the ports are on, else the default bridge.

        :param served: the default first
        """
        used = {port.segment.bridge for port in self.ports if port.segment}
        return tuple(b for b in served if b in used) or tuple(served[:1])

    def candidate(self, chassis: str) -> Candidate | None:
        """The candidate with that name, None without one."""
        return next((c for c in self.candidates if c.chassis == chassis),
                    None)

    def peers(self, chassis: str) -> tuple[Candidate, ...]:
        """The other candidates that SB has."""
        return tuple(c for c in self.candidates
                     if c.chassis != chassis and c.known)

    def takers(self, chassis: str) -> tuple[Candidate, ...]:
        """The candidates to take over; OVN would go by drained ones' names."""
        return tuple(c for c in self.peers(chassis)
                     if c.priority > 0 and not c.silent)

    def returning(self, chassis: str) -> tuple[Candidate, ...]:
        """The candidates that may yet take over.

        They do not answer right now, or their agents will raise the priority
        unasked; of a 0 without a mark or with an operator's, nobody knows.
        """
        return tuple(c for c in self.peers(chassis) if not c.dead and (
            c.silent if c.priority else c.drained in (UNFIT, SHUTDOWN)))

    def next_owners(self, count: int) -> frozenset[str]:
        """The candidates that the ports may go to next, as all agents see it.

        The owners and the first of the order, the drained by their earlier
        place, so that a drain changes nothing.  Two have a priority, for a
        taker.

        :param count: number of the first candidates, 2 or more
        """
        order = sorted((c for c in self.candidates if c.known), reverse=True,
                       key=lambda c: (c.priority or c.earlier, c.chassis))
        takers = sorted((c for c in order if c.priority), reverse=True,
                        key=operator.attrgetter('rank'))
        return frozenset(c.chassis for c in (
            *order[:count], *takers[:2])) | {
                port.chassis for port in self.ports} - {''}

    def depends_on(self, chassis: str) -> bool:
        """Whether that standby alone could take over from the owner."""
        owners = {port.chassis for port in self.ports}
        return chassis not in owners and all(
            c.chassis in owners for c in self.takers(chassis))

    def heirs(self, chassis: str) -> tuple[Candidate, ...]:
        """Those of :meth:`takers` and :meth:`returning`, dead or alive."""
        return tuple(c for c in self.peers(chassis)
                     if c.priority or c.drained in (UNFIT, SHUTDOWN))
