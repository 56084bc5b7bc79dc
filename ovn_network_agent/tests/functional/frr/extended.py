# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""FRR whose only session is numbered, over IPv6, and carries both families.

The neighbour has an IPv6 address, and gets the capability of RFC 8950 by a
line of its own.  The uplink has no address of IPv4.
"""

from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.frr import unnumbered

OURS, THEIRS = '2001:db8:5::1', '2001:db8:5::2'
CAPABILITY = f'neighbor {THEIRS} capability extended-nexthop'
_FAMILIES = ''.join(f'''
 address-family ipv{version} unicast
  redistribute static
  neighbor {THEIRS} activate
  neighbor {THEIRS} prefix-list {base.LIST} out
 exit-address-family''' for version in (4, 6))
_BGP = f'''
router bgp 65001
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor {THEIRS} remote-as 65002
 neighbor {THEIRS} timers connect 1
 {CAPABILITY}
{_FAMILIES}
'''
# Only one side connects.  After a reset both would do so at once, and FRR 8.4
# at times ends the session that is left of the two some milliseconds later.
_NEIGHBOUR = f'''
router bgp 65002
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 neighbor {OURS} remote-as 65001
 neighbor {OURS} passive
 neighbor {OURS} capability extended-nexthop
 address-family ipv6 unicast
  neighbor {OURS} activate
'''


class Extended(unnumbered.Unnumbered):
    """As :class:`unnumbered.Unnumbered`, and both sides have an address."""

    bgp = _BGP
    neighbour_bgp = _NEIGHBOUR

    def make_links(self):
        super().make_links()
        for namespace, address in ((self.namespace, OURS),
                                   (self.neighbour.namespace, THEIRS)):
            # zebra advertises the network for the capability.  A router makes
            # no address of an advertisement; without forwarding the kernel
            # would, and connections from it are of no known neighbour.
            namespace.sh(f'''
                sysctl -qw net.ipv6.conf.all.forwarding=1
                ip address add {address}/64 dev {unnumbered.UPLINK} nodad
                ''')
