# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Words for changes outside, by which watches put backends in doubt.

A watch names no backend.  A backend, also of a third party, declares in
``doubted_by`` and ``revived_by`` which words concern it, and always listens to
its own name.
"""

# Rows of OVN Northbound that agents write.
PRIORITIES = 'nb:priorities'
STATIC_ROUTES = 'nb:static routes'
MAC_BINDINGS = 'nb:mac bindings'
BFD_TIMERS = 'nb:bfd timers'
EGRESS_NETWORKS = 'nb:egress networks'
# A chassis is gone for good, or back.
PEERINGS = 'nb:peerings'
EGRESS = 'nb:egress addresses'
CHASSIS_DELETED = 'sb:chassis gone'
# The chassis or the host name of this node is known, or is another one.
IDENTITY = 'identity'
# Interfaces of the local switch, and the settings of ports that agents make.
INTERFACES = 'ovs:interfaces'
SWITCH_PORTS = 'ovs:ports'
# Flows of the local switch, and the lines of FRR's prefix list.
FLOWS = 'ovs:flows'
PREFIX_LISTS = 'frr:prefix lists'
# VNIs of FRR, and BGP instances of VRFs.
FRR_VNIS = 'frr:vnis'
# Routes of VNIs without the neighbours of their next hops.
VNI_NEXT_HOPS = 'kernel:next hops of vnis'
# The state that was written into a daemon, and that the daemon has forgotten.
FRR_RESTARTED = 'frr:restarted'
SWITCH_RESTARTED = 'ovs:restarted'
# zebra does not have, or does not use, what was given to it.
ZEBRA_STATIC = 'zebra:static'
ZEBRA_KERNEL = 'zebra:kernel'
# bgpd has sent what was announced, or has withdrawn it.
BGP_CHANGED = 'bgp:changed'
NFTABLES = 'kernel:nftables'
EGRESS_NFT = 'kernel:nftables of egress addresses'


def kernel(kind: str) -> str:
    """The word for a change of the kernel."""
    return f'kernel:{kind}'


def connected(database: str) -> str:
    """The word for 'nb', 'sb' or 'ovs' that can be written again."""
    return f'{database}:connected'
