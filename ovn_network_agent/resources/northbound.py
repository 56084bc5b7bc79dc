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

"""Rows of OVN NB that belong to a router."""

import dataclasses

from ovn_network_agent import ownership
from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultRoute(base.Resource):
    """A default route of a gatewayless router, in OVN NB.

    :ivar router: UUID of the Logical_Router row
    :ivar lrp: name of the gateway Logical_Router_Port
    :ivar nexthop: the virtual gateway
    :ivar owner: the mark on the row
    :ivar outdated: host name of another chassis in the mark of the proof, or
        None; only found, and never wanted
    :ivar prefix: '0.0.0.0/0' or '::/0'
    """

    router: str
    lrp: str
    nexthop: str
    owner: ownership.Owner
    outdated: str | None = None
    prefix: str = '0.0.0.0/0'

    kind = 'default_route'
    stage = base.Stage.NORTHBOUND

    @property
    def follows(self) -> bool:
        """True, although the stage comes before the announcements."""
        # The route of the former owner is there, or the router is new.
        return True

    @property
    def key(self) -> tuple[str, str]:
        """(router, prefix): one default route of each family on a router."""
        return (self.router, self.prefix)


@dataclasses.dataclass(frozen=True, slots=True)
class OnLinkRoute(DefaultRoute):
    """The route of a router to a half of its provider network, in OVN NB.

    The network is on-link, so the router would ask there for addresses of
    other chassis, and nobody would answer.  A half is longer than the network,
    so its route comes first.
    """

    kind = 'on_link_route'


@dataclasses.dataclass(frozen=True, slots=True)
class StaleRoute(base.Resource):
    """A default route of a chassis that is gone for good.

    Such a resource is only found, and never wanted.

    :ivar router: UUID of the Logical_Router row
    :ivar lrp: name of the gateway Logical_Router_Port
    :ivar nexthop: the virtual gateway
    """

    router: str
    lrp: str
    nexthop: str
    owner: ownership.Owner

    kind = 'stale_route'
    stage = base.Stage.NORTHBOUND

    @property
    def key(self) -> tuple[str, str, str, ownership.Owner]:
        """(router, lrp, nexthop, owner): all of the route."""
        return (self.router, self.lrp, self.nexthop, self.owner)


@dataclasses.dataclass(frozen=True, slots=True)
class MacBinding(base.Resource):
    """A Static_MAC_Binding row of OVN NB: virtual gateway to our MAC."""

    lrp: str
    ip: str
    mac: str

    kind = 'mac_binding'
    stage = base.Stage.NORTHBOUND

    @property
    def follows(self) -> bool:
        """True, although the stage comes before the announcements."""
        # The MAC-tweak flow takes packets for the MAC of a former owner.
        return True

    @property
    def key(self) -> tuple[str, str]:
        """(lrp, ip), as in the index of the table."""
        return (self.lrp, self.ip)


@dataclasses.dataclass(frozen=True, slots=True)
class BfdTimers(base.Resource):
    """The timers of BFD in OVN's tunnels that this chassis requests, in NB.

    A fleet has one set of timers.  The agents' requests are in NB_Global,
    and give the options of the same row (:mod:`ovn.bfd`).

    :ivar chassis: host name of this chassis, the tag of the request
    :ivar min_rx: milliseconds, the option bfd-min-rx
    :ivar min_tx: milliseconds, the option bfd-min-tx
    :ivar mult: the option bfd-mult, number of packets
    :ivar astray: why the options or the other requests are not as the
        requests want them, or None; only found, and never wanted
    """

    chassis: str
    min_rx: int
    min_tx: int
    mult: int
    astray: str | None = None

    kind = 'bfd_timers'
    # The timers matter at the next failure; no packet waits for them.
    stage = base.Stage.LEAD

    @property
    def key(self) -> tuple[str]:
        """(chassis,): one request of each chassis."""
        return (self.chassis,)


@dataclasses.dataclass(frozen=True, slots=True)
class Advertised(base.Resource):
    """The proof that a router's addresses are announced here, in OVN NB.

    The mark ``ovn-network-agent-advertised`` on its managed default route,
    which the former owner waits for.

    :ivar router: UUID of the Logical_Router row
    :ivar owner: this chassis
    :ivar version: 4 or 6, the family of the addresses; not part of the value,
        likewise prefixes
    :ivar prefixes: '198.51.100.10/32', which have to be advertised to a BGP
        neighbour before the proof is written; the engine adds them
        (:mod:`engine.proofs`)
    """

    router: str
    owner: ownership.Owner
    prefixes: tuple[str, ...] = dataclasses.field(
        default=(), compare=False, repr=False)
    version: int = dataclasses.field(default=4, compare=False, repr=False)

    kind = 'advertised'
    stage = base.Stage.LEAD
    # The proof goes with the route, or when the next owner takes the route.
    retained = True

    @property
    def key(self) -> tuple[str]:
        """(router,): one proof on the default route of each router."""
        return (self.router,)
