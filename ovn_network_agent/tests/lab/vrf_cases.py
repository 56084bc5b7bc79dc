# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The kernel with a VRF, its uplink and the veth leak.

Needs nothing of the lab but its kernel.
"""

import subprocess

from ovn_network_agent import model
from ovn_network_agent.tests.functional.engine import whole
from ovn_network_agent.tests.unit import cloud

STOPPED = model.Phase.STOPPED
VRF = 'vrf-provider'
UPLINK = (
    f'link add {VRF} type vrf table 10',
    f'link set {VRF} up',
    'link add uplink type veth peer name uplink-peer',
    f'link set uplink master {VRF}',
    'link set uplink up',
    'link set uplink-peer up',
    'address add 192.0.2.130/29 dev uplink',
    'route add default via 192.0.2.129 table 10 proto bgp metric 20')
IN_THE_VRF = (
    'route add 198.51.100.202/32 via 192.0.2.129 table 10 proto static',
    'route add 198.51.100.0/24 via 192.0.2.129 table 10 proto static '
    'metric 70',
    'neighbour add 169.254.0.1 lladdr 02:00:00:00:00:09 dev uplink '
    'nud permanent')
ALPHA = cloud.router(1, nats=(
    *(cloud.fip(a) for a in ('198.51.100.10', '198.51.100.11')),
    model.Nat('snat', '198.51.100.1', '10.0.0.0/24')))
# How what OVN sends leaves; 6 is FR_ACT_BLACKHOLE.
WAY_BACK = frozenset((
    'rule: 2000:\tfrom 198.51.100.0/24 lookup 200 proto 44',
    'rule: 2001:\tfrom 198.51.100.0/24 iif br-ex 6 proto 44',
    'rule: 2001:\tfrom all to 198.51.100.0/24 iif br-ex 6 proto 44'))


class VrfCase(whole.WholeTestCase):
    """With a VRF, its uplink, and a default route in it."""

    def setUp(self):
        super().setUp()
        for command in UPLINK:
            self.ip(command)

    def configure(self, vrf_name=VRF, **fip_route):
        return super().configure(vrf_name, **fip_route)

    def plant(self, *commands):
        """Make objects, and give their lines."""
        before = self.state()
        for command in commands:
            self.ip(command)
        return self.state() - before

    def decision(self, source, target='192.0.2.200'):
        """Where what comes out of OVN goes: a device, or '' for nowhere."""
        try:
            found = self.shown(f'route get {target} from {source} iif br-ex')
        except subprocess.CalledProcessError:
            return ''
        return found[0].get('dev', '')
