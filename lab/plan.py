# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Names and addresses of the cloud: one place for all of them."""

import ipaddress
import uuid

# Management network: databases, tunnels, backends.  Its gateway is the sink,
# which counts the packets that miss the provider VRF.
MANAGEMENT = ipaddress.ip_network('10.10.0.0/24')
SINK = '10.10.0.254'
HOSTS = {'central': '10.10.0.2', 'gw1': '10.10.0.11', 'gw2': '10.10.0.12',
         'gw3': '10.10.0.13', 'cmp1': '10.10.0.21', 'cmp2': '10.10.0.22',
         'backend': '10.10.0.31', 'sink': SINK}

# Fabric: one /30 between the spine and each gateway.
SPINE_AS = 65000
GATEWAY_AS = {'gw1': 65101, 'gw2': 65102, 'gw3': 65103}
UPLINKS = {'gw1': ('172.31.1.1', '172.31.1.2'),
           'gw2': ('172.31.2.1', '172.31.2.2'),
           'gw3': ('172.31.3.1', '172.31.3.2')}
CLIENT_NET = ipaddress.ip_network('203.0.113.0/24')
CLIENT = '203.0.113.10'
CLIENT_GATEWAY = '203.0.113.1'

# Many clients: the client answers for these addresses.
CROWD = ipaddress.ip_network('100.64.0.0/22')

# Provider network without a gateway; .254 is for the agent.
PROVIDER = ipaddress.ip_network('198.51.100.0/24')
PHYSICAL_NETWORK = 'physnet1'
BRIDGE = 'br-ex'

# For the tests of several segments: a second bridge, and provider networks of
# this range.
FURTHER_BRIDGE = 'br-two'
FURTHER_NETWORK = 'physnet2'
FURTHER_PROVIDERS = ipaddress.ip_network('198.19.0.0/16')
FURTHER_PROVIDER6 = ipaddress.ip_network('2001:db8:200::/64')

VRF = 'vrf-provider'
VRF_TABLE = 10
LOOPBACKS = {'gw1': '192.0.2.11', 'gw2': '192.0.2.12', 'gw3': '192.0.2.13'}

# Backends behind the gateways: the addresses of the node "backend".
BACKENDS = tuple(f'10.10.0.{n}' for n in range(31, 36))

# Anycast addresses (VIPs), outside of all provider networks.
VIPS = ipaddress.ip_network('198.18.0.0/24')
VIPS6 = ipaddress.ip_network('2001:db8:f::/64')

# The same over IPv6, for the tests of IPv6.
MANAGEMENT6 = ipaddress.ip_network('fd00:10::/64')
CLIENT_NET6 = ipaddress.ip_network('2001:db8:c::/64')
CLIENT6 = '2001:db8:c::10'
CLIENT_GATEWAY6 = '2001:db8:c::1'

# Provider network and tenants' networks of routers with IPv6.
PROVIDER6 = ipaddress.ip_network('2001:db8:100::/64')
TENANTS6 = ipaddress.ip_network('fd00:7::/48')

# All links of the machine have 1500 bytes, and geneve needs some of them.
TENANT_MTU = 1400

NB = f'tcp:{HOSTS["central"]}:6641'
SB = f'tcp:{HOSTS["central"]}:6642'

_NAMESPACE = uuid.UUID('6f8a6d9c-0a70-4ab0-8c0e-6a3ed7f0c0de')


def tenant(number, version: int):
    """Network of the machines of a router.

    :param number: a number of its own for each router, from 1
    """
    if version == 4:
        return ipaddress.ip_network(f'192.168.{number:d}.0/24')
    return ipaddress.ip_network(
        (int(TENANTS6[0]) + (number << 64), 64))


def system_id(node):
    """Chassis name of a node: a UUID, different from the host name."""
    return str(uuid.uuid5(_NAMESPACE, node))


def node_of(chassis):
    """Name of the node with a chassis name."""
    return next(name for name in HOSTS if system_id(name) == chassis)


def host6(name):
    """IPv6 address of a node on the management network, text."""
    return backend6(HOSTS[name])


def backend6(address):
    """The IPv6 address beside an IPv4 one of the management network."""
    return str(MANAGEMENT6[int(address.rpartition('.')[2])])


def uplink6(name):
    """IPv6 addresses of the spine and of a gateway on their link."""
    number = UPLINKS[name][0].split('.')[2]
    return f'fd00:31:{number}::1', f'fd00:31:{number}::2'
