# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The address families, as values that the same tests go through."""

import dataclasses
import ipaddress

from lab import plan
from ovn_network_agent import ownership


@dataclasses.dataclass(frozen=True)
class Family:
    """The names and addresses of one family in the lab."""

    version: int  # 4 or 6
    bits: int  # length of a host's prefix
    provider: object  # network of the gatewayless provider network
    client: str
    client_net: object
    test_net: object  # network of addresses that nobody has
    default: str
    virtual_gateway: str
    address: str
    ends: str
    next_hop: str
    frr: str  # the word before a command of FRR: 'ip' or 'ipv6'
    afi: str  # the word in a question to bgpd
    match: str  # protocol of an OpenFlow match
    field: str  # of an OpenFlow match for the destination
    # Word of ``ip`` for an address that no other host has; a check of IPv6
    # takes a second
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
    """The :class:`Family` of an address or network."""
    return FAMILIES[6 if ':' in str(address) else 4]
