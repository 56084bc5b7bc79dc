# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Objects of FRR: prefix lists, router advertisements, static routes."""

import dataclasses

from ovn_network_agent.resources import base


@dataclasses.dataclass(frozen=True, slots=True)
class PrefixListEntry(base.Resource):
    """``permit <network> ge <ge> le <le>`` of an FRR prefix list.

    Of host routes, or of the network itself with both lengths its own. The
    sequence number, which the backend chooses, is not in the value.
    """

    name: str
    network: str
    ge: int = 32
    le: int = 32

    kind = 'prefix_list_entry'
    key_fields = ('name', 'network', 'ge', 'le')
    stage = base.Stage.FILTER

    @property
    def place(self) -> tuple[str, int, int]:
        """The same in another list, after a change of frr_prefix_list."""
        return (self.network, self.ge, self.le)


@dataclasses.dataclass(frozen=True, slots=True)
class RouterAdvertisement(base.Resource):
    """Advertisements of this node as the default router of a device.

    The hosts learn no address and nothing on-link: they ask for no neighbour
    but the router (RFC 4861, 5.2).
    """

    dev: str
    # IPv6 prefixes, in any order; advertised without the flags L and A.
    prefixes: tuple[str, ...] = ()
    # DHCPv6 has addresses for the hosts (flag M), other settings alone (O).
    managed: bool = False
    other: bool = False

    kind = 'router_advertisement'
    key_fields = ('dev',)
    stage = base.Stage.FILTER

    def __post_init__(self) -> None:
        object.__setattr__(self, 'prefixes',
                           tuple(sorted(set(self.prefixes))))


@dataclasses.dataclass(frozen=True, slots=True)
class Announcement(base.Resource):
    """An FRR static route that ``redistribute static`` announces."""

    # VRF name, '' for the default instance.
    vrf: str
    # '198.51.100.10/32'.
    prefix: str
    # IP address, or the name of an interface; or both and "onlink".
    nexthop: str
    # Tag of the route, one of ownership.TAGS, or None.
    tag: int | None = None

    kind = 'announcement'
    key_fields = ('vrf', 'prefix')
    stage = base.Stage.ANNOUNCE

    @property
    def subject(self) -> str:
        """The prefix."""
        return self.prefix
