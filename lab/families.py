# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The address families, as values that the same tests go through."""

import dataclasses
import ipaddress

from lab import plan
from ovn_network_agent import ownership


@dataclasses.dataclass(frozen=True)
class Family:
    """The names and addresses of one family in the lab.

    :ivar version: 4 or 6
    :ivar bits: length of a host's prefix
    :ivar provider: network of the gatewayless provider network
    :ivar client: address of the client outside, text
    :ivar client_net: its network
    :ivar test_net: network of addresses that nobody has
    :ivar default: prefix of a default route, text
    :ivar virtual_gateway: next hop of the routers' default routes, text
    :ivar address: address of the agent on a segment's device, text
    :ivar ends: addresses of veth-default and of veth-provider, text
    :ivar next_hop: next hop of FRR's static routes, text
    :ivar frr: the word before a command of FRR: 'ip' or 'ipv6'
    :ivar afi: the word in a question to bgpd
    :ivar match: protocol of an OpenFlow match
    :ivar field: of an OpenFlow match for the destination
    :ivar unchecked: word of ``ip`` for an address that no other host has; a
        check of IPv6 takes a second
    """

    version: int
    bits: int
    provider: object
    client: str
    client_net: object
    test_net: object
    default: str
    virtual_gateway: str
    address: str
    ends: tuple
    next_hop: str
    frr: str
    afi: str
    match: str
    field: str
    unchecked: str

    @property
    def option(self):
        """Option of ``ip``."""
        return f'-{self.version:d}'

    def prefix(self, address):
        """Prefix of a host, text."""
        return f'{address}/{self.bits:d}'

    def static(self, address):
        """Line of FRR that announces an address with ``static``, text."""
        return f'{self.frr} route {self.prefix(address)} {self.next_hop}'

    def of_host(self, prefix):
        """A prefix of ``ip``, which leaves out the length of a host."""
        return prefix.removesuffix(f'/{self.bits:d}')


FAMILIES = {
    4: Family(
        version=4, bits=32, provider=plan.PROVIDER, client=plan.CLIENT,
        client_net=plan.CLIENT_NET,
        test_net=ipaddress.ip_network('198.18.255.0/24'),
        default='0.0.0.0/0', virtual_gateway=str(plan.PROVIDER[-2]),
        address='169.254.169.254', ends=('169.254.0.1', '169.254.0.2'),
        next_hop='169.254.0.1', frr='ip', afi='ipv4', match='ip',
        field='nw_dst', unchecked=''),
    6: Family(
        version=6, bits=128, provider=plan.PROVIDER6, client=plan.CLIENT6,
        client_net=plan.CLIENT_NET6,
        test_net=ipaddress.ip_network('2001:db8:ffff::/64'),
        default='::/0', virtual_gateway=ownership.SEGMENT_LINK_LOCAL,
        address=ownership.SEGMENT_LINK_LOCAL, ends=ownership.VETH_LINK_LOCAL,
        next_hop=ownership.NEXT_HOP_6, frr='ipv6', afi='ipv6', match='ipv6',
        field='ipv6_dst', unchecked='nodad')}


def of(address):
    """The :class:`Family` of an address or network.

    :param address: text, or an object of :mod:`ipaddress`
    """
    return FAMILIES[6 if ':' in str(address) else 4]
