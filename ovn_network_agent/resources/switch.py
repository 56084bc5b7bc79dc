# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Objects of the local Open vSwitch: flows, tunnel ports, the overlap."""

import dataclasses

from ovn_network_agent import ownership
from ovn_network_agent.resources import base

# OpenFlow port of the bridge's own device (OFPP_LOCAL of OpenFlow 1.3).
LOCAL = 0xfffffffe


@dataclasses.dataclass(frozen=True, slots=True)
class RelayPort(base.Resource):
    """A tunnel port on a provider bridge, towards another gateway."""

    bridge: str
    # See ownership.relay_name.
    name: str
    # IP address of the tunnels of the other chassis.
    remote: str
    # 'geneve' or 'vxlan'.
    encap: str
    # Tunnel key, see ownership.relay_key.
    tunnel: int = ownership.RELAY_KEY

    kind = 'relay_port'
    key_fields = ('bridge', 'name')
    stage = base.Stage.LINK


@dataclasses.dataclass(frozen=True, slots=True)
class Flow(base.Resource):
    """An OpenFlow flow on a provider bridge, table 0.

    It matches in_port, family and destination, may set MACs, and hands the
    packet to the bridge's own forwarding, back to its port, or to relays.
    Fields are typed, so that the privileged side can check them.
    """

    bridge: str
    cookie: int
    priority: int
    # OpenFlow port number of the patch port towards br-int or of a relay, or
    # LOCAL.
    in_port: int
    # 4 or 6.
    family: int
    # Destination prefix ('198.51.100.10/32') or None for all.
    dst: str | None = None
    set_src: str | None = None
    set_dst: str | None = None
    # 'normal', 'in_port', or 'ports:' and one to eight port numbers in the
    # order in which they get the packet: 'ports:3,7'.
    output: str = 'normal'

    kind = 'flow'
    key_fields = ('bridge', 'priority', 'in_port', 'family', 'dst')
    stage = base.Stage.FLOW

    @property
    def follows(self) -> bool:
        """True for a hairpin flow, which only routers of this chassis need."""
        # Meanwhile, packets from router to router on this chassis take the
        # announced route, as on every other chassis.
        return self.output == 'in_port'

    @property
    def leaves_early(self) -> bool:
        """True for a hairpin flow, for the same reason."""
        return self.follows

    @property
    def subject(self) -> str | None:
        """The destination prefix."""
        return self.dst


@dataclasses.dataclass(frozen=True, slots=True)
class Overlap(base.Resource):
    """A moment in which this chassis and others have the same gateways."""

    # IP addresses of the tunnels of the others.
    addresses: tuple[str, ...]

    kind = 'overlap'
    key_fields = ()
    # Packets have to be relayed to the chassis that takes over.
    stage = base.Stage.LEAD
