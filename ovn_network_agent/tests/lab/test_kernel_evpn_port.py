# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The veth pairs of VNIs, and what is on them, in a real kernel with VRFs.

Needs nothing of the lab but its kernel, and an Open vSwitch of its own.
"""

import dataclasses
import socket

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import switch_ports
from ovn_network_agent.backends.kernel import address
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.backends.kernel import neighbour
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.backends.kernel import rule
from ovn_network_agent.backends.kernel import vni_devices
from ovn_network_agent.model import evpn_names
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.openflow import base as openflow
from ovn_network_agent.tests.functional.ovs import base as ovs
from ovn_network_agent.tests.lab import test_kernel_evpn as kernel
from ovn_network_agent.tests.unit import world as worlds

VRF, TABLE = kernel.VRF, kernel.TABLE
NAME = evpn_names.vrf_end('01234567-89ab-4cde-8f01-234567890123')
PEER = evpn_names.bridge_end(NAME)
MAC = evpn_names.anycast_mac(kernel.VNI, 201)
PORT = resources.VniPort(NAME, kernel.VNI, MAC, openflow.BRIDGE, 201)
MACHINE = 'fa:16:3e:00:00:50'


class OpenVSwitch(openflow.OpenVSwitch):
    """In the network namespace of the thread that starts it.

    :param datapath: 'system' for that of the kernel, or 'netdev'
    """

    def __init__(self, datapath):
        super().__init__()
        self.vsctl('set', 'bridge', openflow.BRIDGE,
                   f'datapath_type={datapath}')

    def inside(self, *argv):
        return [word for word in argv if word != '--disable-system']


class PortCase(kernel.EvpnCase):
    """With an Open vSwitch that has the provider bridge, and the devices."""

    datapath = 'system'

    def setUp(self):
        super().setUp()
        self.ip('link delete br-ex')
        self.ovs = OpenVSwitch(self.datapath)
        self.addCleanup(self.ovs.stop)
        self.local = ovs.LocalDatabase(self.ovs.remote)
        self.addCleanup(self.local.stop)
        waiting.eventually(lambda: self.local.has_bridge(openflow.BRIDGE),
                           'replicated')
        waiting.eventually(lambda: openflow.BRIDGE in self.names(), 'made')
        self.create(vni_devices.VniDevicesBackend(self.conf), kernel.DEVICES)
        self.before = self.names()
        self.backend = switch_ports.VniPortBackend(self.conf)
        self.backend.attach(backends.Context({'ovs': self.local.database}))

    def read(self):
        return self.backend.read(frozenset())

    def assert_passes(self):
        """What the VRF sends is seen by the bridge."""
        self.ovs.appctl('fdb/flush', openflow.BRIDGE)

        def learned():
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sending:
                sending.bind((NAME, 0))
                sending.send(bytes.fromhex('ffffffffffff' + MAC.replace(
                    ':', '')) + b'\x08\x00' + bytes(50))
            return MAC in self.ovs.appctl('fdb/show', openflow.BRIDGE)
        waiting.eventually(learned, 'a packet passes')

    def eventually_read(self, wanted):
        """The replica follows the database, and that ovs-vswitchd."""
        waiting.eventually(lambda: self.read() == wanted, wanted)


class VniPortTest(PortCase):

    def in_ovs(self, column):
        return self.ovs.vsctl('--if-exists', 'get', 'port', PEER,
                              column).strip()

    def refused(self, wanted=PORT):
        failed = self.backend.apply(backends.Delta(create=(wanted,)))
        self.assertEqual([wanted.ref], list(failed))
        return failed[wanted.ref]

    def test_it_is_made_and_deleted(self):
        self.assertEqual([], self.read())
        self.assertEqual([PORT], self.create(self.backend, PORT))
        end, peer = self.link(NAME), self.link(PEER)
        self.assertEqual((VRF, MAC, 'none'), (
            end['master'], end['address'], end['inet6_addr_gen_mode']))
        for each in (end, peer):
            self.assertIn('UP', each['flags'])
            self.assertEqual(ownership.LINK_ALIAS, each['ifalias'])
        self.assertEqual('201', self.in_ovs('tag'))
        self.assertIn(PEER, self.ovs.ofctl('show', openflow.BRIDGE))
        index = end['ifindex']
        self.create(self.backend, PORT)
        self.assertEqual(index, self.link(NAME)['ifindex'])
        self.assertEqual([], self.change(self.backend, delete=(PORT,)))
        self.assertEqual(self.before, self.names())
        self.assertEqual('', self.in_ovs('tag'))
        self.assertEqual([], self.change(self.backend, delete=(PORT,)))

    def test_it_has_the_mtu_of_the_bridge(self):
        """Open vSwitch gives the bridge the least MTU of its ports."""
        self.ovs.vsctl('set', 'interface', openflow.BRIDGE,
                       'mtu_request=9000')
        waiting.eventually(
            lambda: self.link(openflow.BRIDGE)['mtu'] == 9000, 'the MTU')
        self.create(self.backend, PORT)
        self.assertEqual([9000] * 3, [self.link(name)['mtu'] for name in (
            NAME, PEER, openflow.BRIDGE)])

    def test_each_damage_is_seen_and_repaired(self):
        self.create(self.backend, PORT)
        for damage in (f'link set {NAME} down', f'link set {PEER} down',
                       f'link set {NAME} nomaster',
                       f'link set {NAME} address 02:00:00:00:00:99',
                       f'link set {NAME} addrgenmode eui64',
                       f'link delete {NAME}'):
            with self.subTest(damage):
                self.ip(damage)
                self.repair()
        for damage in (('del-port', PEER), ('set', 'port', PEER, 'tag=5'),
                       ('clear', 'port', PEER, 'tag'),
                       ('set', 'port', PEER, 'vlan_mode=trunk'),
                       ('set', 'port', PEER, 'trunks=1,2'),
                       ('clear', 'interface', PEER, 'external_ids')):
            with self.subTest(damage):
                self.ovs.vsctl(*damage)
                self.repair()

    def repair(self):
        """Wait until the damage is seen, repair it, and read it back."""
        found, = waiting.eventually(
            lambda: [r for r in self.read() if r != PORT], 'is seen')
        self.assertEqual(PORT.ref, found.ref)
        self.assertEqual({}, self.backend.apply(backends.Delta(
            update=((found, PORT),))))
        self.eventually_read([PORT])
        self.assert_passes()

    def test_a_change_of_others_is_noticed(self):
        self.create(self.backend, PORT)
        for change in (('set', 'port', PEER, 'tag=5'),
                       ('set', 'port', PEER, 'vlan_mode=trunk'),
                       ('del-port', PEER)):
            while self.local.trigger.wait(0.2):
                pass
            self.ovs.vsctl(*change)
            waiting.eventually(lambda: 'vni_port' in worlds.doubted(
                self.local.trigger.wait(0.1)), change)

    def test_a_flat_segment(self):
        flat = dataclasses.replace(PORT, tag=0)
        self.assertEqual([flat], self.create(self.backend, flat))
        self.assertEqual('0', self.in_ovs('tag'))

    def test_another_tag_and_another_bridge(self):
        self.ovs.vsctl('add-br', 'br-two', '--', 'set', 'bridge', 'br-two',
                       'datapath_type=netdev')
        waiting.eventually(lambda: self.local.has_bridge('br-two'), 'there')
        self.create(self.backend, PORT)
        conf = self.configure()
        conf.set_override('further_bridges', ['br-two'])
        self.fix_limits(conf)
        old = PORT
        for changed in ({'tag': 7}, {'bridge': 'br-two'},
                        {'bridge': openflow.BRIDGE, 'tag': 0}):
            new = dataclasses.replace(old, **changed)
            with self.subTest(changed):
                self.assertEqual([new], self.change(
                    self.backend, update=((old, new),)))
                self.assertIn(PEER, self.ovs.ofctl('show', new.bridge))
            old = new

    def test_another_vni(self):
        self.create(self.backend, PORT)
        devices = dataclasses.replace(kernel.DEVICES, vni=1002,
                                      table=TABLE + 1)
        self.create(vni_devices.VniDevicesBackend(self.conf), devices)
        moved = dataclasses.replace(PORT, vni=1002)
        self.assertEqual([moved], self.change(
            self.backend, update=((PORT, moved),)))
        self.assertEqual('vrf-1002', self.link(NAME)['master'])

    def test_its_vrf_goes_first(self):
        """No packet of a machine finds the main table meanwhile."""
        self.create(self.backend, PORT)
        devices = vni_devices.VniDevicesBackend(self.conf)
        self.change(devices, delete=(kernel.DEVICES,))
        self.assertNotIn('UP', self.link(NAME)['flags'])
        self.create(devices, kernel.DEVICES)
        self.repair()

    def test_without_its_vrf(self):
        self.assertIn('VRF vrf-1002', self.refused(
            dataclasses.replace(PORT, vni=1002)))
        self.assertEqual(self.before, self.names())
        self.assertEqual('', self.in_ovs('tag'))

    def test_devices_of_others_stay_and_are_named(self):
        for name in (NAME, PEER):
            self.ip(f'link add {name} type dummy')
            before = self.link(name)
            with self.subTest(name):
                self.assertIn(f'a device {name} exists which is not ours',
                              self.refused())
                self.assertEqual([], self.read())
                self.change(self.backend, delete=(PORT,))
                self.assertEqual(before, self.link(name))
                self.assertEqual({name}, self.names() - self.before)
            self.ip(f'link delete {name}')

    def test_a_port_of_others_stays_and_is_named(self):
        self.ovs.vsctl('add-port', openflow.BRIDGE, PEER, '--', 'set',
                       'interface', PEER, 'type=internal')
        waiting.eventually(lambda: PEER in self.names(), 'made')
        before = self.ovs.vsctl('list', 'port', PEER)
        self.assertIn(PEER, self.refused())
        self.assertEqual([], self.change(self.backend, delete=(PORT,)))
        self.assertEqual(before, self.ovs.vsctl('list', 'port', PEER))

    def test_the_rest_of_one_is_found_and_goes(self):
        """After a crash between the two halves, or by somebody else."""
        self.create(self.backend, PORT)
        self.ovs.vsctl('del-port', PEER)
        self.eventually_read([dataclasses.replace(PORT, bridge='', tag=0)])
        self.assertEqual([], self.change(self.backend, delete=self.read()))
        self.assertEqual(self.before, self.names())
        self.create(self.backend, PORT)
        self.ip(f'link delete {NAME}')
        self.assertEqual([''], [r.mac for r in self.read()])
        self.assertEqual([], self.change(self.backend, delete=self.read()))
        self.assertEqual('', self.in_ovs('tag'))


class UserSpaceTest(PortCase):
    """With Open vSwitch in user space."""

    datapath = 'netdev'

    def test_packets_pass(self):
        self.assertEqual([PORT], self.create(self.backend, PORT))
        self.assert_passes()
        self.assertEqual([], self.change(self.backend, delete=(PORT,)))
        self.assertEqual(self.before, self.names())


ON_IT = {
    link.SysctlBackend: [
        resources.Sysctl(path, value) for path, value in (
            (f'net/ipv4/conf/{NAME}/forwarding', '1'),
            (f'net/ipv4/conf/{NAME}/proxy_arp', '1'),
            (f'net/ipv4/neigh/{NAME}/proxy_delay', '0'),
            (f'net/ipv6/conf/{NAME}/proxy_ndp', '1'),
            (f'net/ipv4/conf/{kernel.BRIDGE}/forwarding', '1'))],
    address.AddressBackend: [
        resources.Address(NAME, text) for text in (
            '192.168.50.1/32', '169.254.169.254/32',
            f'{ownership.SEGMENT_LINK_LOCAL}/64')],
    neighbour.NeighbourBackend: [
        resources.Neighbour(NAME, text, '', MACHINE) for text in (
            '192.168.50.10', '2001:db8:50::10')],
    neighbour.NeighbourProxyBackend: [
        resources.NeighbourProxy(NAME, '2001:db8:50::1')],
    rule.RuleBackend: [
        resources.VniRule(ownership.EVPN_RULE_PRIORITY, resources.BLACKHOLE,
                          iif=dev, ipv6=ipv6)
        for dev in (NAME, kernel.BRIDGE, VRF) for ipv6 in (None, True)],
    route.RouteBackend: [
        *(resources.KernelRoute(TABLE, anchor, VRF)
          for anchor in evpn_names.anchors(kernel.LOCAL)),
        *(resources.VniRoute(TABLE, text, NAME, via, vni=kernel.VNI)
          for text, via in (
              ('192.168.50.10/32', None), ('2001:db8:50::10/128', None),
              ('10.7.0.0/16', '192.168.50.254')))]}


class OnItTest(PortCase):
    """The existing backends, with the tables and devices of a VNI."""

    def setUp(self):
        super().setUp()
        self.create(self.backend, PORT)
        self.others = {made(self.conf): wanted
                       for made, wanted in ON_IT.items()}
        self.known = frozenset(r.ref for wanted in ON_IT.values()
                               for r in wanted)

    def differing(self):
        """The names of the backends that find something else."""
        return [backend.name for backend, wanted in self.others.items()
                if set(backend.read(self.known)) != set(wanted)]

    def make_all(self):
        for backend, wanted in self.others.items():
            self.assertEqual({}, backend.apply(backends.Delta(
                create=tuple(wanted))), backend.name)
        self.assertEqual([], self.differing())

    def test_all_is_made_and_deleted(self):
        before = [self.ip(f'{family} {what}') for family in ('-4', '-6')
                  for what in ('rule show', f'route show vrf {VRF}',
                               'neighbour show nud permanent',
                               f'address show dev {NAME}')]
        self.make_all()
        self.make_all()
        for backend, wanted in reversed(self.others.items()):
            if backend.name != 'sysctl':
                self.assertEqual({}, backend.apply(backends.Delta(
                    delete=tuple(wanted))), backend.name)
        self.assertEqual(before, [
            self.ip(f'{family} {what}') for family in ('-4', '-6')
            for what in ('rule show', f'route show vrf {VRF}',
                         'neighbour show nud permanent',
                         f'address show dev {NAME}')])

    def test_no_address_outside_of_the_vrf(self):
        """It would be one of the node itself, also on a device that is down.
        """
        self.change(vni_devices.VniDevicesBackend(self.conf),
                    delete=(kernel.DEVICES,))
        backend, wanted = next(
            each for each in self.others.items() if each[0].name == 'address')
        failures = backend.apply(backends.Delta(create=tuple(wanted)))
        self.assertEqual({each.ref for each in wanted}, failures.keys())
        self.assertIn('not in the VRF of a VNI', failures[wanted[0].ref])
        self.assertNotIn('192.168.50.1',
                         self.ip('route show table local'))

    def test_an_agent_that_has_just_started_knows_their_kinds(self):
        """Nothing is wanted yet; an anchor must not go as another kind."""
        self.make_all()
        for made in (route.RouteBackend, rule.RuleBackend):
            self.assertCountEqual(ON_IT[made],
                                  made(self.conf).read(frozenset()))

    def test_what_the_kernel_drops_is_in_doubt_and_repaired(self):
        """A device that was down has neither routes nor neighbours."""
        self.make_all()
        for damage, repair, invalid in (
                (f'link set {NAME} down', PORT, self.backend),
                (f'link delete {NAME}', PORT, self.backend)):
            self.ip(damage)
            found, = waiting.eventually(
                lambda: [r for r in self.read() if r != PORT], damage)
            self.assertEqual({}, invalid.apply(backends.Delta(
                update=((found, repair),))))
            lost = self.differing()
            self.assertLessEqual({'neighbour', 'route'}, set(lost))
            # The engine reads these again, by what the backend says.
            self.assertLessEqual(set(lost), set(self.backend.invalidates))
            self.make_all()

    def test_a_route_through_a_device_of_another_vni(self):
        """Of two tenants, none may get the packets of the other."""
        devices = dataclasses.replace(kernel.DEVICES, vni=1002,
                                      table=TABLE + 1)
        self.create(vni_devices.VniDevicesBackend(self.conf), devices)
        backend = route.RouteBackend(self.conf)
        for wanted in (
                resources.VniRoute(TABLE + 1, '192.168.50.10/32', NAME,
                                   vni=1002),
                resources.VniRoute(TABLE + 1, '192.168.50.10/32', VRF,
                                   vni=1002)):
            failed = backend.apply(backends.Delta(create=(wanted,)))
            self.assertIn('EPERM', failed[wanted.ref])
        self.assertEqual({}, self.routes(TABLE + 1))

    def test_the_last_address(self):
        """It takes the routes of IPv4 with it, which are read again."""
        self.make_all()
        backend = next(b for b in self.others if b.name == 'address')
        four = [r for r in ON_IT[address.AddressBackend]
                if ':' not in r.address]
        self.assertEqual({}, backend.apply(backends.Delta(
            delete=tuple(four))))
        self.assertLessEqual(set(self.differing()),
                             {'address', *backend.invalidates})
        self.make_all()
