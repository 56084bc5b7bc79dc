# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR whose session is BGP unnumbered: over link-local addresses of IPv6.

Both sides name the neighbour by its device, and routes of both families have
next hops of IPv6 (RFC 8950).  The uplink has no address of IPv4.
"""

import json

from ovn_network_agent.tests.functional.frr import base

UPLINK = 'uplink'
_FAMILIES = ''.join(f'''
 address-family ipv{{version}} unicast
  redistribute static
  neighbor {UPLINK} activate
  neighbor {UPLINK} prefix-list {base.LIST} out
 exit-address-family'''.format(version=version) for version in (4, 6))
_BGP = f'''
router bgp 65001
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor {UPLINK} interface remote-as external
 neighbor {UPLINK} timers connect 1
{_FAMILIES}
'''
_NEIGHBOUR = f'''
router bgp 65002
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 neighbor {UPLINK} interface remote-as external
 neighbor {UPLINK} timers connect 1
 address-family ipv6 unicast
  neighbor {UPLINK} activate
'''


class Unnumbered(base.Frr):
    """As :class:`base.Frr`; the neighbour has a zebra, too.

    :cvar neighbour_bgp: configuration of the neighbour's bgpd
    """

    bgp = _BGP
    neighbour_bgp = _NEIGHBOUR

    def make_links(self):
        """The bridge, and the uplink to the neighbour."""
        for command in (
                f'link add {base.BRIDGE} type bridge',
                f'address add 192.0.2.1/24 dev {base.BRIDGE}',
                f'link set {base.BRIDGE} up',
                'link add uplink type veth peer name uplink netns '
                f'{self.neighbour.namespace.pid}', 'link set uplink up'):
            self.ip(*command.split())
        self.neighbour.ip('link', 'set', 'uplink', 'up')

    def start_neighbour(self):
        """Its zebra tells bgpd of the device, and sends advertisements."""
        if base.holder() == 'mgmtd':
            self.neighbour.start('mgmtd')
        self.neighbour.start('zebra')
        self.neighbour.start('bgpd', config=self.neighbour_bgp)

    def learned6(self):
        """What the neighbour has learned of IPv6, a set of prefixes."""
        shown = json.loads(self.neighbour.ask(
            'bgpd', 'show bgp ipv6 unicast json') or '{}')
        return set(shown.get('routes', ()))
