# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Objects of the kernel: devices, addresses, routes, rules, nftables."""

import dataclasses

from ovn_network_agent import ownership
from ovn_network_agent.resources import base

# In place of a table: drop the packets without an answer.
BLACKHOLE = 0

# RT_TABLE_MAIN (rtnetlink(7)).
MAIN_TABLE = 254


@dataclasses.dataclass(frozen=True, slots=True)
class LinkUp(base.Resource):
    """A device that exists and has to be up: the provider bridge."""

    dev: str

    kind = 'link_up'
    key_fields = ('dev',)
    stage = base.Stage.LINK
    retained = True


@dataclasses.dataclass(frozen=True, slots=True)
class VethPair(base.Resource):
    """A veth pair, both ends up, the peer enslaved to a VRF."""

    # In the default VRF.
    name: str
    # In ``vrf``.
    peer: str
    vrf: str

    kind = 'veth_pair'
    key_fields = ('name',)
    stage = base.Stage.LINK


@dataclasses.dataclass(frozen=True, slots=True)
class VlanDevice(base.Resource):
    """The device of a VLAN on a provider bridge, up."""

    # See vlans.device.
    name: str
    # The bridge's own device, '' for a device found not as wanted.
    bridge: str
    vlan: int

    kind = 'vlan_device'
    key_fields = ('name',)
    stage = base.Stage.LINK


@dataclasses.dataclass(frozen=True, slots=True)
class Sysctl(base.Resource):
    """A network sysctl, never restored."""

    # Below /proc/sys: 'net/ipv4/conf/br-ex/proxy_arp'; with slashes, because
    # the name of a device may contain a dot.
    path: str
    # As read back, without the line feed.
    value: str

    kind = 'sysctl'
    key_fields = ('path',)
    stage = base.Stage.SYSCTL
    retained = True


@dataclasses.dataclass(frozen=True, slots=True)
class Address(base.Resource):
    """An IP address with prefix length on a device: '169.254.0.1/30'."""

    dev: str
    address: str

    kind = 'address'
    key_fields = ('dev', 'address')
    stage = base.Stage.ADDRESS


@dataclasses.dataclass(frozen=True, slots=True)
class VipAddress(Address):
    """An address that FRR redistributes, once a device has it."""

    kind = 'vip_address'
    stage = base.Stage.ANNOUNCE

    @property
    def subject(self) -> str:
        """The address with its prefix length."""
        return self.address


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbour(base.Resource):
    """A permanent neighbour entry."""

    dev: str
    # IP address of the neighbour.
    dst: str
    # Local device whose MAC the backend looks up when it writes or compares
    # the entry; '' with ``lladdr``.
    lladdr_of: str
    lladdr: str | None = None

    kind = 'neighbour'
    key_fields = ('dev', 'dst')
    stage = base.Stage.NEIGHBOUR


@dataclasses.dataclass(frozen=True, slots=True)
class NeighbourProxy(base.Resource):
    """An IPv6 address that the kernel answers neighbour solicitations for.

    Needs the device's sysctls ``proxy_ndp`` and ``forwarding``
    (ndisc_recv_ns() of the kernel).
    """

    dev: str
    # IPv6 address.
    dst: str

    kind = 'neighbour_proxy'
    key_fields = ('dev', 'dst')
    stage = base.Stage.NEIGHBOUR


# Metric of a place found with several routes of the agent.
SEVERAL = -1


@dataclasses.dataclass(frozen=True, slots=True)
class KernelRoute(base.Resource):
    """A kernel route of our protocol (:data:`ownership.ROUTE_PROTOCOL`)."""

    table: int
    # A prefix, '0.0.0.0/0' for the default route.
    dst: str
    dev: str
    # None for a route of scope link.
    via: str | None = None
    # None for the family's default; a tag, which FRR sees as the metric; or
    # SEVERAL, which is never as wanted.
    metric: int | None = None

    kind = 'kernel_route'
    key_fields = ('table', 'dst')
    stage = base.Stage.ROUTE

    @property
    def subject(self) -> str | None:
        """The destination, unless it is one of the leak's networks.

        The route of a network of tenants leads to a gateway port.
        """
        alone = self.dst.endswith(('/32', '/128')) or (
            self.via and self.dev not in ownership.VETH_ENDS)
        return self.dst if alone else None


@dataclasses.dataclass(frozen=True, slots=True)
class AnnouncedRoute(KernelRoute):
    """A route that FRR redistributes (announce_method = kernel).

    In the table of bgpd's instance: its VRF's, or the main table.
    """

    kind = 'announced_route'
    stage = base.Stage.ANNOUNCE

    @property
    def subject(self) -> str:
        """The destination, a prefix."""
        return self.dst


@dataclasses.dataclass(frozen=True, slots=True)
class Rule(base.Resource):
    """A policy rule: priority, selectors, table."""

    priority: int
    # To look in, or BLACKHOLE.
    table: int
    src: str | None = None
    dst: str | None = None
    iif: str | None = None
    # (mark, mask).
    fwmark: tuple[int, int] | None = None
    # Ignore routes of the table with a prefix no longer than this (0: the
    # default route).
    suppress: int | None = None
    # True for a rule of IPv6 without a prefix, else None.
    ipv6: bool | None = None

    kind = 'rule'
    stage = base.Stage.RULE

    @property
    def key(self) -> tuple[int, str | None, str | None, str | None,
                           tuple[int, int] | None, str | None]:
        """(priority, src, dst, iif, fwmark, 'ipv6' or None).

        The table is the value, so another table is an update. The last item
        separates the rules of both families that have no prefix.
        """
        return (self.priority, self.src, self.dst, self.iif, self.fwmark,
                'ipv6' if self.ipv6 else None)

    @property
    def subject(self) -> str | None:
        """The destination prefix."""
        return self.dst


@dataclasses.dataclass(frozen=True, slots=True)
class NftTable(base.Resource):
    """The agent's table of one family, but for the elements of its sets."""

    # 'ip' or 'ip6'.
    family: str
    # Of the text, 32 hexadecimal digits; of a read table, that of the loaded
    # text, or 'altered' when the table differs from it.
    digest: str
    # nft.values.Table of the text; not part of the value, None in a table that
    # was read. This package is below nft, so does not import it.
    content: object = dataclasses.field(
        default=None, compare=False, repr=False)
    # Destinations of connections, sorted: (proto, VIP, port, destination, its
    # port); not part of the value.
    targets: tuple[tuple[str, str, int, str, int], ...] = dataclasses.field(
        default=(), compare=False, repr=False)

    kind = 'nft_table'
    key_fields = ('family',)
    stage = base.Stage.TRANSLATION


@dataclasses.dataclass(frozen=True, slots=True)
class NftElement(base.Resource):
    """An element of a set of the agent's table."""

    # 'ip' or 'ip6'.
    family: str
    set: str
    # As nft writes it: a network, an address, a device's name.
    element: str

    kind = 'nft_element'
    key_fields = ('family', 'set', 'element')
    stage = base.Stage.TRANSLATION
