# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[evpn]: the driver that brings provider networks into EVPN VRFs."""

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.conf import types
from ovn_network_agent.model import evpn_names

GROUP = 'evpn'


class _TunnelAddress(types.IPv4Address):
    """An IPv4 address, because FRR has no tunnels over IPv6."""

    def _checked(self, value: str) -> str:
        if ':' in value:
            raise ValueError(
                f'{value!r} is an IPv6 address. Of such tunnels, FRR before '
                '10.6 announces the router ID as their end, and the other '
                'nodes lose each packet; use an IPv4 address of this node')
        return super()._checked(value)


class NamedVni(types.Text):
    """A name or UUID of a network, a colon, and a VNI."""

    TYPE_NAME = 'name and VNI'

    def _checked(self, value: str) -> str:
        name, _colon, number = map(str.strip, value.rpartition(':'))
        if not name or not name.isprintable():
            raise ValueError(f'{value!r} is not a name with a VNI; write it '
                             'like tenant-a:1001')
        if not evpn_names.vni(number):
            raise ValueError(f'{number!r} in {value!r} is not a VNI; use a '
                             f'number from {evpn_names.VNIS[0]} to '
                             f'{evpn_names.VNIS[-1]}')
        return f'{name}:{number}'


OPTS = [
    cfg.Opt(
        'local_ip', type=_TunnelAddress(empty=True), default='',
        help='IPv4 address of this node that the VXLAN tunnels come from, '
             'and that the fabric has a route to. The driver evpn needs '
             'either this or "local_device". It also gives the router ID and '
             'the route distinguishers of the VNIs.'),
    cfg.Opt(
        'local_device', type=types.InterfaceName(empty=True), default='',
        help='In place of "local_ip", the device that has this address: its '
             'first IPv4 address that is neither 127.0.0.0/8 nor '
             '169.254.0.0/16, in the order of "ip address show". While the '
             'device has none, nothing is made for a VNI. When it loses the '
             'address, all stays as it is until it has one again; another '
             'address makes the tunnels again.'),
    cfg.PortOpt(
        'udp_dstport', default=4789, min=1,
        help='UDP port of the VXLAN tunnels. Open vSwitch cannot have the '
             'same one: with "ovn-encap-type" vxlan, or relays of that '
             'type, choose another one, on all nodes and in the fabric.'),
    cfg.Opt(
        'underlay_mtu', type=types.Integer(min=1280, max=65535),
        default=1500,
        help='MTU of the network that carries the tunnels, in bytes. A '
             'packet of a tenant may have 50 bytes less; the node tells '
             'senders of larger packets.'),
    cfg.Opt(
        'bgp_as', type=types.Integer(min=0, max=(1 << 32) - 1), default=0,
        help='AS number of the BGP instances of the VNIs. 0 (the default) '
             'means that of the BGP instance of [frr] vrf_name, or of the '
             'default VRF.'),
    cfg.Opt(
        'table_base',
        type=types.Integer(min=1000, max=(1 << 32) - 1 - evpn_names.VNIS[-1]),
        default=ownership.EVPN_TABLES.start,
        help='The routing table of a VNI is this number plus the VNI. No '
             'other program may use tables of this range.'),
    cfg.BoolOpt(
        'anycast_mac', default=True,
        help='Whether the gateway of a network has the same MAC on all '
             'nodes, so that a machine that moves keeps it. It is that of '
             'ovn-bgp-agent: 02: and the VNI and the VLAN in five bytes. With '
             'false, each node has its own.'),
    cfg.BoolOpt(
        'manage_frr', default=True,
        help='Whether the agent writes the VRF with its VNI and the BGP '
             'instance of the VRF into FRR. With false, write them '
             'yourself.'),
    cfg.Opt(
        'vnis', type=types.CommaList(NamedVni()), default=[],
        mutable=True,
        help='VNIs of provider networks, as NETWORK:VNI, comma-separated; '
             'the network by its UUID, its name in Neutron, or the name of '
             'its row in OVN. Use the UUID where tenants make provider '
             'networks themselves, because they choose the names. They win '
             'over those that OVN has in '
             '"neutron_bgpvpn:vni" and "ovn-network-agent:evpn-vni" of the '
             'network.'),
]
