# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of OVN NB that belong to a router."""

import dataclasses

from ovn_network_agent import ownership
from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultRoute(base.Resource):
    """A default route of a gatewayless router, in OVN NB."""

    # UUID of the Logical_Router row.
    router: str
    # Name of the gateway Logical_Router_Port.
    lrp: str
    # The virtual gateway.
    nexthop: str
    owner: ownership.Owner
    # Host name of another chassis in the mark of the proof, or None; only
    # found, and never wanted.
    outdated: str | None = None
    # '0.0.0.0/0' or '::/0'.
    prefix: str = '0.0.0.0/0'

    kind = 'default_route'
    key_fields = ('router', 'prefix')
    stage = base.Stage.NORTHBOUND

    @property
    def follows(self) -> bool:
        """True, although the stage comes before the announcements."""
        # The route of the former owner is there, or the router is new.
        return True


@dataclasses.dataclass(frozen=True, slots=True)
class OnLinkRoute(DefaultRoute):
    """The route of a router to a half of its provider network, in OVN NB.

    The network is on-link: the router would ask there for addresses of other
    chassis, in vain. A half is longer, so its route comes first.
    """

    kind = 'on_link_route'


@dataclasses.dataclass(frozen=True, slots=True)
class StaleRoute(base.Resource):
    """A default route of a chassis gone for good; found, never wanted."""

    # UUID of the Logical_Router row.
    router: str
    lrp: str
    nexthop: str
    owner: ownership.Owner

    kind = 'stale_route'
    key_fields = ('router', 'lrp', 'nexthop', 'owner')
    stage = base.Stage.NORTHBOUND


@dataclasses.dataclass(frozen=True, slots=True)
class MacBinding(base.Resource):
    """A Static_MAC_Binding row of OVN NB: virtual gateway to our MAC."""

    lrp: str
    ip: str
    mac: str

    kind = 'mac_binding'
    key_fields = ('lrp', 'ip')
    stage = base.Stage.NORTHBOUND

    @property
    def follows(self) -> bool:
        """True, although the stage comes before the announcements."""
        # The MAC-tweak flow takes packets for the MAC of a former owner.
        return True


@dataclasses.dataclass(frozen=True, slots=True)
class BfdTimers(base.Resource):
    """The timers of BFD in OVN's tunnels that this chassis requests, in NB.

    Requests are in NB_Global, and give the fleet's one set of options in the
    same row (:mod:`ovn.chassis.bfd`).
    """

    # Host name of this chassis, the tag of the request.
    chassis: str
    # Milliseconds, the option bfd-min-rx.
    min_rx: int
    # Milliseconds, the option bfd-min-tx.
    min_tx: int
    # The option bfd-mult, number of packets.
    mult: int
    # Why the options or other requests are not as the requests want them, or
    # None; only found, never wanted.
    astray: str | None = None

    kind = 'bfd_timers'
    key_fields = ('chassis',)
    # The timers matter at the next failure; no packet waits for them.
    stage = base.Stage.LEAD


@dataclasses.dataclass(frozen=True, slots=True)
class Advertised(base.Resource):
    """The proof that a router's addresses are announced here, in OVN NB.

    The mark ``ovn-network-agent-advertised`` on its managed default route,
    which the former owner waits for.
    """

    # UUID of the Logical_Router row.
    router: str
    # This chassis.
    owner: ownership.Owner
    # '198.51.100.10/32', to be advertised to a BGP neighbour before the proof
    # is written; the engine adds them (engine.contributions).
    prefixes: tuple[str, ...] = dataclasses.field(
        default=(), compare=False, repr=False)
    # 4 or 6; not part of the value, likewise prefixes.
    version: int = dataclasses.field(default=4, compare=False, repr=False)

    kind = 'advertised'
    key_fields = ('router',)
    stage = base.Stage.LEAD
    # The proof goes with the route, or when the next owner takes the route.
    retained = True
