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

"""A gateway group: who may have which gateway ports."""

import dataclasses
import enum

from ovn_network_agent.model.node import Segment


class GatewayState(enum.Enum):
    """What this chassis is in a gateway group; drivers ask for this alone.

    :mod:`gateways.transitions` says what each state means, what leads there,
    and what the drivers then want.
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
    """How this chassis has the ports of a gateway group.

    The memory of the state above, also while the group is being left; see
    :mod:`gateways.transitions`.
    """

    NEW = 'new'
    ELSEWHERE = 'elsewhere'
    FIRST = 'first'
    OUTRANKED = 'outranked'
    OVERDUE = 'overdue'
    CONTESTED = 'contested'
    INHERITED = 'inherited'
    LINGERING = 'lingering'


class Fact(enum.Enum):
    """What is known of a gateway group beside its rows.

    UNFIT: this chassis could not announce the ports if it had them; without
    this fact it could, or nobody knows.  ABANDONED: this chassis is about to
    stop announcing the ports, whoever can take them over.
    ZERO_SINCE_START: this chassis had priority 0 when the agent started, and
    has it still: it was drained.
    """

    UNFIT = 'unfit'
    ABANDONED = 'abandoned'
    ZERO_SINCE_START = 'zero since start'


# What the name of a chassisredirect port begins with; the rest is that of its
# router port (ovn-northd).
REDIRECT = 'cr-'

# Candidate.drained: why an agent has lowered it.
SHUTDOWN = 'shutdown'

MAINTENANCE = 'maintenance'

UNFIT = 'unfit'


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """One chassis of a gateway group.

    :ivar chassis: chassis name (system-id)
    :ivar priority: 0..32767, the highest live one is active
    :ivar known: whether SB has this chassis; False for one that was removed
    :ivar address: IP address of its tunnels (SB Encap), '' when unknown
    :ivar further: tuple of further addresses of its tunnels
    :ivar encap: type of the tunnels of ``address``, 'geneve' or 'vxlan', ''
        when unknown
    :ivar drained: why an agent has lowered it to 0: 'shutdown',
        'maintenance' or 'unfit' (it could not announce), '' when none has
    :ivar earlier: the priority it had before that
    :ivar silent: whether it does not answer in OVN's tunnel, as far as a
        drain has looked; see :mod:`ovn.tunnels`
    :ivar dead: whether that is so for long enough
    """

    chassis: str
    priority: int
    known: bool = True
    address: str = ''
    encap: str = ''
    drained: str = ''
    earlier: int = 0
    silent: bool = False
    dead: bool = False
    further: tuple = ()

    @property
    def rank(self):
        """What OVN goes by: of equal priorities the name that sorts last.

        Decision record 0009.
        """
        return self.priority, self.chassis

    @property
    def addresses(self):
        """All addresses of its tunnels, a tuple."""
        return (self.address, *self.further) if self.address else ()


@dataclasses.dataclass(frozen=True, slots=True)
class GroupPort:
    """A gateway port that a group decides about.

    :ivar redirect: name of its chassisredirect port
    :ivar chassis: name of the chassis that is bound to, '' when unbound
    :ivar lrp: name of the Logical_Router_Port
    :ivar networks: tuple of 'address/len', as in the row, valid ones only
    :ivar segment: :class:`Segment` or None when it cannot be resolved
    """

    redirect: str
    chassis: str
    lrp: str = ''
    networks: tuple = ()
    segment: Segment | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class GatewayGroup:
    """Who may host gateway ports: one notion over two OVN tables.

    Rows of Gateway_Chassis belong to one port, an HA_Chassis_Group may be
    shared by several.

    :ivar table: 'Gateway_Chassis' or 'HA_Chassis_Group'
    :ivar key: UUID of the Logical_Router_Port or of the group, text
    :ivar name: name of that row, for messages
    :ivar candidates: tuple of :class:`Candidate`, sorted by chassis name
    :ivar ports: tuple of :class:`GroupPort`, sorted by name
    :ivar routers: tuple of UUIDs of the routers of these ports, text, sorted
    :ivar facts: frozenset of :class:`Fact`
    :ivar state: :class:`GatewayState` of this chassis
    :ivar tenure: :class:`Tenure` of this chassis
    """

    table: str
    key: str = ''
    name: str = ''
    candidates: tuple = ()
    ports: tuple = ()
    routers: tuple = ()
    facts: frozenset = frozenset()
    state: GatewayState = GatewayState.UNDECIDED
    tenure: Tenure = Tenure.NEW

    @property
    def held(self):
        """Read from the state: to be left, but the order stays for now."""
        return self.state in (GatewayState.HELD, GatewayState.OVERLAPPING)

    @property
    def moving(self):
        """Read from the tenure: OVN may be about to move the ports."""
        return self.tenure in (Tenure.OUTRANKED, Tenure.CONTESTED,
                               Tenure.LINGERING)

    @property
    def restore(self):
        """Whether :attr:`Fact.ZERO_SINCE_START` is known."""
        return Fact.ZERO_SINCE_START in self.facts

    @property
    def unfit(self):
        """Whether :attr:`Fact.UNFIT` is known."""
        return Fact.UNFIT in self.facts

    @property
    def abandoned(self):
        """Whether :attr:`Fact.ABANDONED` is known."""
        return Fact.ABANDONED in self.facts

    def candidate(self, chassis):
        """The :class:`Candidate` of that chassis, or None."""
        return next((c for c in self.candidates if c.chassis == chassis),
                    None)

    def peers(self, chassis):
        """The other candidates that are there, a tuple of Candidate.

        Those that SB has: one that was removed takes nothing.
        """
        return tuple(c for c in self.candidates
                     if c.chassis != chassis and c.known)

    def takers(self, chassis):
        """Who is to take over from that chassis, a tuple of Candidate.

        Not those that are drained themselves: among zeros OVN goes by name.
        """
        return tuple(c for c in self.peers(chassis)
                     if c.priority > 0 and not c.silent)

    def hopes(self, chassis):
        """Who may yet take over, a tuple of Candidate.

        An agent has lowered it, and raises it again without being asked: the
        agent starts, or BGP works again.  Or it does not answer right now.
        What an operator drains, and what nobody has marked, is at 0 for
        reasons that no agent knows.
        """
        return tuple(c for c in self.peers(chassis) if not c.dead and (
            c.silent if c.priority else c.drained in (UNFIT, SHUTDOWN)))

    def depends_on(self, chassis):
        """Whether nobody but that standby could take over from the owner."""
        owners = {port.chassis for port in self.ports}
        return chassis not in owners and all(
            c.chassis in owners for c in self.takers(chassis))

    def heirs(self, chassis):
        """Who is to get the ports once that chassis has let go of them.

        Those of :meth:`takers` and :meth:`hopes`, dead or alive.

        :returns: tuple of :class:`Candidate`
        """
        return tuple(c for c in self.peers(chassis)
                     if c.priority or c.drained in (UNFIT, SHUTDOWN))
