# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the agent never asks of its root side, by entry point."""

from ovn_network_agent import ownership
from ovn_network_agent.openflow import spec
from ovn_network_agent.tests.unit.nft import places

VIP_DEVICE = 'loopback1'
ZONE = 'fe80::%x }\ninclude "/etc/passwd"\n#/64'
FLOW = [ownership.COOKIE_MAC_TWEAK, ownership.PRIORITY_MAC_TWEAK, 3, 4, None,
        None, '0a:00:00:00:00:01', spec.NORMAL]
MAC = '02:00:00:00:00:01'
DEVICE = 'management'
LIST = 'ANNOUNCED-NETWORKS'
HOST = '198.51.100.10/32'

# What they only say is theirs to know: no argument, or nothing to choose.
HARMLESS = {'netlink.port', 'vtysh.read_sockets', 'overlap.end',
            'overlap.readiness', 'vtysh.read_daemons',
            'ovsdb.read_state', 'prefix_lists.permit',
            'nft.read_version', 'router_advertisements.read',
            'evpn_instances.read', 'evpn_instances.read_lacks'}
# By name of the function: items that are refused one by one.
ITEMS = {
    'kernel_routes.set_routes': [
        # The default route, by any name of it, and all that is beyond.
        [254, '0.0.0.0/0', 'br-ex', ''],
        [254, '0.0.0.0/00', 'br-ex', ''],
        [254, '0.0.0.0/0', 'veth-default', '169.254.0.2'],
        [254, '0.0.0.0/0', DEVICE, '10.9.9.1'],
        [254, '0.0.0.0/1', 'br-ex', ''],
        [254, '::/0', 'veth-default', 'fe80::a9fe:2'],
        [254, '198.51.100.0/24', 'br-ex', ''],
        [254, HOST, DEVICE, ''],
        # A metric that is no tag, and a tag for more than one address.
        [254, HOST, 'br-ex', '', 20],
        [254, HOST, 'br-ex', '', '4400001'],
        [10, '198.51.100.0/24', 'veth-provider', '169.254.0.1', 4400001],
        [254, HOST, 'lo', ''],
        [254, HOST, 'br-ex', '203.0.113.1'],
        [77, HOST, 'br-ex', ''],
        [255, HOST, 'br-ex', ''],
        [77, HOST, 'veth-provider', '169.254.0.1'],
        [254, HOST, 'veth-provider', '169.254.0.1'],
        [0, HOST, 'veth-provider', '169.254.0.1'],
        [200, '0.0.0.0/0', 'veth-default', '10.9.9.1'],
        # Halves, and what else is no network of anybody, in each table.
        *([table, half, dev, via] for half in (
            '0.0.0.0/1', '128.0.0.0/1', '0.0.0.0/2', '8.0.0.0/7', '::/1',
            '8000::/1', '2000::/3') for table, dev, via in (
                (254, 'br-ex', ''), (254, 'lo', ''),
                (254, 'veth-default', '169.254.0.2'),
                (200, 'veth-default', '169.254.0.2'),
                (10, 'veth-provider', '169.254.0.1'),
                (10, 'br-ex', ''))),
        [10, '0.0.0.0/0', 'veth-provider', '169.254.0.1'],
        [10, '127.0.0.0/8', 'veth-provider', '169.254.0.1'],
        [10, '2001:db8::/64', 'veth-provider', '169.254.0.1'],
        [200, '198.51.100.0/24', 'veth-default', '169.254.0.2'],
        # The same of IPv6.
        [254, '::/0', 'br-ex', ''],
        [10, '::/0', 'veth-provider', 'fe80::a9fe:1'],
        [10, '2000::/15', 'veth-provider', 'fe80::a9fe:1'],
        [10, '2001:db8::/64', 'veth-provider', 'fe80::1'],
        [10, '198.51.100.0/24', 'veth-provider', 'fe80::a9fe:1'],
        [10, 'fe80::/64', 'veth-provider', 'fe80::a9fe:1'],
        [10, 'ff02::/16', 'veth-provider', 'fe80::a9fe:1'],
        [200, '2001:db8::/64', 'veth-default', 'fe80::a9fe:2'],
        [200, '::/0', 'veth-default', 'fe80::1'],
        [254, '2001:db8::/64', 'br-ex', ''],
        [254, '2001:db8::10/128', DEVICE, ''],
        [254, '2001:db8::10/128', 'br-ex', 'fe80::1'],
        [254, '::1/128', 'br-ex', ''],
        [254, 'fe80::10/128', 'br-ex', ''],
        # Nobody forwards ports here.
        [201, '0.0.0.0/0', 'veth-default', '169.254.0.2'],
        [254, HOST, VIP_DEVICE, ''],
        [254, ZONE, 'br-ex', '']],
    'kernel_routes.delete_routes': [[255, HOST], [0, HOST], [254, ZONE]],
    'kernel_routes.keep_metrics': [
        [255, HOST, 0], [0, HOST, 0], [254, ZONE, 0], [254, HOST, 20],
        [254, '198.51.100.0/24', 4400001]],
    'links.set_links_up': [DEVICE, 'lo', '../x'],
    'links.set_veth_pairs': [
        ['veth-default', 'veth-provider', 'lo'],
        ['veth-default', 'veth-provider', 'vrf-other'],
        ['veth-default', 'veth-provider', ''],
        [DEVICE, 'veth-provider', 'vrf-provider']],
    'links.set_vlans': [
        ['lo.7', 'lo', 7], [f'{DEVICE}.7', DEVICE, 7], [DEVICE, 'br-ex', 7],
        ['br-ex.7', 'br-ex', 8], ['br-ex', 'br-ex', 0],
        ['br-ex.4095', 'br-ex', 4095], ['br-ex.7', 'br-ex', '7'],
        [None, 'br-ex', 7], ['br-ex.7', None, 7]],
    # Nobody asks for EVPN here; what may be with it, is in VNI_ITEMS.
    'vni_links.set_devices': [
        [1001, 10_001_001, MAC, '192.0.2.1', 4789, 1450, ''],
        [1001, 10_001_001, MAC, '', 4789, 1450, '']],
    'vni_links.set_ports': [['vrf01234567-89', 1001, MAC, 'br-ex']],
    'vni_links.delete_devices': ['1001', None, [1001]],
    'vni_links.lower_bridges': ['1001', None, [1001]],
    'vni_links.delete_ports': [DEVICE, 'vrf-1001', 'br-ex', None, '../x'],
    'links.delete_veth_pairs': [[DEVICE, 'management-peer'],
                                ['br-ex', 'br-ex-peer']],
    'netlink.set_rules': [
        [1, 254, '0.0.0.0/00', None, None, None, None, None],
        [1, 77, '198.51.100.0/24', None, None, None, None, None],
        [2000, 77, '198.51.100.0/24', None, None, None, None, None],
        [2000, 200, None, None, None, None, None, None],
        [2000, 200, None, None, DEVICE, None, None, None],
        [100, 0, None, HOST, DEVICE, None, None, None],
        [150, 254, None, None, None, [1, 1], None, None],
        [150, 77, None, None, None, [0x100, 0x100], None, None],
        [150, 254, None, None, None, [0x100, 0x1], None, None],
        # Halves, at each place where a network may stand.
        *(rule for half in (
            '0.0.0.0/1', '128.0.0.0/1', '8.0.0.0/7', '::/1', '8000::/1',
            '2000::/15')
          for rule in (
            [2000, 200, half, None, None, None, None, None],
            [2001, 0, None, half, 'br-ex', None, None, None],
            [1998, 0, None, half, 'veth-default', None, None, None],
            [1997, 254, None, half, 'veth-default', None, 0, None])),
        # What the drivers do not make, of what stands at these places.
        [2000, 200, HOST, '10.9.9.0/24', None, None, None, None],
        [2000, 200, None, '10.9.9.0/24', None, None, None, None],
        [2000, 200, '198.51.100.0/24', None, None, None, 0, None],
        [2000, 200, 'fe80::/64', None, None, None, None, None],
        [2000, 200, None, None, 'br-ex', None, None, True],
        [2000, 0, None, None, 'br-ex', None, None, True],
        [2001, 0, None, None, DEVICE, None, None, True],
        [2001, 0, '2001:db8::/64', None, 'br-ex', None, None, None],
        *([1997, 254, None, None, 'veth-default', None, 0, ipv6]
          for ipv6 in (None, True)),
        [1998, 0, None, None, 'veth-default', None, None, None],
        [2001, 0, None, '10.9.9.0/24', DEVICE, None, None, None],
        [2001, 0, '10.9.9.0/24', '10.9.9.0/24', 'br-ex', None, None, None],
        [1997, 254, None, '10.9.9.0/24', 'veth-default', None, None, None],
        [1999, 254, '10.9.9.0/24', None, 'veth-default', None, None, None],
        # Nobody forwards ports here.
        [150, 254, None, None, None, [0x100, 0x100], None, None],
        [151, 201, None, None, None, [0x200, 0x200], None, True],
        [152, 0, None, None, None, [0x200, 0x200], None, None],
        # What drops marked packets of others, or all.
        [152, 0, None, None, None, [0x100, 0x100], None, None],
        [152, 0, None, None, None, [0, 1], None, True],
        [152, 0, None, None, None, None, None, True]],
    'netlink.delete_rules': [
        [True, [100, 77, '10.9.9.0/24', None, None, None, None, None]]],
    'netlink.set_addresses': [
        [DEVICE, '10.9.9.66/32'], ['lo', '10.9.9.66/32'],
        ['br-ex', '10.9.9.66/8'], ['br-ex', '10.9.9.66/32'],
        ['br-ex', 'fe80::a9fe:a9fe/10'], ['br-ex', '2001:db8::1/64'],
        ['veth-default', 'fe80::a9fe:a9fe/64'],
        ['veth-default', '10.9.9.66/30'],
        ['veth-default', '169.254.0.1/8'],
        [VIP_DEVICE, '10.9.9.66/8'], [VIP_DEVICE, '127.0.0.2/32'],
        [VIP_DEVICE, '::1/128'], [VIP_DEVICE, '10.9.9.66/032'],
        [VIP_DEVICE, '10.9.9.66/32'],
        ['br-ex', ZONE]],
    'netlink.delete_addresses': [
        [DEVICE, '10.9.9.9/24'], ['br-ex', '10.8.8.8/24'],
        ['lo', '127.0.0.1/8'], [VIP_DEVICE, '10.7.7.7/24']],
    'netlink.set_neighbours': [
        [DEVICE, '10.9.9.1', MAC], ['lo', '10.9.9.1', MAC],
        ['br-ex', 'fe80::1%br-ex', MAC], ['br-ex', '10.8.8.1', MAC]],
    'neighbour_proxies.set_proxies': [
        [DEVICE, '2001:db8::1'], ['lo', '2001:db8::1'],
        ['veth-default', '2001:db8::1'], ['br-ex', '10.8.8.1'],
        ['br-ex', '2001:DB8::1'], ['br-ex', 'fe80::1%br-ex'],
        ['br-ex', 'fe80::1'], ['br-ex', 'ff02::1'], ['br-ex', ZONE]],
    'netlink.set_sysctls': [
        [path, '0'] for path in (
            'kernel/core_pattern', 'net/ipv4/ip_forward',
            'net/ipv4/conf/all/forwarding',
            'net/ipv4/conf/default/forwarding',
            'net/ipv4/conf/lo/forwarding',
            f'net/ipv4/conf/{DEVICE}/forwarding',
            'net/ipv4/conf/br-ex/rp_filter',
            'net/ipv4/conf/br-ex/../all/forwarding',
            'net/ipv4/tcp_l3mdev_accept', 'net/ipv6/conf/all/forwarding',
            'net/ipv6/conf/br-ex/forwarding', 'net/ipv6/conf/all/proxy_ndp',
            f'net/ipv6/conf/{DEVICE}/proxy_ndp',
            'net/ipv6/neigh/default/proxy_delay')],
}
# With the driver evpn, the same.  Each item differs in one place from what the
# agent asks for.
_TABLE, _PORT = 10_001_001, 'vrf01234567-89'
DEVICES = [1001, _TABLE, MAC, '192.0.2.1', 4789, 1450, 'vrf-provider']
VNI_ITEMS = {
    'vni_links.set_devices': [
        places.exchanged(tuple(DEVICES), (place,), bad)
        for place, bads in enumerate((
            (0, -1, 1 << 24, 1002, '1001', True, None),
            (254, 10, 255, 10_001_002, '10001001', None),
            ('', '01:00:00:00:00:01', '00:00:00:00:00:00', 'x', None),
            ('', '192.0.2.2', ZONE, None), (4790, 0, '4789'),
            (1500, 0, '1450', None), ('vrf-1001', DEVICE, '../x', None)))
        for bad in bads],
    'vni_links.set_ports': [
        [name, 1001, MAC, 'br-ex'] for name in (
            DEVICE, 'br-ex', 'vrf-1001', 'vrf0123', 'vrf01234567-8/',
            'vrf01234567-8\n', 'ovs01234567-89', '', None)] + [
        [_PORT, vni, MAC, 'br-ex'] for vni in (
            0, -1, 1 << 24, '1001', True, None)] + [
        [_PORT, 1001, MAC, bridge] for bridge in (
            'br-int', DEVICE, '', '../x', None)] + [
        [_PORT, 1001, mac, 'br-ex'] for mac in (
            '', '01:00:00:00:00:01', None)],
    'kernel_routes.set_routes': [
        # A network of nobody, the default, and halves.
        *([_TABLE, dst, _PORT, ''] for dst in (
            '0.0.0.0/0', '::/0', '0.0.0.0/1', '128.0.0.0/1', '8000::/1',
            '127.0.0.0/8', '224.0.0.0/8', 'ff02::/16', 'fe80::/64', ZONE)),
        # Another device, or another table.
        [_TABLE, HOST, DEVICE, ''], [_TABLE, HOST, 'br-ex', ''],
        [_TABLE, HOST, 'vrf-1002', ''], [_TABLE, HOST, 'vxlan-1001', ''],
        [_TABLE, HOST, 'br-1001', ''], [_TABLE, HOST, 'ovs01234567-89', ''],
        [_TABLE, '198.51.100.0/24', 'vrf-1001', ''],
        [_TABLE, HOST, 'vrf-1001', '198.51.100.1'],
        [254, HOST, _PORT, ''], [10, HOST, _PORT, ''],
        [254, HOST, 'vrf-1001', ''], [9_999_999, HOST, _PORT, ''],
        [_TABLE, HOST, _PORT, '127.0.0.1'], [_TABLE, HOST, _PORT, ZONE],
        # It is not in the VRF of the table, because there is none.
        [_TABLE, HOST, _PORT, '']],
    'netlink.set_addresses': [
        [dev, text] for dev, text in (
            (_PORT, '198.51.100.1/24'), (_PORT, '127.0.0.1/32'),
            (_PORT, '224.0.0.1/32'), (_PORT, 'fe80::2/64'),
            (_PORT, 'fe80::1/10'), (_PORT, '2001:db8::1/64'), (_PORT, ZONE),
            ('vrf-1001', '198.51.100.1/32'), ('br-1001', '198.51.100.1/32'),
            ('ovs01234567-89', '198.51.100.1/32'))],
    'netlink.set_neighbours': [
        [dev, '198.51.100.1', MAC] for dev in (
            'vrf-1001', 'br-1001', 'vxlan-1001', 'ovs01234567-89', DEVICE)],
    'neighbour_proxies.set_proxies': [
        [_PORT, 'ff02::1'], [_PORT, 'fe80::1'], [_PORT, '198.51.100.1'],
        ['br-1001', '2001:db8::1'], [_PORT, ZONE]],
    'netlink.set_rules': [
        [1100, 0, None, None, dev, None, None, ipv6]
        for dev in (DEVICE, 'br-ex', 'lo', 'ovs01234567-89', 'vrf-0', None)
        for ipv6 in (None, True)] + [
        [1099, 0, None, None, 'vrf-1001', None, None, None],
        [1100, 254, None, None, 'vrf-1001', None, None, None],
        [1100, _TABLE, None, None, 'vrf-1001', None, None, None],
        [1100, 0, None, '198.51.100.0/24', 'vrf-1001', None, None, None],
        [1100, 0, '198.51.100.0/24', None, 'vrf-1001', None, None, None],
        [1100, 0, None, None, 'vrf-1001', [1, 1], None, None],
        [1100, 0, None, None, 'vrf-1001', None, 0, None]],
    'netlink.set_sysctls': [
        [f'net/ipv4/conf/{dev}/forwarding', '1'] for dev in (
            DEVICE, 'ovs01234567-89', 'vrf-x', 'br-0', 'br-16777216')],
}
# What is not refused, and has no effect: a mark decides.
SILENT = {
    'vni_links.delete_devices': [1, 1001, 0, 1 << 30],
    'vni_links.lower_bridges': [1, 1001, 0, 1 << 30],
    'vni_links.delete_ports': ['vrf01234567-89'],
    'links.delete_vlans': [DEVICE, 'br-ex'],
    'neighbour_proxies.delete_proxies': [
        [DEVICE, '2001:db8::1'], ['br-ex', '2001:db8::2']],
    'netlink.delete_neighbours': [
        [DEVICE, '10.9.9.1'], ['br-ex', '10.8.8.1']],
    'kernel_routes.delete_routes': [
        [254, '10.9.8.0/24'], [254, '0.0.0.0/0']]}
# What a table with one VIP is to the wall, and what no table is.
TABLE = ('ip', 64000, True, (('192.0.2.53', False, False, (
    ('tcp', 53, 53, False, (('10.0.0.5', True),), ((0, 1),)),)),), False)
BAD_TABLES = (
    '}\nflush ruleset\n', 'include "/etc/passwd"', '', None, (), list(TABLE),
    ('inet', *TABLE[1:]), ('ip6', *TABLE[1:]),
    # Of the configuration are another zone, and a VRF.
    ('ip', 1, *TABLE[2:]), ('ip', 64000, False, *TABLE[3:]),
    (*TABLE[:4], 1), TABLE[:4],
    ('ip', True, *TABLE[2:]), ('ip', '64000 accept', *TABLE[2:]),
    *(places.exchanged(TABLE, (3, 0, *path), bad) for path, bad in (
        ((0,), '192.0.2.53 }\nflush ruleset\n'), ((0,), '10.0.0.0/8'),
        ((0,), 'fe80::1%x }\nflush ruleset'), ((1,), 'yes'),
        ((3, 0, 0), 'icmp'), ((3, 0, 0), 'tcp }\nflush ruleset'),
        ((3, 0, 1), 0), ((3, 0, 1), 65536), ((3, 0, 1), '53-60'),
        ((3, 0, 4, 0, 0), 'x'), ((3, 0, 4, 0, 0), '10.0.0.5 . 22, x'),
        ((3, 0, 5), ((1, 1),)), ((3, 0, 5), ((0, 2 ** 32),)))))
# Other functions, with each of these argument lists.
CALLS = {
    **{f'log_levels.set_in_{name}': [
        ('', 5), ('', 'debug'), ('', True), ('oslo_privsep.daemon', 10),
        (7, 10)] for name in ('kernel', 'ovs', 'frr', 'netfilter')},
    'bgp.read_effect': [['other', [HOST], True], ['', [ZONE], True],
                        ['vrf-provider', ['0.0.0.0/0 json\nexit'], True]],
    'bgp.read_effect_digest': [['other'], [''], ['vrf-provider\nexit']],
    'bgp.read_sessions': [['other', ['bgpd']], ['x y', []],
                          ['vrf-provider', ['bgpd'], '6 json\nexit'],
                          ['vrf-provider', ['bgpd'], 5]],
    'bgp.read_peers': [['other'], ['x y'], ['vrf-provider json\nexit']],
    'bgp.read_surroundings': [['other', True], ['', True]],
    'bgp.read_setup': [['other', ''], ['vrf-provider', 'OTHER'],
                       ['vrf-provider', 'A B'], ['vrf-provider', '', 7]],
    'prefix_lists.read': [['OTHER'], [''], ['A json\nexit']],
    'prefix_lists.read_of': [['OTHER', []], ['', []], ['A json\nexit', []],
                             [LIST, HOST]],
    'prefix_lists.change': [['OTHER', [], [['10.0.0.0/8', 8, 32]]],
                            ['', [['10.0.0.0/8', 8, 32, 5]], []]],
    'prefix_lists.renew': [['OTHER', [HOST]], ['', [HOST]],
                           [LIST, [ZONE]], [LIST, ['10.0.0.0/8']],
                           [LIST, [HOST + '\nexit']], [LIST, [None]]],
    'router_advertisements.change': [['x', []], [[], 'x']],
    'evpn_instances.change': [['x', []], [[], 'x']],
    'monitors.subscribe_vnis': [['../x'], ['0' * 32]],
    'netlink.renew_address': [
        [DEVICE, '10.9.9.9/24'], ['br-ex', '10.8.8.8/24'],
        ['veth-provider', '10.9.9.9/30'], ['veth-provider', ZONE]],
    'monitors.subscribe_lists': [['../x', LIST], ['0' * 32, 'OTHER'],
                               ['0' * 32, ''], ['0' * 32, 'A\nexit']],
    'flow_monitor.subscribe': [['../x', 'br-ex'], ['0' * 32, 'br-int'],
                               ['0' * 32, '../x']],
    'openflow.dump_flows': [['br-int'], ['../x'], [''], ['br-int', 'x'],
                            ['br-ex', '', ['x']], ['br-ex', '', 'x']],
    'openflow.read_socket': [['br-int'], ['../x']],
    'openflow.change_flows': [['br-int', [FLOW], [], []],
                              ['br-int', [], [FLOW], []],
                              ['../br-ex', [FLOW], [], []]],
    'overlap.begin': [[[]], [['x']], [['fe80::1%x']], [['10.9.9.9/8']]],
    'vtysh.read_static': [['other'], ['']],
    'vtysh.read_static_again': [['other', ''], ['', 'x']],
    'vtysh.read_known': [['other', 'static'], ['vrf-provider', 'bgp']],
    'vtysh.change_static': [['other', [[HOST, '169.254.0.1']], []],
                            ['', [], [[HOST, '169.254.0.1']]]],
    'bgp.soft_refresh': [['other', '', False], ['', '', False],
                         ['all', '', True],
                         ['vrf-provider', ZONE + ' json', False]],
    'nft.read_tables': [[['inet']], [['ip filter']]],
    'nft.read_sets': [['inet', ['a']], ['ip', ['a b']]],
    'nft.replace_table': [
        *([packed, {}, []] for packed in BAD_TABLES),
        [TABLE, {'other': ['10.0.0.0/8']}, []],
        [TABLE, {ownership.NFT_NETWORKS: [ZONE]}, []],
        [TABLE, {ownership.NFT_GUARDED: ['eth0" }\nflush ruleset\n']}, []],
        [TABLE, {}, [['tcp', 'x', 1, 'y', 1]]]],
    'nft.extend_table': [
        *([packed, {}, {}, []] for packed in BAD_TABLES),
        [TABLE, {}, {}, [['tcp', 'x', 1, 'y', 1]]],
        [TABLE, {}, {ownership.NFT_GUARDED: ['"}\nflush ruleset']}, []]],
    'nft.prune_table': [['ip', [['a b', 1]], [], []],
                        ['ip', [['a', '1; flush ruleset']], [], []],
                        ['inet', [], ['a'], []]],
    'nft.stamp_table': [['ip', '"\nflush ruleset\n', 'b' * 40],
                        ['ip', 'a' * 32, '"\nflush ruleset\n'],
                        ['inet', 'a' * 32, 'b' * 40]],
    'nft.change_elements': [
        ['ip', {}, {ownership.NFT_GUARDED: [DEVICE]}],
        ['ip6', {}, {ownership.NFT_NETWORKS: [ZONE]}],
        ['ip6', {ownership.NFT_SNAT: ['fe80::1%x }\nflush ruleset']}, {}],
        ['ip', {}, {'other': ['10.0.0.0/8']}]],
    'nft.delete_table': [['inet'], ['ip filter']],
    'nft.delete_connections': [['ip', 1, []], ['ip', 0, []],
                               ['inet', 64000, []]],
    'nft.subscribe': [['../x'], ['x' * 32], ['0' * 32]],
    'nft.read_egress': [[['inet']], [['ip filter']]],
    'nft.replace_egress': [
        ['inet', [], [], []],
        ['ip', [['10.0.1.9', 'eth0" }\nflush ruleset']], [], []],
        ['ip', [['10.0.1.9 }', 'eth0']], [], []],
        ['ip', [['fd01::9', 'x']], [], []],
        ['ip', [], [['10.0.1.9', 'eth0', '203.0.113.7 }\nflush ruleset']], []],
        ['ip', [], [['10.0.1.9', 'eth0']], []], ['ip', 'x', [], []],
        ['ip', [], [], ['203.0.113.7 }\nflush ruleset']],
        ['ip', [], [], ['2001:db8::7']], ['ip', [], [], [['203.0.113.7']]]],
    'nft.change_egress': [
        ['inet', [[], [], []], [[], [], []]],
        ['ip', [[['0.0.0.0', 'eth0']], [], []], [[], [], []]],
        ['ip6', [[], [], []], [[], [['fd01::9', 'eth0', 'ff02::1']], []]],
        ['ip6', [[], [], []], [[], [['fd01::9', 'a b', '2001:db8::1']], []]],
        ['ip6', [[], [], []], [[], [], ['ff02::1']]],
        ['ip6', [[], []], [[], []]]],
    'nft.stamp_egress': [['ip', '"\nflush ruleset\n'],
                                ['inet', 'b' * 40]],
    'nft.delete_senders': [['inet', []], ['ip', 'x'],
                                  ['ip', [['x', '']]],
                                  ['ip', [['10.0.1.9', 'x']]]],
    'nft.delete_egress': [['inet'], ['ip filter']],
    'ovsdb.connect': [['../x'], ['x' * 32], [None]],
}
