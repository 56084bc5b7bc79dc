# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the original program leaves on a node and in OVN, as texts.

The marks are written out here, and not taken from the package: a changed mark
of the agent must not change what the original is known to leave.
"""

import dataclasses
import ipaddress

BRIDGE = 'br-ex'
BRIDGE_IP = '169.254.169.254/32'
NEXTHOP, PROVIDER_IP = '169.254.0.1', '169.254.0.2'
LEAK_TABLE, REPLY_TABLE = 200, 201
LEAK_PRIORITY, HOST_PRIORITY = 2000, 1000
PREFIX_LIST = 'ANNOUNCED-NETWORKS'
COOKIE_MAC_TWEAK, COOKIE_HAIRPIN = 0x999, 0x998
ZONE = 64000

_NFT = '''\
table ip ovn-network-agent {{
    chain prerouting_ctzone {{
        type filter hook prerouting priority raw; policy accept;
        ip daddr {vip} tcp dport {port} ct zone set {zone}
        ip saddr {dest} tcp sport {dest_port} ct zone set {zone}
    }}
    chain output_ctzone {{
        type filter hook output priority raw; policy accept;
        ip daddr {vip} tcp dport {port} ct zone set {zone}
        ip saddr {dest} tcp sport {dest_port} ct zone set {zone}
    }}
    chain prerouting_dnat {{
        type nat hook prerouting priority dstnat; policy accept;
        ip daddr {vip} tcp dport {port} dnat to {dest}:{dest_port}
    }}
    chain prerouting_fwmark {{
        type filter hook prerouting priority filter; policy accept;
        ct direction original ct status dnat ct original ip daddr {{ {vip} }} \
meta mark set 0x100
        ct direction reply ct status dnat ct original ip daddr {{ {vip} }} \
meta mark set 0x200
    }}
    chain output_fwmark {{
        type route hook output priority filter; policy accept;
        ct direction reply ct status dnat ct original ip daddr {{ {vip} }} \
meta mark set 0x200
    }}
    chain forward_veth_guard {{
        type filter hook forward priority filter; policy accept;
        oifname "veth-default" ip saddr {{ {networks} }} accept
        oifname "veth-default" meta mark 0x200 accept
        oifname "veth-default" drop
    }}
    chain postrouting_fwmark_clear {{
        type filter hook postrouting priority filter; policy accept;
        oifname "veth-default" meta mark 0x200 meta mark set 0
    }}
}}
'''


@dataclasses.dataclass(frozen=True)
class Forward:
    """One port forward of TCP, whose VIP the original manages."""

    vip: str
    port: int
    dest: str
    dest_port: int


@dataclasses.dataclass(frozen=True)
class Router:
    """A router whose gateway port is on the node.

    :ivar lrp: name of the gateway port
    :ivar mac: MAC address of the gateway port
    :ivar address: address with the prefix, like '198.51.100.1/24'
    :ivar fips: tuple of floating IPs
    """

    lrp: str
    mac: str
    address: str
    fips: tuple

    @property
    def network(self):
        return str(ipaddress.ip_interface(self.address).network)

    @property
    def virtual_gateway(self):
        return str(ipaddress.ip_network(self.network).broadcast_address - 1)

    @property
    def addresses(self):
        """What the original announces for the router."""
        return (self.address.partition('/')[0], *self.fips)


@dataclasses.dataclass(frozen=True)
class Layout:
    """A node on which the original works.

    :ivar routers: tuple of :class:`Router`
    :ivar forward: :class:`Forward`, None on a node that forwards no ports
    :ivar vrf: name of the VRF.  The original always has one; '' leaves out
        the way between the VRFs, for a kernel without VRFs
    :ivar vrf_table: routing table of the VRF
    :ivar table: routing table of the host routes, 0 for the main table
    """

    routers: tuple
    forward: Forward | None = None
    vrf: str = ''
    vrf_table: int = 10
    table: int = 0

    @property
    def networks(self):
        return tuple(dict.fromkeys(r.network for r in self.routers))

    # -- the kernel -------------------------------------------------------

    def kernel(self):
        """Commands of ip(8) for the node itself, in the original's order."""
        yield f'link set {BRIDGE} up'
        yield f'address add {BRIDGE_IP} dev {BRIDGE}'
        if self.vrf:
            yield from self._pair()
        if self.forward:
            yield f'address add {self.forward.vip}/32 dev loopback1'
        for router in self.routers:
            for address in router.addresses:
                yield from self.host_route(address)

    def _pair(self):
        yield 'link add veth-default type veth peer name veth-provider'
        yield f'link set veth-provider master {self.vrf}'
        for end, address in (('veth-default', NEXTHOP),
                             ('veth-provider', PROVIDER_IP)):
            yield f'link set {end} up'
            yield f'address add {address}/30 dev {end}'
        for table in (LEAK_TABLE, REPLY_TABLE) if self.forward else (
                LEAK_TABLE,):
            yield (f'route add default via {PROVIDER_IP} dev veth-default '
                   f'table {table}')
        yield (f'rule add pref {LEAK_PRIORITY - 1} iif veth-default table 254 '
               'protocol 0')
        for priority, mark, table in ((150, '0x100', 254),
                                      (151, '0x200', REPLY_TABLE)
                                      ) if self.forward else ():
            yield (f'rule add pref {priority} fwmark {mark}/{mark} table '
                   f'{table} protocol 0')
        for network in self.networks:
            yield (f'rule add pref {LEAK_PRIORITY} from {network} table '
                   f'{LEAK_TABLE} protocol 0')
            yield (f'route add {network} via {NEXTHOP} dev veth-provider '
                   f'table {self.vrf_table} proto 44')

    def host_route(self, address):
        """Commands of ip(8) for one announced address."""
        table = self.table or 254
        yield (f'route add {address}/32 dev {BRIDGE} scope link proto 44 '
               f'table {table}')
        if self.table:
            yield (f'rule add pref {HOST_PRIORITY} to {address}/32 table '
                   f'{table} protocol 0')

    def sysctls(self):
        """Names and values of the sysctls."""
        yield f'net.ipv4.conf.{BRIDGE}.proxy_arp', 1
        if self.vrf:
            yield 'net.ipv4.conf.veth-default.forwarding', 1
            yield 'net.ipv4.conf.veth-provider.forwarding', 1
            yield 'net.ipv4.conf.veth-provider.accept_local', 1

    # -- Open vSwitch, nftables, FRR --------------------------------------

    def flows(self, in_port, mac):
        """Flows as ovs-ofctl takes them.

        :param in_port: number of the patch port
        :param mac: MAC address of the bridge device
        """
        for family in 'ip', 'ipv6':
            yield (f'cookie={COOKIE_MAC_TWEAK:#x},priority=900,{family},'
                   f'in_port={in_port},actions=set_field:{mac}->eth_dst,'
                   'NORMAL')
        for router in self.routers:
            for address in router.addresses:
                yield self.hairpin(in_port, mac, address, router.mac)

    @staticmethod
    def hairpin(in_port, mac, address, lrp_mac):
        """The flow that reflects the traffic of one address."""
        return (f'cookie={COOKIE_HAIRPIN:#x},priority=910,ip,'
                f'in_port={in_port},nw_dst={address},'
                f'actions=set_field:{mac}->eth_src,'
                f'set_field:{lrp_mac}->eth_dst,IN_PORT')

    def nft(self):
        """The table as nft(8) takes it."""
        return _NFT.format(zone=ZONE, networks=', '.join(self.networks),
                           **dataclasses.asdict(self.forward))

    def static(self, address):
        """A static route of FRR, as a line of its configuration."""
        return f'ip route {address}/32 {NEXTHOP if self.vrf else BRIDGE}'

    def frr(self):
        """Lines for vtysh after "configure terminal"."""
        number = 0
        for network in self.networks:
            number += 5
            yield (f'ip prefix-list {PREFIX_LIST} seq {number} permit '
                   f'{network} ge 32 le 32')
        if self.forward:
            yield (f'ip prefix-list {PREFIX_LIST} seq {number + 5} permit '
                   f'{self.forward.vip}/32')
        if self.vrf:
            yield f'vrf {self.vrf}'
        for router in self.routers:
            for address in router.addresses:
                yield self.static(address)
        if self.vrf:
            yield 'exit-vrf'

    # -- OVN --------------------------------------------------------------

    @staticmethod
    def external_ids(hostname):
        """Those of a default route that the original has announced."""
        return {'ovn-network-agent': 'managed',
                'ovn-network-agent-chassis': hostname,
                'ovn-network-agent-advertised': hostname}
