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

"""Port forwarding as frozen values: VIPs, their rules and destinations.

Plain values without I/O, like :mod:`ovn_network_agent.model`.  They come from
the rules file (:mod:`ovn_network_agent.forward.rules`); what the node finds
out itself (health of destinations, an address that is there, a gateway that is
here) is put into them before drivers see them.
"""

import dataclasses

from ovn_network_agent import iptext


@dataclasses.dataclass(frozen=True, slots=True)
class HealthCheck:
    """How to find out whether a destination works.

    :ivar kind: 'tcp' (a connection can be made) or 'http' (and a request is
        answered with one of ``statuses``)
    :ivar interval: seconds from one check to the next
    :ivar timeout: seconds that one may take
    :ivar rise: so many good ones in a row make a destination alive again
    :ivar fall: so many bad ones in a row make it dead
    :ivar port: TCP port to check, 0 for that of the destination
    :ivar path: of the HTTP request, '/health'
    :ivar host: its Host header, '' for the address of the destination
    :ivar statuses: tuple of (first, last) status codes that are good
    """

    kind: str
    interval: float = 2.0
    timeout: float = 1.0
    rise: int = 2
    fall: int = 3
    port: int = 0
    path: str = '/'
    host: str = ''
    statuses: tuple = ((200, 399),)


@dataclasses.dataclass(frozen=True, slots=True)
class Destination:
    """One destination of a rule.

    :ivar address: IP address, canonical text
    :ivar weight: share of the clients that it gets, compared with the
        others of the rule; 0 gets no new ones, and keeps those it has
    :ivar alive: False when its health check has failed; True as long as
        nobody knows
    :ivar why: the result that it is dead for, '' when it is not; for people,
        two that differ in it alone are equal
    """

    address: str
    weight: int = 1
    alive: bool = True
    why: str = dataclasses.field(default='', compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What is done with one port of a VIP.

    :ivar proto: 'tcp' or 'udp'
    :ivar port: destination port of the client's packets
    :ivar dest_port: port of the destinations, never 0
    :ivar destinations: tuple of :class:`Destination` in the order of the file
    :ivar masquerade: whether destinations see an address of this node
        instead of the client's, by the rule or else by its VIP
    :ivar check: :class:`HealthCheck` or None
    """

    proto: str
    port: int
    dest_port: int
    destinations: tuple
    masquerade: bool = False
    check: HealthCheck | None = None

    @property
    def usable(self):
        """The destinations that get clients, a tuple of Destination.

        When none is alive, all of those that have a weight: a client that is
        refused knows more than one that hears nothing.
        """
        weighted = tuple(b for b in self.destinations if b.weight)
        return tuple(b for b in weighted if b.alive) or weighted


@dataclasses.dataclass(frozen=True, slots=True)
class Vip:
    """An address whose ports are forwarded.

    :ivar address: IP address, canonical text
    :ivar managed: whether the agent puts it on the device (manage_vip)
    :ivar hairpin_masquerade: masquerade what comes from provider networks
    :ivar router_masquerade: masquerade what comes from SNAT addresses of the
        routers that are active here
    :ivar rules: tuple of :class:`Rule` in the order of the file, not empty
    :ivar present: whether the node has the address and the agent did not
        put it there; only looked for when it is not managed
    :ivar taken: name of a router here that has the address, '' when none
    """

    address: str
    managed: bool = False
    hairpin_masquerade: bool = False
    router_masquerade: bool = False
    rules: tuple = ()
    present: bool = False
    taken: str = ''

    @property
    def version(self):
        """4 or 6."""
        return iptext.address(self.address).version

    @property
    def dead(self):
        """Whether none of its destinations is left: it is to be withdrawn.

        As long as one rule has a live one the others are served, too.
        """
        return not any(each.alive and each.weight
                       for rule in self.rules for each in rule.destinations)


@dataclasses.dataclass(frozen=True, slots=True)
class Forwards:
    """All of it.

    :ivar vips: tuple of :class:`Vip` in the order of the file
    :ivar gateway: whether a router has its gateway here; None when OVN has
        not said yet
    """

    vips: tuple = ()
    gateway: bool | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Extent:
    """What routers have to know of the rules; the same most of the time.

    :ivar versions: tuple of 4 and 6: families that something is forwarded in
    :ivar routers: the same, of those with a router_masquerade
    """

    versions: tuple = ()
    routers: tuple = ()


def extent(forwards):
    """The :class:`Extent` of :class:`Forwards`."""
    vips = [vip for vip in forwards.vips if not vip.taken]
    return Extent(
        tuple(sorted({vip.version for vip in vips})),
        tuple(sorted({vip.version for vip in vips if vip.router_masquerade})))


def taken(vips, routers):
    """VIPs that are addresses of routers that are served here.

    Both cannot have it; an address of a tenant is not the operator's to use.

    :param vips: iterable of :class:`Vip`
    :param routers: iterable of :class:`model.Router`
    :returns: frozenset of (address, name of the router)
    """
    addresses = {vip.address for vip in vips}
    return frozenset(
        (address, router.name) for router in routers
        if addresses and router.served_ports
        for address in _addresses(router) if address in addresses)


def _addresses(router):
    for nat in router.nats:
        if not nat.distributed_mac:
            yield nat.external_ip
    for each in router.balanced:
        if not each.unanswered:
            yield each.address
    for port in router.served_ports:
        yield from port.nat_addresses
        for network in port.networks:
            yield network.partition('/')[0]
