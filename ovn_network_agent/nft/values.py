# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A table of port forwarding as frozen values, which cross the wall.

Pure.  The agent makes these values from its rules, and the privileged side
renders them (:mod:`nft.rendering`).  No value holds words of nft, so no value
can become a command.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Destination:
    """A target of the connections to a service.

    :ivar address: IP address, canonical text
    :ivar lasting: whether its present connections may stay
    """

    address: str
    lasting: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """A port of a VIP.

    :ivar proto: 'tcp' or 'udp'
    :ivar port: destination port of the client's packets
    :ivar dest_port: port of the destinations
    :ivar masquerade: whether destinations see an address of this node instead
        of the client's
    :ivar destinations: tuple of :class:`Destination`
    :ivar shares: tuple of (index of a destination, number of buckets), for
        new connections.  The hash of a client's address is a bucket, and the
        destinations have the buckets in this order.  With one share, all
        clients have that destination.  Without a share, no client has one.
    """

    proto: str
    port: int
    dest_port: int
    masquerade: bool
    destinations: tuple
    shares: tuple


@dataclasses.dataclass(frozen=True, slots=True)
class Vip:
    """An address with services.

    :ivar address: IP address, canonical text
    :ivar hairpin_masquerade: whether the source of clients in provider
        networks is replaced
    :ivar router_masquerade: the same for SNAT addresses of routers
    :ivar services: tuple of :class:`Service`, not empty
    """

    address: str
    hairpin_masquerade: bool
    router_masquerade: bool
    services: tuple


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """The table of one family, without the elements that follow routers.

    :ivar family: 'ip' or 'ip6'
    :ivar zone: connection tracking zone, 1..65535
    :ivar vrf: whether the VIPs are in a VRF, so that replies need marks
    :ivar vips: tuple of :class:`Vip`
    :ivar vnis: whether there may be devices of VNIs, whose packets are those
        of tenants, and never for the VIPs
    """

    family: str
    zone: int
    vrf: bool
    vips: tuple
    vnis: bool = False


def targets(table: Table) -> list[tuple[str, str, int, str, int]]:
    """The targets of the lasting connections of a table.

    :param table: :class:`Table`
    :returns: sorted list of (protocol, VIP, port, destination, its port)
    """
    return sorted({
        (service.proto, vip.address, service.port, destination.address,
         service.dest_port)
        for vip in table.vips for service in vip.services
        for destination in service.destinations if destination.lasting})
