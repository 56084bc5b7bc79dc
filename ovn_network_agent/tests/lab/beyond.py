# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A network on a further link of the gateways, with a host behind it.

Nothing of OVN or BGP is there.  On the last gateway, the link is in a VRF.
"""

import ipaddress
import subprocess

from lab import node as nodes

LINK, BRIDGE, NAME = 'eth2', 'beyond', 'beyond'
NETWORK = ipaddress.ip_network('172.20.0.0/24')
NETWORK6 = ipaddress.ip_network('2001:db8:20::/64')
# Of the host: on the network, and behind it.
NEAR, NEAR6 = str(NETWORK[1]), str(NETWORK6[1])
FAR, FAR6 = '172.21.0.1', '2001:db8:21::1'
VRF, _TABLE = 'vrf-beyond', 21
# As in the tenants' networks, so that no fragment is too big for a tunnel.
_MTU = 1400


class Beyond:
    """The network, from the constructor on until :meth:`close`.

    :param cloud: :class:`lab.cloud.Cloud` with IPv6
    :ivar node: the Node of the host
    """

    def __init__(self, cloud):
        self._cloud = cloud
        self.node = cloud.nodes[NAME] = nodes.Node(NAME)
        _ip(f'link add {BRIDGE} type bridge forward_delay 0',
            f'link set {BRIDGE} up',
            f'link add b-host type veth peer name eth0 netns {self.node.pid}',
            f'link set b-host master {BRIDGE} up')
        self.node.batch(f'''link set lo up
link set eth0 mtu {_MTU:d} up
addr add {NEAR}/{NETWORK.prefixlen:d} dev eth0
addr add {NEAR6}/{NETWORK6.prefixlen:d} dev eth0 nodad
addr add {FAR}/32 dev lo
addr add {FAR6}/128 dev lo nodad
''')
        for name in cloud.gateways:
            self.plug(name)

    def plug(self, name):
        """Give a gateway the link, after each boot."""
        node, number = self._cloud[name], self._cloud.gateways.index(name)
        _ip(f'link add b-{name} type veth peer name {LINK} netns {node.pid}',
            f'link set b-{name} master {BRIDGE} up')
        in_vrf = name == self._cloud.gateways[-1]
        node.sysctl(**{f'net__ipv6__conf__{LINK}__keep_addr_on_down': 1})
        node.batch((f'''link add {VRF} type vrf table {_TABLE:d}
link set {VRF} up
link set {LINK} master {VRF}
''' if in_vrf else '') + f'''link set {LINK} up
addr add {NETWORK[11 + number]}/{NETWORK.prefixlen:d} dev {LINK}
addr add {NETWORK6[11 + number]}/{NETWORK6.prefixlen:d} dev {LINK} nodad
route add {FAR}/32 via {NEAR} dev {LINK}{' vrf ' + VRF if in_vrf else ''}
route add {FAR6}/128 via {NEAR6} dev {LINK}{' vrf ' + VRF if in_vrf else ''}
''')

    @staticmethod
    def unplug(name):
        """Remove the link of a gateway before its power fails."""
        _ip(f'link del b-{name}')

    @staticmethod
    def close():
        """Remove what the end of the nodes leaves."""
        _ip(f'link del {BRIDGE}')


def _ip(*lines):
    subprocess.run(['ip', '-batch', '-'], input='\n'.join(lines) + '\n',
                   text=True, check=True)
