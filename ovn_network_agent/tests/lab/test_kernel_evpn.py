# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The devices of VNIs in a real kernel with VRFs.

Needs nothing of the lab but its kernel, and Open vSwitch.
"""

import dataclasses
import errno
import socket

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import vni_devices
from ovn_network_agent.privileged.network import vni_links
from ovn_network_agent.tests.functional.netlink import base

VNI, TABLE = 1001, 10_001_001
VRF, BRIDGE, VXLAN = 'vrf-1001', 'br-1001', 'vxlan-1001'
LOCAL = '192.0.2.11'
DEVICES = resources.VniDevices(VNI, TABLE, '06:6f:00:00:00:01', LOCAL, 4789,
                               1450)
# What somebody may do to the devices, and how it is undone alone.
DAMAGES = (
    f'link set {VRF} down', f'link set {BRIDGE} down',
    f'link set {VXLAN} down', f'link set {BRIDGE} nomaster',
    f'link set {VXLAN} nomaster',
    f'link set {BRIDGE} address 06:6f:00:00:00:02',
    f'link set {BRIDGE} addrgenmode eui64',
    f'link set {VXLAN} addrgenmode eui64', f'link set {VXLAN} mtu 1500',
    f'link set {VXLAN} type bridge_slave neigh_suppress off',
    f'link set {VXLAN} type bridge_slave learning on',
    f'link delete {VXLAN}', f'link delete {BRIDGE}', f'link delete {VRF}')


class EvpnCase(base.KernelTestCase):
    """With the address of the tunnels.

    :ivar options: those of the group evpn
    """

    def setUp(self):
        self.options = {'local_ip': LOCAL}
        super().setUp()
        self.ip(f'address add {LOCAL}/24 dev lo')
        self.before = self.names()

    def configure(self, vrf_name='', **fip_route):
        conf = super().configure(vrf_name, **fip_route)
        conf.set_override('drivers', ['evpn'])
        for name, value in self.options.items():
            conf.set_override(name, value, 'evpn')
        self.fix_limits(conf)
        return conf

    def names(self):
        """Names of the devices, without the numbers of their peers."""
        return {link['ifname'] for link in self.shown('link show')}

    def link(self, name):
        """What ip(8) shows of a device."""
        found, = self.shown(f'-d link show {name}')
        return found


class VniDevicesTest(EvpnCase):

    def setUp(self):
        super().setUp()
        self.backend = vni_devices.VniDevicesBackend(self.conf)

    def read(self):
        return self.backend.read(frozenset())

    def refused(self, wanted=DEVICES):
        """The reason why they are not made."""
        failed = self.backend.apply(backends.Delta(create=(wanted,)))
        self.assertEqual([wanted.ref], list(failed))
        return failed[wanted.ref]

    def test_they_are_made_and_deleted(self):
        self.assertEqual([], self.read())
        self.assertEqual([DEVICES], self.create(self.backend, DEVICES))
        self.assertEqual({VRF, BRIDGE, VXLAN}, self.names() - self.before)
        vrf, bridge, vxlan = map(self.link, (VRF, BRIDGE, VXLAN))
        self.assertEqual(TABLE, vrf['linkinfo']['info_data']['table'])
        for each in (vrf, bridge, vxlan):
            self.assertEqual(ownership.LINK_ALIAS, each['ifalias'])
            self.assertIn('UP', each['flags'])
        self.assertEqual((VRF, BRIDGE), (bridge['master'], vxlan['master']))
        for each in (bridge, vxlan):
            self.assertEqual('none', each['inet6_addr_gen_mode'])
        tunnel = vxlan['linkinfo']['info_data']
        self.assertEqual(
            (VNI, LOCAL, 4789, False, 1450),
            (tunnel['id'], tunnel['local'], tunnel['port'],
             tunnel['learning'], vxlan['mtu']))
        port = vxlan['linkinfo']['info_slave_data']
        self.assertEqual((True, False),
                         (port['neigh_suppress'], port['learning']))
        # Neither again nor by a second agent is anything changed.
        seen = [self.link(name)['ifindex'] for name in (VRF, BRIDGE, VXLAN)]
        self.create(self.backend, DEVICES)
        self.assertEqual(seen, [self.link(name)['ifindex']
                                for name in (VRF, BRIDGE, VXLAN)])
        self.assertEqual([], self.change(self.backend, delete=(DEVICES,)))
        self.assertEqual(self.before, self.names())
        self.assertEqual([], self.change(self.backend, delete=(DEVICES,)))

    def test_each_damage_is_seen_and_repaired(self):
        self.create(self.backend, DEVICES)
        for damage in DAMAGES:
            with self.subTest(damage):
                self.ip(damage)
                found, = self.read()
                self.assertEqual(DEVICES.ref, found.ref)
                self.assertNotEqual(DEVICES, found)
                self.assertEqual([DEVICES], self.change(
                    self.backend, update=((found, DEVICES),)))
        self.ip(f'link delete {VXLAN}')
        self.ip(f'link add {VXLAN} type vxlan id 7 local {LOCAL} dstport 1')
        self.ip(f'link set {VXLAN} alias {ownership.LINK_ALIAS}')
        self.assertNotEqual([DEVICES], self.read())
        self.assertEqual([DEVICES], self.create(self.backend, DEVICES))

    def test_other_values_replace_them(self):
        self.ip('link add vrf-provider type vrf table 10')
        self.ip('link set vrf-provider up')
        self.configure('vrf-provider')
        self.create(self.backend, DEVICES)
        old = DEVICES
        for option, given, field, value in (
                ('udp_dstport', 4790, 'port', 4790),
                ('local_ip', '192.0.2.12', 'local', '192.0.2.12'),
                ('underlay_mtu', 9000, 'mtu', 8950),
                ('', '', 'mac', '06:6f:00:00:00:03'),
                ('', '', 'underlay', 'vrf-provider'),
                ('table_base', 20_000_000, 'table', 20_001_001)):
            new = dataclasses.replace(old, **{field: value})
            if option:
                self.options[option] = given
            self.configure('vrf-provider')
            with self.subTest(field):
                self.assertEqual([new], self.change(
                    self.backend, update=((old, new),)))
                self.assertEqual({VRF, BRIDGE, VXLAN, 'vrf-provider'},
                                 self.names() - self.before)
            old = new

    def test_the_address_of_a_device(self):
        """The privileged side has the tunnels come from no other one."""
        self.options = {'local_device': 'lo'}
        self.configure()
        self.create(self.backend, DEVICES)
        self.assertIn("tunnel of '192.0.2.12'", self.refused(
            dataclasses.replace(DEVICES, local='192.0.2.12')))
        self.assertEqual([DEVICES], self.read())

    def test_a_bridge_that_comes_back_was_down(self):
        """Then FRR writes its neighbours again."""
        self.create(self.backend, DEVICES)
        self.ip(f'link set {BRIDGE} nomaster')
        self.ip(f'link set {BRIDGE} master {VRF}')
        self.ip(f'link set {BRIDGE} addrgenmode eui64')
        self.ip(f'route add 198.51.100.0/24 dev {BRIDGE} table {TABLE}')
        found, = self.read()
        self.change(self.backend, update=((found, DEVICES),))
        self.assertNotIn('198.51.100.0/24', self.routes(TABLE))

    def test_the_daemon_does_not_wait_for_a_bridge(self):
        """It leaves the bridge down, and a later call brings it up."""
        self.create(self.backend, DEVICES)
        self.ip(f'link set {BRIDGE} nomaster')
        item = [VNI, TABLE, DEVICES.mac, LOCAL, 4789, 1450, '']
        (index, number, text), = vni_links.set_devices([item])
        self.assertEqual((0, errno.EAGAIN), (index, number))
        self.assertIn(f'{BRIDGE} is down', text)
        found = self.link(BRIDGE)
        self.assertEqual((VRF, False), (found['master'],
                                        'UP' in found['flags']))
        (_index, number, _text), = vni_links.set_devices([item])
        self.assertEqual(errno.EAGAIN, number)
        self.assertEqual([], vni_links.set_devices([item], True))
        self.assertEqual([DEVICES], self.read())

    def test_a_bridge_without_neighbours_goes_down_and_up(self):
        """When that lasts; and not again soon, if it does not help."""
        now = [1000.0]
        self.backend._next_hops = vni_devices.NextHops(clock=lambda: now[0])
        self.create(self.backend, DEVICES)
        self.ip('route add 198.51.100.0/24 via 192.0.2.12 dev br-1001 onlink '
                f'proto bgp table {TABLE}')
        now[0] += 2
        self.assertEqual([DEVICES], self.read())
        now[0] += vni_devices.LASTING
        found, = self.read()
        self.assertEqual((DEVICES.ref, 0), (found.ref, found.mtu))
        self.assertEqual([DEVICES], self.change(
            self.backend, update=((found, DEVICES),)))
        # The kernel took the routes of a bridge that was down.
        self.assertNotIn('198.51.100.0/24', self.routes(TABLE))
        self.ip('route add 198.51.100.0/24 via 192.0.2.12 dev br-1001 onlink '
                f'proto bgp table {TABLE}')
        for seconds, mtu in (2, 1450), (vni_devices.LASTING, 1450), (60, 0):
            now[0] += seconds
            self.assertEqual([mtu], [each.mtu for each in self.read()])

    def test_devices_of_others_stay_and_are_named(self):
        for name, theirs in ((VRF, 'dummy'), (BRIDGE, 'bridge'),
                             (VXLAN, f'vxlan id 1001 local {LOCAL} '
                                     'dstport 4789')):
            self.ip(f'link add {name} type {theirs}')
            before = self.ip('-d link show')
            with self.subTest(name):
                self.assertIn(f'a device {name} exists which is not ours',
                              self.refused())
                self.assertEqual([], self.read())
                self.change(self.backend, delete=(DEVICES,))
                self.assertEqual(before, self.ip('-d link show'))
            self.ip(f'link delete {name}')

    def test_a_device_of_others_beside_ours(self):
        self.create(self.backend, DEVICES)
        self.ip(f'link set {VXLAN} alias theirs')
        found, = self.read()
        self.assertEqual(0, found.mtu)
        self.assertIn(VXLAN, self.refused())
        self.assertEqual([], self.change(self.backend, delete=(DEVICES,)))
        self.assertEqual({VXLAN}, self.names() - self.before)

    def test_a_table_of_another_vrf(self):
        self.ip(f'link add theirs type vrf table {TABLE}')
        reason = self.refused()
        self.assertIn('that of VRF theirs', reason)
        self.assertIn('table_base', reason)
        self.assertNotIn(VRF, self.names())

    def test_a_port_that_is_in_use(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(('', 4789))
            reason = self.refused()
        self.assertIn('udp_dstport', reason)
        self.assertIn('EADDRINUSE', reason)
        found, = self.read()
        self.assertEqual(0, found.mtu)
        self.assertEqual([DEVICES], self.create(self.backend, DEVICES))

    def test_many(self):
        """They do not disturb each other, in one call."""
        many = [dataclasses.replace(DEVICES, vni=vni, table=10_000_000 + vni)
                for vni in (1, 77, 1001, 16_777_215)]
        self.assertCountEqual(many, self.create(self.backend, *many))
        self.ip('link delete vxlan-77')
        self.ip('link delete vrf-1')
        self.assertCountEqual(many[2:], [
            each for each in self.read() if each.mtu])
        self.assertCountEqual(many, self.create(self.backend, *many))
        self.assertEqual([], self.change(self.backend, delete=tuple(many)))
        self.assertEqual(self.before, self.names())
