# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The programs of the node, and the fabric behind it."""

from ovn_network_agent.tests.functional.frr import base as frr
from ovn_network_agent.tests.functional.migrate import places
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovn import cloud

_PATCHES = ('patch-provnet-1', 'patch-br-int')


class Switch(openflow.OpenVSwitch):
    """An Open vSwitch in the network namespace of the node."""

    def __init__(self, namespace):
        self._namespace = namespace
        super().__init__()
        self.vsctl('set', 'bridge', places.BRIDGE,
                   f'other-config:hwaddr="{places.BRIDGE_MAC}"', '--',
                   'add-br', 'br-int', '--', 'set', 'bridge', 'br-int',
                   'datapath_type=netdev')
        for bridge, name, peer in ((places.BRIDGE, *_PATCHES),
                                   ('br-int', *_PATCHES[::-1])):
            self.vsctl('add-port', bridge, name, '--', 'set', 'interface',
                       name, 'type=patch', 'options:peer=' + peer, '--',
                       'set', 'port', name,
                       'external_ids:ovn-localnet-port=provnet-1')
        self.vsctl('set', 'Open_vSwitch', '.',
                   'external_ids:system-id=' + cloud.CHASSIS,
                   'external_ids:hostname=' + places.HOSTNAME,
                   'external_ids:ovn-bridge-mappings=physnet1:' +
                   places.BRIDGE)

    def inside(self, *argv):
        return self._namespace.inside(*argv)

    def patch(self):
        """OpenFlow number of the patch port on the provider bridge."""
        return int(self.vsctl('get', 'interface', _PATCHES[0], 'ofport'))

    def marked(self):
        """Flows with the cookies of an agent, a set."""
        return {flow for flow in self.flows() if 'cookie=0x99' in flow}


class Host(frr.Frr):
    """The node: FRR, Open vSwitch, a device for VIPs; the fabric behind it.

    :param vrf: name of the VRF of the uplink, '' for none
    """

    def __init__(self, vrf=''):
        self.vrf = vrf
        self.bgp = frr.bgp(vrf, 'redistribute connected')
        self.switch = None
        super().__init__()

    def make_links(self):
        self.switch = Switch(self.namespace)
        device = 'type dummy' if self.vrf else ('type veth peer name '
                                                'loopback1-peer')
        self.namespace.sh(f'''
            sysctl -qw net.ipv6.conf.default.addr_gen_mode=1
            sysctl -qw net.ipv4.ip_forward=1
            ip link set lo up
            ip link add uplink type veth peer name uplink netns \
                {self.neighbour.namespace.pid}
            ip link add loopback1 {device}
            ip link set loopback1 up
            ''')
        if self.vrf:
            self.namespace.sh(f'''
                ip link add {self.vrf} type vrf table 10
                ip link set {self.vrf} up
                ip link set uplink master {self.vrf}
                ip link set loopback1 master {self.vrf}
                ''')
        else:
            self.ip('link', 'set', 'loopback1-peer', 'up')
        self.ip('address', 'add', places.NODE + '/24', 'dev', 'uplink')
        self.ip('link', 'set', 'uplink', 'up')
        if self.vrf:
            self.ip('route', 'add', 'default', 'via', places.CLIENT, 'vrf',
                    self.vrf)
        self.neighbour.namespace.sh(f'''
            ip link set lo up
            ip address add {places.CLIENT}/24 dev uplink
            ip link set uplink up
            ip route add {places.NETWORK} via {places.NODE}
            ip route add {places.FORWARD.vip} via {places.NODE}
            ''')

    def stop(self):
        if self.switch:
            self.switch.stop()
        super().stop()
