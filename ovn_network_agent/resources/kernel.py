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

"""Objects of the kernel: devices, addresses, routes, rules."""

import dataclasses

from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class LinkUp(base.Resource):
    """A device that exists and has to be up: the provider bridge."""

    dev: str

    kind = 'link_up'
    stage = base.Stage.LINK
    retained = True

    @property
    def key(self) -> tuple[str]:
        """(dev,)."""
        return (self.dev,)


@dataclasses.dataclass(frozen=True, slots=True)
class VethPair(base.Resource):
    """A veth pair, both ends up, the peer enslaved to a VRF."""

    # End in the default VRF.
    name: str
    # End in ``vrf``.
    peer: str
    vrf: str

    kind = 'veth_pair'
    stage = base.Stage.LINK

    @property
    def key(self) -> tuple[str]:
        """(name,); another VRF is an update."""
        return (self.name,)


@dataclasses.dataclass(frozen=True, slots=True)
class VlanDevice(base.Resource):
    """The device of a VLAN on a provider bridge, up.

    :ivar name: name of the device, see :func:`vlans.device`
    :ivar bridge: name of the bridge's own device, '' for a found device that
        is not as wanted
    """

    name: str
    bridge: str
    vlan: int

    kind = 'vlan_device'
    stage = base.Stage.LINK

    @property
    def key(self) -> tuple[str]:
        """(name,); another bridge or tag is an update."""
        return (self.name,)


@dataclasses.dataclass(frozen=True, slots=True)
class Sysctl(base.Resource):
    """A network sysctl, never restored.

    :ivar path: path below /proc/sys: 'net/ipv4/conf/br-ex/proxy_arp'; with
        slashes, because the name of a device may contain a dot
    :ivar value: the text to be read back, without the line feed
    """

    path: str
    value: str

    kind = 'sysctl'
    stage = base.Stage.SYSCTL
    retained = True

    @property
    def key(self) -> tuple[str]:
        """(path,)."""
        return (self.path,)


@dataclasses.dataclass(frozen=True, slots=True)
class Address(base.Resource):
    """An IP address with prefix length on a device: '169.254.0.1/30'."""

    dev: str
    address: str

    kind = 'address'
    stage = base.Stage.ADDRESS

    @property
    def key(self) -> tuple[str, str]:
        """(dev, address); the address has its prefix length."""
        return (self.dev, self.address)


@dataclasses.dataclass(frozen=True, slots=True)
class VipAddress(Address):
    """An address that FRR redistributes as a connected route.

    So the address is announced as soon as a device has it.
    """

    kind = 'vip_address'
    stage = base.Stage.ANNOUNCE

    @property
    def subject(self) -> str:
        """The address with its prefix length."""
        return self.address


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbour(base.Resource):
    """A permanent neighbour entry.

    :ivar dst: IP address of the neighbour
    :ivar lladdr_of: name of the local device whose MAC the neighbour has; the
        backend looks the MAC up when it writes or compares the entry; '' with
        ``lladdr``
    """

    dev: str
    dst: str
    lladdr_of: str
    lladdr: str | None = None

    kind = 'neighbour'
    stage = base.Stage.NEIGHBOUR

    @property
    def key(self) -> tuple[str, str]:
        """(dev, dst), as in the kernel; another MAC address is an update."""
        return (self.dev, self.dst)


# The metric of a found place with several routes of the agent.
SEVERAL = -1


@dataclasses.dataclass(frozen=True, slots=True)
class KernelRoute(base.Resource):
    """A kernel route of our protocol (:data:`ownership.ROUTE_PROTOCOL`).

    :ivar table: routing table id
    :ivar dst: destination prefix, '0.0.0.0/0' for the default route
    :ivar dev: output device
    :ivar via: gateway address, or None for a route of scope link
    :ivar metric: None for the default of the family; or a tag, which FRR sees
        as the metric; or :data:`SEVERAL` for a place that was found with
        several routes of the agent, and that is never as wanted
    """

    table: int
    dst: str
    dev: str
    via: str | None = None
    metric: int | None = None

    kind = 'kernel_route'
    stage = base.Stage.ROUTE

    @property
    def key(self) -> tuple[int, str]:
        """(table, dst); all other fields are the value."""
        return (self.table, self.dst)

    @property
    def subject(self) -> str | None:
        """The destination of a host route; None for another route."""
        return self.dst if self.dst.endswith(('/32', '/128')) else None


@dataclasses.dataclass(frozen=True, slots=True)
class AnnouncedRoute(KernelRoute):
    """A host route that FRR redistributes (announce_method = kernel).

    The route is in the table of bgpd's instance: that of the VRF, or the main
    table in default VRF mode.
    """

    kind = 'announced_route'
    stage = base.Stage.ANNOUNCE


# In place of a table: drop the packets of the rule, without an answer.
BLACKHOLE = 0

# RT_TABLE_MAIN (rtnetlink(7)).
MAIN_TABLE = 254


@dataclasses.dataclass(frozen=True, slots=True)
class Rule(base.Resource):
    """A policy rule: priority, selectors, table.

    :ivar table: routing table to look in, or :data:`BLACKHOLE`
    :ivar src: source prefix
    :ivar dst: destination prefix
    :ivar iif: incoming device
    :ivar fwmark: (mark, mask)
    :ivar suppress: ignore routes of the table with a prefix of this length
        or a shorter one (0: the default route)
    :ivar ipv6: True for a rule of IPv6 without a prefix, else None
    """

    priority: int
    table: int
    src: str | None = None
    dst: str | None = None
    iif: str | None = None
    fwmark: tuple[int, int] | None = None
    suppress: int | None = None
    ipv6: bool | None = None

    kind = 'rule'
    stage = base.Stage.RULE

    @property
    def key(self) -> tuple[int, str | None, str | None, str | None,
                           tuple[int, int] | None, str | None]:
        """(priority, src, dst, iif, fwmark, 'ipv6' or None).

        The table is the value, so a rule with another table is an update.  The
        last item separates the rules of both families that have no prefix.
        """
        return (self.priority, self.src, self.dst, self.iif, self.fwmark,
                'ipv6' if self.ipv6 else None)

    @property
    def subject(self) -> str | None:
        """The destination prefix."""
        return self.dst
