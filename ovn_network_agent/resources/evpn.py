# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Objects of a VNI: its devices, its attachments to segments, its BGP.

Each is several objects of a system that only work together, read back as one
value. Device names follow from the VNI and the network, see :mod:`evpn_names`.
"""

import dataclasses

from ovn_network_agent.model import evpn_names
from ovn_network_agent.resources import base
from ovn_network_agent.resources import kernel


@dataclasses.dataclass(frozen=True, slots=True)
class VniDevices(base.Resource):
    """The VRF, the bridge and the VXLAN device of a VNI, all up.

    The bridge is in the VRF, the VXLAN device in the bridge, without learning
    and with neighbour suppression.
    """

    vni: int
    # Routing table of the VRF.
    table: int
    # MAC of the bridge, which EVPN calls the router MAC.
    mac: str
    # IPv4 address of this node's tunnels.
    local: str
    # UDP port.
    port: int
    # MTU of the VXLAN device, bytes.
    mtu: int
    # VRF of the tunnels, '' for the default VRF.
    underlay: str = ''

    kind = 'vni_devices'
    key_fields = ('vni',)
    stage = base.Stage.LINK
    needed_by = 'evpn_instance'


@dataclasses.dataclass(frozen=True, slots=True)
class VniPort(base.Resource):
    """A veth pair from a VNI's VRF to a provider bridge, both ends up."""

    # End in the VRF; the other one is evpn_names.bridge_end().
    name: str
    vni: int
    # MAC of the end in the VRF.
    mac: str
    # Provider bridge.
    bridge: str
    # VLAN of the port on the bridge; 0 for packets without a tag.
    tag: int

    kind = 'vni_port'
    key_fields = ('name',)
    stage = base.Stage.LINK


@dataclasses.dataclass(frozen=True, slots=True)
class EvpnInstance(base.Resource):
    """FRR's part of a VNI: the BGP instance of its VRF, and the VNI's line.

    It redistributes kernel routes of both families as type 5 routes (RFC
    9136), and needs the devices also when unwanted: bgpd 8.4 never hears that
    a VNI has gone whose VRF went first, and refuses to remove the instance,
    and routes of the VNI later on.
    """

    vni: int
    # AS number, 0 for that of the BGP instance of the underlay.
    asn: int
    router_id: str
    # Route distinguisher and targets as FRR shows them ('65011:1001'), empty
    # for those that FRR derives.
    rd: str = ''
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()

    kind = 'evpn_instance'
    key_fields = ('vni',)
    stage = base.Stage.FILTER

    def __post_init__(self) -> None:
        for name in ('imports', 'exports'):
            object.__setattr__(self, name,
                               tuple(sorted(set(getattr(self, name)))))
        object.__setattr__(self, 'requires', (
            base.Ref(VniDevices.kind, (self.vni,)),))


@dataclasses.dataclass(frozen=True, slots=True)
class VniRule(kernel.Rule):
    """A rule that drops packets whose destination a VNI's VRF lacks.

    Otherwise these leave by the main table.
    """

    kind = 'vni_rule'
    stage = base.Stage.GUARD


@dataclasses.dataclass(frozen=True, slots=True)
class VniRoute(kernel.KernelRoute):
    """A route in the table of a VNI, which its BGP instance announces."""

    vni: int = 0

    kind = 'vni_route'
    stage = base.Stage.ANNOUNCE

    @property
    def subject(self) -> str:
        """The destination, in the VNI."""
        return evpn_names.subject(self.vni, self.dst)
