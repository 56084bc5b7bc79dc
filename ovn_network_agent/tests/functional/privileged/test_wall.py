# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The wall, looked at by somebody who owns the agent's process.

Each entry point is called with what the agent would never ask for and the
configuration does not name.  It has to be refused, and the kernel has to be
as before.  An entry point that nobody attacks here fails the test.
"""

import errno
import os
import stat

import fixtures
from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.nft import elements
from ovn_network_agent.privileged.switch import openflow
from ovn_network_agent.tests import entry_points
from ovn_network_agent.tests.functional.engine import whole
from ovn_network_agent.tests.functional.privileged import attacks
from ovn_network_agent.tests.unit.nft import places

VIP_DEVICE, MAC, DEVICE = attacks.VIP_DEVICE, attacks.MAC, attacks.DEVICE
HOST, HARMLESS, ITEMS = attacks.HOST, attacks.HARMLESS, attacks.ITEMS
SILENT, TABLE, CALLS = attacks.SILENT, attacks.TABLE, attacks.CALLS
ZONE = attacks.ZONE


class WallTest(whole.WholeTestCase):

    rules_file = ''

    def setUp(self):
        super().setUp()
        for context in privileged.CONTEXTS:
            context.set_client_mode(False)
            self.addCleanup(context.set_client_mode, True)
        self.fix_limits(self.configure('vrf-provider'))
        self.useFixture(fixtures.MonkeyPatch(
            'os.environ', {**os.environ, 'PATH': self.traps()}))
        self.addCleanup(openflow.close)
        registered.group(options)
        cfg.CONF.set_override('ovs_rundir', self.directory, 'ovs')
        self.addCleanup(cfg.CONF.clear_override, 'ovs_rundir', 'ovs')

    def useFixture(self, fixture):
        fixture.setUp()
        self.addCleanup(fixture.cleanUp)
        return fixture

    def traps(self):
        """Programs that leave a trace when the root side starts them.

        :returns: PATH
        """
        self.directory = self.useFixture(fixtures.TempDir()).path
        for name in ('nft', 'vtysh', 'ovs-ofctl', 'sh'):
            path = os.path.join(self.directory, name)
            with open(path, 'w') as opened:
                opened.write(f'#!/bin/sh\necho "$0 $@" >> '
                             f'{self.directory}/ran\nexit 1\n')
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return self.directory + ':' + os.environ['PATH']

    def started(self):
        """Programs that the root side has started, with arguments."""
        try:
            with open(os.path.join(self.directory, 'ran')) as opened:
                return opened.read().splitlines()
        except FileNotFoundError:
            return []

    def populate(self):
        """A node with things of the operator."""
        for command in (
                'link add veth-default type veth peer name veth-provider',
                'address add 169.254.0.1/30 dev veth-default',
                'address add 169.254.0.2/30 dev veth-provider',
                *(f'link set {name} up' for name in (
                    'veth-default', 'veth-provider')),
                f'link add {DEVICE} type veth peer name management-peer',
                f'address add 10.9.9.9/24 dev {DEVICE}',
                f'link set {DEVICE} up', 'link set management-peer up',
                f'neighbour add 10.9.9.1 lladdr {MAC} dev {DEVICE} '
                'nud permanent',
                'address add 10.8.8.8/24 dev br-ex',
                f'neighbour add 10.8.8.1 lladdr {MAC} dev br-ex '
                'nud permanent',
                f'neighbour add proxy 2001:db8::1 dev {DEVICE}',
                'neighbour add proxy 2001:db8::2 dev br-ex',
                f'link add {VIP_DEVICE} type veth peer name other',
                f'link set {VIP_DEVICE} up', 'link set other up',
                f'address add 10.7.7.7/24 dev {VIP_DEVICE}',
                'rule add pref 100 from 10.9.9.0/24 table 77',
                f'route add default via 10.9.9.1 dev {DEVICE} metric 9',
                f'route add 10.9.8.0/24 via 10.9.9.1 dev {DEVICE}'):
            self.ip(command)

    def test_every_entry_point_is_attacked(self):
        self.assertEqual(set(entry_points.found()),
                         {*HARMLESS, *ITEMS, *CALLS, *SILENT})

    def test_nothing_gets_through(self):
        self.populate()
        before = self.state()
        found = entry_points.found()
        for name, items in ITEMS.items():
            for item in items:
                with self.subTest(name, item=item):
                    (place, number, _text), = found[name]([item])
                    self.assertEqual(0, place)
                    self.assertIn(number, (
                        errno.EPERM, errno.EINVAL, errno.EEXIST))
        for name, calls in CALLS.items():
            for args in calls:
                with self.subTest(name, args=args), self.assertRaises(
                        (OSError, ValueError)):
                    found[name](*args)
        for name, items in SILENT.items():
            found[name](items)
        self.assert_state(before)
        self.assertEqual([], self.started())

    def test_what_is_of_no_vni(self):
        """With the driver evpn; what it wants is in the lab's tests."""
        conf = self.configure('vrf-provider')
        conf.set_override('drivers', ['evpn'])
        conf.set_override('local_ip', '192.0.2.1', 'evpn')
        self.fix_limits(conf)
        self.populate()
        for command in (
                # Nothing has a mark.
                'link add br-1001 type bridge',
                'link add vxlan-1001 type vxlan id 1001 dstport 4789 '
                'local 192.0.2.1',
                'link add vrf01234567-89 type veth peer name ovs01234567-89',
                'link add vrf-1001 type bridge', 'link set vrf-1001 up'):
            self.ip(command)
        before = self.state()
        found = entry_points.found()
        for name, items in attacks.VNI_ITEMS.items():
            for item in items:
                with self.subTest(name, item=item):
                    (_place, number, _text), = found[name]([item])
                    self.assertIn(number, (errno.EPERM, errno.EINVAL))
        for name, item, text in (
                ('set_devices', attacks.DEVICES, 'vrf-1001 exists'),
                ('set_ports', ['vrf01234567-89', 1001, MAC, 'br-ex'],
                 'vrf-1001 of the agent does not exist')):
            (_place, _number, said), = found[f'vni_links.{name}']([item])
            self.assertIn(text, said)
        for name, item in (('delete_devices', 1001),
                           ('delete_ports', 'vrf01234567-89')):
            self.assertEqual([], found[f'vni_links.{name}']([item]))
        self.assert_state(before)

    def test_another_prefix_list_is_for_the_files_to_name(self):
        """The agent may ask at any time; the files of the start decide."""
        path = os.path.join(self.directory, 'agent.conf')

        def write(name):
            with open(path, 'w') as opened:
                opened.write(f'[frr]\nfrr_prefix_list = {name}\n')

        write('FIRST')
        conf = cfg.ConfigOpts()
        opts.load(conf, ['--config-file', path])
        self.fix_limits(conf)
        found = entry_points.found()
        permitted = {'FIRST'}
        for name in ('', 'SECOND', 'bad name', 'THIRD'):
            write(name)
            if ' ' in name:
                with self.assertRaisesRegex(OSError, 'frr_prefix_list'):
                    found['prefix_lists.permit']()
            else:
                self.assertEqual(name, found['prefix_lists.permit']())
                permitted.add(name)
            for asked in ('FIRST', 'SECOND', 'THIRD', 'bad name', 'OTHER'):
                fits = asked in permitted
                with self.subTest(files=name, asked=asked):
                    with self.assertRaises(OSError) as caught:
                        found['prefix_lists.read'](asked)
                    self.assertEqual(
                        fits, 'is refused' not in str(caught.exception) and
                        'is not a' not in str(caught.exception))
        # A value of the command line stays, whatever the files say.
        conf.set_override('frr_prefix_list', 'OTHER', 'frr')
        with self.assertRaises(PermissionError):
            found['prefix_lists.read']('OTHER')
        self.assertEqual('FIRST', found['prefix_lists.permit']())

    def test_nothing_but_named_networks(self):
        """What the configuration names is all that there is."""
        self.populate()
        before = self.state()
        conf = self.configure('vrf-provider', route_table_id=100)
        conf.set_override('network_cidr', ['198.51.100.0/24'])
        self.fix_limits(conf)
        found = entry_points.found()
        for item in (
                [10, '10.9.9.0/24', 'veth-provider', '169.254.0.1'],
                [10, '10.9.9.9/32', 'veth-provider', '169.254.0.1'],
                [10, '198.51.100.0/25', 'veth-provider', '169.254.0.1'],
                # Networks of IPv4 alone leave IPv6 off.
                [10, '2001:db8::/64', 'veth-provider', 'fe80::a9fe:1'],
                [100, '2001:db8::10/128', 'br-ex', ''],
                [254, HOST, 'br-ex', ''], [100, '10.9.9.9/32', 'br-ex', '']):
            with self.subTest(item=item):
                self.assertEqual([errno.EPERM], [
                    f[1] for f in found['kernel_routes.set_routes']([item])])
        for item in (
                [2000, 200, '10.9.9.0/24', *[None] * 5],
                [2000, 200, '2001:db8::/64', *[None] * 5],
                [1000, 100, None, '10.9.9.9/32', *[None] * 4],
                [1000, 100, None, '198.51.100.0/25', *[None] * 4],
                [1998, 0, None, HOST, 'veth-default', *[None] * 3]):
            with self.subTest(item=item):
                self.assertEqual([errno.EPERM], [
                    f[1] for f in found['netlink.set_rules']([item])])
        self.assert_state(before)

    def test_a_device_of_somebody_elses_driver(self):
        """Anything but to take over what the node sends itself."""
        conf = self.configure('vrf-provider')
        conf.set_override('driver_devices', [DEVICE])
        self.fix_limits(conf)
        self.populate()
        before = self.state()
        set_routes = entry_points.found()['kernel_routes.set_routes']
        for table in (254, 200):
            for half in ('0.0.0.0/0', '0.0.0.0/1', '128.0.0.0/1', '8000::/1'):
                with self.subTest(table=table, half=half):
                    self.assertEqual([errno.EPERM], [
                        f[1] for f in set_routes([[table, half, DEVICE, '']])])
        self.assert_state(before)
        self.assertEqual([], set_routes([
            [77, '0.0.0.0/0', DEVICE, ''], [254, '10.0.0.0/8', DEVICE, '']]))

    def test_nftables_where_nobody_forwards_ports(self):
        """Rows that are good ones for who does."""
        found = entry_points.found()
        for driver, file in ((['port_forward'], ''), (['fip_route'], '/x')):
            conf = self.configure('vrf-provider')
            conf.set_override('drivers', driver)
            conf.set_override('rules_file', file, 'port_forward')
            self.fix_limits(conf)
            for name, args in (
                    ('replace_table', [TABLE, {}, []]),
                    ('extend_table', [TABLE, {}, {}, []]),
                    ('prune_table', ['ip', [['a', 1]], [], []]),
                    ('stamp_table', ['ip', '0' * 64, '0' * 40]),
                    ('change_elements', ['ip', {}, {
                        ownership.NFT_SNAT: ['198.51.100.10']}]),
                    ('subscribe', ['0' * 32])):
                with self.subTest(name, driver=driver), self.assertRaises(
                        PermissionError):
                    found[f'nft.{name}'](*args)
        self.assertEqual([], self.started())

    def test_only_answers_may_be_dropped_by_their_mark(self):
        conf = self.configure('vrf-provider')
        conf.set_override('rules_file', '/rules', 'port_forward')
        self.fix_limits(conf)
        set_rules = entry_points.found()['netlink.set_rules']
        for priority, mark, ipv6 in (
                (149, [0x200, 0x200], None), (151, [0x200, 0x200], None),
                (152, [0x100, 0x100], None), (152, [0, 1], True),
                (152, [0, 0x200], None), (152, [0x200, 0x300], None)):
            item = [priority, 0, None, None, None, mark, None, ipv6]
            with self.subTest(item=item):
                self.assertEqual([errno.EPERM], [
                    f[1] for f in set_rules([item])])
        narrow = [152, 0, None, '10.9.9.0/24', None, [0x200, 0x200], None,
                  None]
        self.assertEqual([errno.EPERM], [f[1] for f in set_rules([narrow])])
        self.assertEqual([], set_rules([
            [152, 0, None, None, None, [0x200, 0x200], None, ipv6]
            for ipv6 in (None, True)]))

    def test_only_what_the_vrf_does_not_take_may_be_dropped(self):
        conf = self.configure('vrf-provider')
        self.fix_limits(conf)
        set_rules = entry_points.found()['netlink.set_rules']
        for priority, device, ipv6 in (
                (1999, 'veth-default', None), (1999, 'eth0', None),
                (1998, 'veth-provider', None), (999, 'veth-provider', None),
                (1998, 'veth-provider', True), (1999, 'eth0', True)):
            item = [priority, 0, None, None, device, None, None, ipv6]
            with self.subTest(item=item):
                self.assertEqual([errno.EPERM], [
                    f[1] for f in set_rules([item])])
        item = [1999, 0, None, None, 'veth-provider', None, None, None]
        self.assertEqual([], set_rules([item, [*item[:-1], True]]))

    def test_nftables_where_ports_are_forwarded(self):
        """Whatever stands in any field: nft is not even started."""
        conf = self.configure('vrf-provider')
        conf.set_override('rules_file', '/rules', 'port_forward')
        self.fix_limits(conf)
        found = entry_points.found()
        for name, calls in CALLS.items():
            for args in calls if name.startswith('nft.') else ():
                with self.subTest(name, args=args), self.assertRaises(
                        OSError):
                    found[name](*args)
        for path in places.everywhere(TABLE):
            for bad in places.HOSTILE:
                packed = places.exchanged(TABLE, path, bad)
                with self.subTest(path=path, bad=bad):
                    with self.assertRaises(OSError) as caught:
                        found['nft.replace_table'](packed, {}, [])
                    self.assertEqual(errno.EINVAL, caught.exception.errno)
                    with self.assertRaises(OSError) as caught:
                        found['nft.extend_table'](packed, {}, {}, [])
                    self.assertEqual(errno.EINVAL, caught.exception.errno)
        self.assertEqual([], self.started())

    def test_a_static_route_to_elsewhere(self):
        """Each is refused by itself; what remains is nothing."""
        refused, said = entry_points.found()['vtysh.change_static'](
            'vrf-provider', [
                *([HOST, hop] for hop in ('10.9.9.1', DEVICE, 'br-ex',
                                          'x\nexit')),
                *([HOST, '169.254.0.1', tag] for tag in (
                    5, '4400001', '5\nexit', True))], [])
        self.assertEqual(list(range(8)), [item[1] for item in refused])
        self.assertEqual('', said)

    def test_a_router_advertisement_elsewhere(self):
        """Likewise; FRR is not even asked what it has."""
        none = [False, False]
        adds = [[DEVICE, ['2001:db8::/64'], none], ['lo', [], none],
                ['br-ex\nexit', [], none], *(
                    ['br-ex', [prefix], none] for prefix in (
                        ZONE, '::/0', '2000::/3', '10.9.9.0/24', 'fe80::/64',
                        '2001:db8::/64\nexit', None)),
                ['br-ex', 'x', none], *(['br-ex', [], flags] for flags in (
                    [], [True], [1, 0], ['x', 'y'], None)), 7]
        deletes = [['br-ex\nexit'], [None], 7]
        refused, said = entry_points.found()['router_advertisements.change'](
            adds, deletes)
        self.assertEqual([*range(len(adds)), *range(len(deletes))],
                         [item[1] for item in refused])
        self.assertEqual(('', []), (said, self.started()))

    def test_a_vni_of_frr(self):
        """Likewise; the driver is not loaded here."""
        adds = [[1001, 0, '192.0.2.1', '', [], []], [0, 0, '192.0.2.1'],
                *([1001, *fields] for fields in (
                    [0, ZONE, '', [], []], [0, '', '', [], []],
                    ['1\nexit', '192.0.2.1', '', [], []],
                    [0, '192.0.2.1', '1:1\nexit', [], []],
                    [0, '192.0.2.1', '', 'x', []],
                    [0, '192.0.2.1', '', [], ['1:1 2:2']],
                    [0, '192.0.2.1', '', [None], []])), 7]
        deletes = [['1001\nexit'], [None], [0], 7]
        refused, said = entry_points.found()['evpn_instances.change'](
            adds, deletes)
        self.assertEqual([*range(len(adds)), *range(len(deletes))],
                         [item[1] for item in refused])
        self.assertEqual(('', []), (said, self.started()))

    def test_the_mark_of_ours_may_go_from_anywhere(self):
        """An earlier configuration may have put it there."""
        self.populate()
        before = self.state()
        found = entry_points.found()
        earlier = self.configure('vrf-provider')
        earlier.set_override('driver_devices', [DEVICE])
        self.fix_limits(earlier)
        for function, item in (
                ('netlink.set_addresses', [DEVICE, '10.9.9.66/32']),
                ('kernel_routes.set_routes', [254, HOST, DEVICE, ''])):
            self.assertEqual([], found[function]([item]))
        self.fix_limits(self.configure('vrf-provider'))
        for function, item in (
                ('netlink.delete_addresses', [DEVICE, '10.9.9.66/32']),
                ('kernel_routes.delete_routes', [254, HOST])):
            self.assertEqual([], found[function]([item]))
        self.assert_state(before)

    def test_all_families_have_our_table_alone(self):
        self.assertEqual({'ip', 'ip6'}, set(elements.FAMILIES))
