# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the programs of a gateway print, in the words of the oracle."""

import json
import struct
import unittest

from lab.chaos import observed
from lab.chaos import routes

_END = '@@end@@\n'
_MAC = '72:44:64:37:72:4d'
RULES = [
    {'priority': 0, 'src': 'all', 'table': 'local', 'protocol': 'kernel'},
    {'priority': 150, 'src': 'all', 'fwmark': '0x100', 'fwmask': '0x100',
     'table': 'main', 'protocol': '44'},
    {'priority': 1997, 'src': 'all', 'dst': '198.51.100.0', 'dstlen': 24,
     'iif': 'veth-default', 'table': 'main', 'suppress_prefixlen': 0,
     'protocol': '44'},
    {'priority': 2001, 'src': '192.168.1.0', 'srclen': 24, 'iif': 'br-ex',
     'action': 'blackhole', 'protocol': '44'},
    {'priority': 3000, 'src': 'all', 'dst': '192.0.2.243', 'table': 'main',
     'protocol': 'boot'}]
ROUTES = [
    {'type': 'unicast', 'dst': '198.51.100.12', 'dev': 'br-ex',
     'table': 'main', 'protocol': '44'},
    {'type': 'unicast', 'dst': 'default', 'gateway': '169.254.0.2',
     'dev': 'veth-default', 'table': '200', 'protocol': '44'},
    {'type': 'blackhole', 'dst': '192.0.2.240', 'table': '10',
     'protocol': '99'},
    {'type': 'unicast', 'dst': '192.0.2.12', 'gateway': '172.31.1.1',
     'dev': 'eth1', 'table': '10', 'protocol': 'bgp'},
    {'type': 'unicast', 'dst': 'default', 'dev': 'eth1', 'table': 'main',
     'protocol': '44', 'pref': 'medium'}]


def address(local, length=32):
    return {'family': 'inet', 'local': local, 'prefixlen': length}


LINKS = [
    {'ifname': 'br-ex', 'address': _MAC, 'flags': ['UP'],
     'addr_info': [address('169.254.169.254')]},
    {'ifname': 'loopback1', 'flags': ['UP'], 'addr_info': [
        address('192.0.2.11'), address('198.18.0.10'),
        address('169.254.169.253')]},
    {'ifname': 'veth-provider', 'address': '7a:53:1b:c9:ed:af',
     'master': 'vrf-provider', 'flags': ['UP'],
     'addr_info': [address('169.254.0.2', 30)]},
    {'ifname': 'veth-default', 'address': '22:92:c6:05:01:9d', 'flags': [],
     'addr_info': []}]
NEIGHBOURS = [
    {'dst': '169.254.0.2', 'dev': 'veth-default',
     'lladdr': '7a:53:1b:c9:ed:af', 'protocol': '44'},
    {'dst': '10.10.0.9', 'dev': 'eth0', 'lladdr': '02:00:00:00:00:09'}]
FLOWS = f'''\
NXST_FLOW reply (xid=0x4):
 cookie=0x997, duration=3.5s, table=0, n_packets=0, n_bytes=0, idle_age=3, \
priority=920,ip,in_port="ona-0a0a000c",nw_dst=198.51.100.0/24 \
actions=output:"patch-provnet-e"
 cookie=0x998, duration=3.3s, table=0, n_packets=0, n_bytes=0, idle_age=3, \
priority=910,ip,in_port="patch-provnet-e",nw_dst=198.51.100.12 \
actions=mod_dl_src:{_MAC},mod_dl_dst:fa:16:3e:00:00:01,IN_PORT
 cookie=0x777, duration=9s, table=0, n_packets=0, n_bytes=0, \
priority=5,udp,in_port=LOCAL,tp_dst=9 actions=drop
'''
NFT = {'nftables': [
    {'metainfo': {'version': '1.0.6'}},
    {'table': {'family': 'ip', 'name': 'ovn-network-agent', 'handle': 2}},
    {'set': {'family': 'ip', 'name': 'provider_networks',
             'table': 'ovn-network-agent', 'handle': 13, 'elem': [
                 {'prefix': {'addr': '198.51.100.0', 'len': 24}}]}},
    {'set': {'family': 'ip', 'name': 'guarded', 'handle': 14,
             'table': 'ovn-network-agent', 'elem': ['veth-default']}},
    {'rule': {'family': 'ip', 'table': 'ovn-network-agent',
              'chain': 'prerouting_dnat', 'handle': 27, 'expr': [
                  {'dnat': {'family': 'ip', 'addr': {'map': {
                      'key': {}, 'data': {'set': [[
                          {'concat': ['198.18.0.10', 'udp', 80]},
                          {'concat': ['10.10.0.31', 7007]}]]}}}}}]}},
    {'table': {'family': 'inet', 'name': 'operator', 'handle': 7}}]}
DATABASE = '''\
{hostname=gw1, ovn-network-agent-overlap="10.10.0.12", ovn-remote="tcp:x", \
ovn-remote-probe-interval="60000", system-id="97"}
ona-0a0a000c
patch-provnet-e
'''
STATIC = '''\
vrf vrf-provider
 ip route 198.51.100.12/32 169.254.0.1
 ip route 192.0.2.241/32 blackhole
exit-vrf
'''
BGPD = '''\
! a comment
ip prefix-list ANNOUNCED-NETWORKS seq 7 permit 203.0.113.128/25 ge 30 le 31
ip prefix-list ANNOUNCED-NETWORKS seq 8 permit 192.0.2.0/24 ge 32 le 32
ip prefix-list ANNOUNCED-NETWORKS seq 1188455462 permit 198.51.100.0/24 \
ge 32 le 32
'''


def output(flows=FLOWS):
    ip = '\n'.join(map(json.dumps, (RULES, ROUTES, LINKS, NEIGHBOURS)))
    return _END.join((ip + '\n', flows, json.dumps(NFT) + '\n', DATABASE))


class ParseTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.seen = observed.parse(output(), STATIC, BGPD)

    def test_objects_of_the_agent(self):
        self.assertEqual({
            'rule 150 from all fwmark 0x100/0x100 lookup main',
            'rule 1997 from all to 198.51.100.0/24 iif veth-default lookup '
            'main suppress 0',
            'rule 2001 from 192.168.1.0/24 iif br-ex blackhole',
            'route main 198.51.100.12 dev br-ex',
            'route 200 default via 169.254.0.2 dev veth-default',
            'address br-ex 169.254.169.254/32',
            'address loopback1 198.18.0.10/32',
            'address loopback1 169.254.169.253/32',
            'link veth-provider master vrf-provider',
            'address veth-provider 169.254.0.2/30',
            'link veth-default', 'link veth-default is down',
            'neighbour veth-default 169.254.0.2 @veth-provider',
            'flow 0x997 priority=920,ip,in_port=ona-0a0a000c,nw_dst='
            '198.51.100.0/24 actions=output:PATCH',
            'flow 0x998 priority=910,ip,in_port=PATCH,nw_dst=198.51.100.12 '
            'actions=mod_dl_src:BRIDGE,mod_dl_dst:fa:16:3e:00:00:01,IN_PORT',
            'nft provider_networks 198.51.100.0/24',
            'nft guarded veth-default',
            'dnat 198.18.0.10 80 to 10.10.0.31 7007',
            'relay ona-0a0a000c', 'external-id ovn-network-agent-overlap',
            'static 198.51.100.12 169.254.0.1',
            'prefix-list permit 198.51.100.0/24'}, self.seen.facts)

    def test_objects_of_others(self):
        found = {' '.join(text.split()[:3]) for text in self.seen.rest}
        self.assertLessEqual({
            'rule 3000 from', 'blackhole route 10', 'flow 0x777 priority=5,'
            'udp,in_port=LOCAL,tp_dst=9', 'address loopback1 192.0.2.11/32',
            'frr ip route', 'frr ip prefix-list', 'nft {"table": {"family":'
        }, found)

    def test_a_program_that_failed(self):
        with self.assertRaises(ValueError):
            observed.parse(output('ovs-ofctl: no bridge\nfailed\n'), STATIC,
                           BGPD)


class SpineTest(unittest.TestCase):

    def test_facts(self):
        self.assertEqual(
            {'announced by gw1 198.51.100.12', 'announced by gw2 198.18.0.10',
             'announced by 10.9.9.9 198.51.100.13'},
            observed.spine_facts({
                '198.51.100.12/32': ['172.31.1.2'],
                '198.18.0.10/32': ['172.31.2.2'],
                '198.51.100.13/32': ['10.9.9.9'],
                '192.0.2.11/32': ['172.31.1.2'],
                '203.0.113.0/24': ['0.0.0.0']}, ['gw1', 'gw2']))


class RoutesTest(unittest.TestCase):

    def message(self, kind, prefix, *attributes):
        body = struct.pack('=BBBBBBBBI', 2, prefix, 0, 0, 254, 186, 0, 1, 0)
        for number, value in attributes:
            body += struct.pack('=HH', len(value) + 4, number) + value
            body += bytes(-len(value) % 4)
        return struct.pack('=LHHLL', len(body) + 16, kind, 0, 0, 0) + body

    def test_one_hop_two_hops_and_none(self):
        target, one, two = (bytes((198, 51, 100, 12)),
                            bytes((172, 31, 1, 2)), bytes((172, 31, 2, 2)))
        hops = b''.join(struct.pack('=HBBi', 16, 0, 0, 5) +
                        struct.pack('=HH', 8, 5) + hop for hop in (one, two))
        data = (self.message(24, 32, (1, target), (5, one)) +
                self.message(24, 32, (1, target), (9, hops)) +
                self.message(24, 24, (1, target), (5, one)) +
                self.message(25, 32, (1, target)))
        self.assertEqual(
            [('198.51.100.12', {'172.31.1.2'}),
             ('198.51.100.12', {'172.31.1.2', '172.31.2.2'}),
             ('198.51.100.12', set())], routes.changes(data))
