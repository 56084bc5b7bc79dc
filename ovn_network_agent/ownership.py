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

"""Every mark that says "this object is ours", in one table.

An agent that has just started (after a SIGKILL, an upgrade, or on a node
where the original Go program ran) recognises its own objects by these marks
alone.  They equal the identifiers of the original, so that a node can be
swapped in place and fleets may be mixed.  Do not change one without a
migration: objects with the old mark would never be removed.
"""

import zlib

from ovn_network_agent import iptext

# Kernel routes: rtm_protocol.  Unassigned in the kernel's rt_protos; the
# original uses the same number.
ROUTE_PROTOCOL = 44
# Policy rules carry the same number in FRA_PROTOCOL (kernel >= 4.17).
RULE_PROTOCOL = 44
# Addresses and neighbours carry it in IFA_PROTO (kernel >= 5.18) and
# NDA_PROTOCOL (>= 5.0).  Older kernels ignore the attribute, and the original
# sets none: there, ours is exactly what is configured.
ADDRESS_PROTOCOL = 44
NEIGHBOUR_PROTOCOL = 44

# OVS flow cookies on the provider bridge.
COOKIE_MAC_TWEAK = 0x999
COOKIE_HAIRPIN = 0x998
COOKIE_RELAY = 0x997
FLOW_COOKIES = (COOKIE_MAC_TWEAK, COOKIE_HAIRPIN, COOKIE_RELAY)
# Hairpin must beat MAC-tweak, or the kernel loops the packet.
PRIORITY_MAC_TWEAK = 900
PRIORITY_HAIRPIN = 910
PRIORITY_RELAY = 920

# Tunnel ports between provider bridges: what their names begin with, and
# their tunnel key (VNI).  OVN numbers its logical switches and routers from 1
# up, and shares the tunnels' UDP port with us.
RELAY_PREFIX = 'ona-'
RELAY_KEY = 0xffff44

# Sequence numbers of our lines of FRR's prefix list.  Each network has a few
# of its own in this range (:func:`prefix_list_numbers`): FRR gives a line
# without a number the highest one plus 5, which may be in the range, too.
# FRR 8.4 sorts the numbers from 2^31 on before all others.
PREFIX_LIST_FIRST = 1_000_000_000
PREFIX_LIST_LAST = 1_999_999_999
_NUMBERS_OF_A_NETWORK = 8

# veth pair between the default VRF and the provider VRF.
VETH_DEFAULT = 'veth-default'
VETH_PROVIDER = 'veth-provider'
VETH_ENDS = (VETH_DEFAULT, VETH_PROVIDER)
LINK_ALIAS = 'ovn-network-agent'
# Addresses of its ends for IPv6, next to which it needs nothing else; 169.254
# in hexadecimal digits.
VETH_LINK_LOCAL = ('fe80::a9fe:1', 'fe80::a9fe:2')

# On port_forward_dev, beside the managed VIPs, and no VIP itself.
ANCHOR = '169.254.169.253/32'

# nftables table (port_forward), in the families ip and ip6; its sets that
# follow the routers; and the marks of its packets: on their way to a backend,
# and back, with the rules that look for them.
NFT_TABLE = 'ovn-network-agent'
NFT_NETWORKS = 'provider_networks'
NFT_SNAT = 'snat_addresses'
NFT_GUARDED = 'guarded'
# What else is in the table, for the agent alone and in no packet's way: the
# provider networks as they were given (the set above has no two that
# overlap), what connections are translated to, those that still have
# connections although they are no more wanted, and a chain whose rule says
# in its comment what the table was loaded from.
NFT_PREFIXES = 'provider_prefixes'
NFT_TARGETS = 'targets'
NFT_LEAVING = 'leaving_targets'
NFT_LOADED = 'loaded'
MARK_FORWARD = 0x100
MARK_REPLY = 0x200
PRIORITY_FORWARD = 150
PRIORITY_REPLY = 151

# external_ids of Logical_Router_Static_Route rows.  They must not start with
# "neutron": Neutron's database sync deletes rows that carry such keys.
EXT_ID_MANAGED = 'ovn-network-agent'
EXT_ID_MANAGED_VALUE = 'managed'
EXT_ID_CHASSIS = 'ovn-network-agent-chassis'
EXT_ID_ADVERTISED = 'ovn-network-agent-advertised'

# external_ids of our rows of Gateway_Chassis and HA_Chassis: why an agent has
# lowered the priority to 0, and what it was before.
EXT_ID_DRAINED = 'ovn-network-agent-drained'
EXT_ID_EARLIER = 'ovn-network-agent-priority'

# external_ids of the local Open_vSwitch row: what an operator wants to be
# drained, 'all' or UUIDs of routers, separated by commas.
EXT_ID_DRAIN = 'ovn-network-agent-drain'

# external_ids of the local Open_vSwitch row while an overlap lasts: addresses
# of the tunnels of those who take over, and the value that the key
# ovn-remote-<chassis> has from us, where it has one.
EXT_ID_OVERLAP = 'ovn-network-agent-overlap'
EXT_ID_OVERLAP_REMOTE = 'ovn-network-agent-overlap-remote'


def is_managed(external_ids):
    """Whether an NB row carries our mark.

    :param external_ids: mapping of str to str, the column of the row
    :returns: True when some agent (of any node) wrote the row
    """
    return external_ids.get(EXT_ID_MANAGED) == EXT_ID_MANAGED_VALUE


def relay_name(address):
    """Name of the relay towards the tunnels' address of another chassis.

    :param address: IP address, text
    :returns: name of a port, at most 15 characters (IFNAMSIZ)
    """
    ip = iptext.address(address)
    digits = (ip.packed.hex() if ip.version == 4 else
              '%08x' % zlib.crc32(ip.packed))
    return RELAY_PREFIX + digits


def prefix_list_numbers(network):
    """The sequence numbers that our line for a network may have.

    :param network: '198.51.100.0/24', text
    :returns: list of int, the one to be preferred first
    """
    size = PREFIX_LIST_LAST - PREFIX_LIST_FIRST + 1
    begin = zlib.crc32(network.encode())
    return [PREFIX_LIST_FIRST + (begin + step) % size
            for step in range(_NUMBERS_OF_A_NETWORK)]
