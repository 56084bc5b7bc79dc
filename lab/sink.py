# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The sink: default gateway of the management network, counting leaks.

A gateway node sends packets there that miss the provider VRF.  Every arriving
packet with a provider address, or from a VIP, is a leak.
"""

import json

from lab import plan

TABLE = 'sink'


def _rules():
    clients = f'{{ {plan.CLIENT_NET}, {plan.CROWD} }}'
    providers = f'{plan.PROVIDER}, {plan.FURTHER_PROVIDERS}'
    clients6 = plan.CLIENT_NET6
    routers6 = f'{plan.PROVIDER6}, {plan.FURTHER_PROVIDER6}, {plan.TENANTS6}'
    return f'''\
table inet {TABLE} {{
    counter leaked {{ }}
    counter errors {{ }}
    counter untranslated {{ }}
    set leaks4 {{
        type ether_addr . ipv4_addr . ipv4_addr; flags dynamic; size 64;
    }}
    set leaks6 {{
        type ether_addr . ipv6_addr . ipv6_addr; flags dynamic; size 64;
    }}
    chain leak {{
        counter name leaked
        meta nfproto ipv4 add @leaks4 {{ ether saddr . ip saddr . ip daddr }}
        meta nfproto ipv6 add @leaks6 {{ ether saddr . ip6 saddr . ip6 daddr }}
        drop
    }}
    chain prerouting {{
        type filter hook prerouting priority raw; policy accept;
        ip saddr {plan.MANAGEMENT} icmp type destination-unreachable \\
            counter name errors drop
        ip saddr {{ {providers}, {plan.VIPS} }} goto leak
        ip daddr {{ {providers} }} goto leak
        ip saddr {clients} goto leak
        ip daddr {clients} counter name untranslated drop
        ip6 saddr {{ {clients6}, {plan.VIPS6}, {routers6} }} goto leak
        ip6 daddr {{ {routers6} }} goto leak
        ip6 daddr {clients6} counter name untranslated drop
    }}
}}
'''


class Sink:
    """Counts leaked packets."""

    def __init__(self, node):
        self._node = node

    def start(self):
        """Load the counting rules."""
        self._node.run(['nft', '-f', '-'], input=_rules())

    def leaked(self):
        """Number of packets with provider addresses so far."""
        return self._count('leaked')

    def leaks(self) -> list[str]:
        """Where leaked packets came from."""
        return sorted('{}: {} > {}'.format(*each['concat'])
                      for name in ('leaks4', 'leaks6')
                      for item in json.loads(self._node.out(
                          'nft', '-j', 'list', 'set', 'inet', TABLE, name)
                      )['nftables'] if 'set' in item
                      for each in item['set'].get('elem', ()))

    def errors(self):
        """Number of ICMP errors that nodes themselves sent to a client.

        The kernel answers a packet for an address that has just moved, and
        sends the error from the default VRF.  Such an error is no traffic of
        a client.
        """
        return self._count('errors')

    def untranslated(self):
        """Number of packets to a client with an address of a tenant.

        For a moment after the move of a gateway, OVN on the new chassis does
        not translate packets of old connections.  The agent's rules drop these
        packets as soon as the agent knows of the router.
        """
        return self._count('untranslated')

    def _count(self, name):
        out = self._node.out('nft', '-j', 'list', 'counter', 'inet', TABLE,
                             name)
        return sum(item['counter']['packets']
                   for item in json.loads(out)['nftables']
                   if 'counter' in item)
