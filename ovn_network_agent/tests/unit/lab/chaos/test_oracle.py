# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the oracle demands, and that it tells when something differs."""

import ast
import dataclasses
import pathlib
import unittest

from lab.chaos import oracle
from lab.chaos import picture
from lab.chaos import profiles
from lab.chaos import values

STATIC, FLAT = (profiles.PROFILES[name] for name in (
    'static', 'default-vrf'))
ALONE = profiles.PROFILES['port-forward-only']
VIP = values.Vip('198.18.0.10', 80, '10.10.0.31', 7007)
GW1 = values.Gateway('gw1')
GW2 = values.Gateway('gw2', method='kernel')
ROUTE = picture.DefaultRoute(
    '198.51.100.254', 'lrp-a', (
        ('ovn-network-agent', 'managed'),
        ('ovn-network-agent-advertised', 'gw1'),
        ('ovn-network-agent-chassis', 'gw1')))
ROUTER = picture.Router(
    'alpha', 'lrp-a', 'fa:16:3e:00:00:01', '198.51.100.10/24', owner='gw1',
    candidates=(('gw1', 2), ('gw2', 1)),
    floating=('192.168.1.77', '198.51.100.10', '198.51.100.12'),
    tenants=('192.168.1.0/24',), defaults=(ROUTE,),
    bindings=(('198.51.100.254', '02:00:00:00:00:01'),))
ALL = picture.Picture((ROUTER,))
MACS = {'02:00:00:00:00:01': 'gw1', '02:00:00:00:00:02': 'gw2'}


def demanded(gateway, profile=STATIC, every=ALL):
    return oracle.node(every, profile, gateway).must


class NodeTest(unittest.TestCase):

    def test_an_address_of_the_owner(self):
        """A floating IP and the router's own; not that of a tenant."""
        facts = demanded(GW1)
        self.assertEqual(
            ['198.51.100.10', '198.51.100.12'], ROUTER.addresses)
        self.assertIn('route main 198.51.100.12 dev br-ex', facts)
        self.assertIn('static 198.51.100.12 169.254.0.1', facts)
        self.assertIn(
            'flow 0x998 priority=910,ip,in_port=PATCH,nw_dst=198.51.100.12 '
            'actions=mod_dl_src:BRIDGE,mod_dl_dst:fa:16:3e:00:00:01,IN_PORT',
            facts)
        self.assertEqual([], [fact for fact in facts
                              if '192.168.1.77' in fact])

    def test_the_standby_is_prepared_and_attracts_nothing(self):
        facts = demanded(GW2)
        self.assertIn('rule 2001 from 192.168.1.0/24 iif br-ex blackhole',
                      facts)
        self.assertIn('prefix-list permit 198.51.100.0/24', facts)
        self.assertIn('relay ona-0a0a000b', facts)
        self.assertEqual([], [fact for fact in facts
                              if '198.51.100.12' in fact])

    def test_the_kernel_method(self):
        moved = picture.Picture((dataclasses.replace(ROUTER, owner='gw2'),))
        facts = demanded(GW2, every=moved)
        self.assertIn('route 10 198.51.100.12 via 169.254.0.1 dev '
                      'veth-provider', facts)
        self.assertEqual([], [fact for fact in facts
                              if fact.startswith('static ')])

    def test_the_default_vrf_has_no_pair(self):
        facts = demanded(GW1, FLAT)
        self.assertIn('static 198.51.100.12 br-ex', facts)
        self.assertEqual([], [fact for fact in facts if 'veth' in fact or
                              fact.startswith('rule ')])
        facts = demanded(dataclasses.replace(GW1, method='kernel'), FLAT)
        self.assertIn('route main 198.51.100.12 dev br-ex', facts)

    def test_a_vip(self):
        facts = demanded(dataclasses.replace(GW1, vips=(VIP,)))
        self.assertLessEqual({
            'dnat 198.18.0.10 80 to 10.10.0.31 7007',
            'address loopback1 198.18.0.10/32',
            'prefix-list permit 198.18.0.10/32', 'nft guarded veth-default',
            'rule 150 from all fwmark 0x100/0x100 lookup main',
            'rule 152 from all fwmark 0x200/0x200 blackhole'}, facts)

    def test_a_vip_without_a_gateway_port_is_dormant(self):
        facts = demanded(dataclasses.replace(GW2, vips=(VIP,)))
        self.assertIn('dnat 198.18.0.10 80 to 10.10.0.31 7007', facts)
        self.assertIn('prefix-list permit 198.18.0.10/32', facts)
        self.assertNotIn('address loopback1 198.18.0.10/32', facts)
        self.assertNotIn('nft guarded veth-default', facts)

    def test_a_node_without_ovn(self):
        vip = dataclasses.replace(VIP, announce='always')
        facts = demanded(dataclasses.replace(GW1, vips=(vip,)), ALONE,
                         picture.Picture())
        self.assertIn('address loopback1 198.18.0.10/32', facts)
        self.assertEqual([], [fact for fact in facts if 'br-ex' in fact or
                              'prefix-list' in fact])

    def test_nobody_knows_what_a_killed_agent_has_left(self):
        for agent in ('killed', 'paused'):
            self.assertIsNone(oracle.node(
                ALL, STATIC, dataclasses.replace(GW1, agent=agent)))

    def test_a_stopped_agent_leaves_nothing(self):
        stopped = oracle.node(ALL, STATIC,
                              dataclasses.replace(GW1, agent='stopped'))
        self.assertEqual([], stopped.differences(set()))
        self.assertEqual(
            ['too much: route main 198.51.100.12 dev br-ex'],
            stopped.differences({'route main 198.51.100.12 dev br-ex',
                                 'address br-ex 169.254.169.254/32'}))


class DifferencesTest(unittest.TestCase):

    def test_both_directions(self):
        wanted = oracle.node(ALL, STATIC, GW1)
        facts = set(wanted.must)
        self.assertEqual([], wanted.differences(facts))
        facts.remove('static 198.51.100.12 169.254.0.1')
        facts.add('static 198.51.100.99 169.254.0.1')
        self.assertEqual(
            ['missing: static 198.51.100.12 169.254.0.1',
             'too much: static 198.51.100.99 169.254.0.1'],
            wanted.differences(facts))


class SpineTest(unittest.TestCase):

    def differences(self, *facts, **agents):
        gateways = {gateway.name: dataclasses.replace(
            gateway, agent=agents.get(gateway.name, 'running'))
            for gateway in (GW1, GW2)}
        return oracle.spine(ALL, gateways).differences(set(facts))

    def test_the_owner_announces_alone(self):
        own = [f'announced by gw1 {address}' for address in ROUTER.addresses]
        self.assertEqual([], self.differences(*own))
        self.assertEqual(
            ['missing: announced by gw1 198.51.100.12'],
            self.differences(own[0]))
        self.assertEqual(
            ['too much: announced by gw2 198.51.100.12'],
            self.differences(*own, 'announced by gw2 198.51.100.12'))

    def test_what_a_killed_agent_announced_may_stay(self):
        own = [f'announced by gw1 {address}' for address in ROUTER.addresses]
        self.assertEqual([], self.differences(
            *own, 'announced by gw2 198.51.100.12', gw2='killed'))
        self.assertEqual(1, len(self.differences(
            *own, 'announced by gw2 198.51.100.12', gw2='stopped')))


class NorthboundTest(unittest.TestCase):

    def differences(self, router, macs=MACS, **agents):
        every = picture.Picture((router,))
        gateways = {gateway.name: dataclasses.replace(
            gateway, agent=agents.get(gateway.name, 'running'))
            for gateway in (GW1, GW2)}
        return oracle.northbound(every, gateways).differences(
            oracle.northbound_facts(every, macs))

    def test_the_rows_are_those_of_the_owner(self):
        self.assertEqual([], self.differences(ROUTER))
        moved = dataclasses.replace(ROUTER, owner='gw2')
        found = self.differences(moved)
        self.assertEqual(4, len(found), found)
        self.assertEqual([], self.differences(moved, gw2='paused'))

    def test_no_proof(self):
        route = dataclasses.replace(ROUTE, ids=tuple(
            item for item in ROUTE.ids if 'advertised' not in item[0]))
        self.assertEqual(2, len(self.differences(
            dataclasses.replace(ROUTER, defaults=(route,)))))

    def test_two_default_routes(self):
        self.assertIn('too much: 2 default routes of alpha',
                      self.differences(dataclasses.replace(
                          ROUTER, defaults=(ROUTE, ROUTE))))

    def test_a_row_of_a_router_that_is_gone(self):
        every = picture.Picture(orphans=('Static_MAC_Binding lrp-x',))
        self.assertEqual(
            ['too much: Static_MAC_Binding lrp-x'],
            oracle.northbound(every, {}).differences(
                oracle.northbound_facts(every, {})))

    def test_rank(self):
        gateways = {'gw1': GW1, 'gw2': GW2}
        self.assertEqual({}, oracle.rank(ALL, gateways))
        equal = picture.Picture((dataclasses.replace(
            ROUTER, candidates=(('gw1', 2), ('gw2', 2))),))
        self.assertEqual({'alpha': 'gw1 has 2, gw2 2'},
                         oracle.rank(equal, gateways))
        self.assertEqual({}, oracle.rank(equal, {
            'gw1': dataclasses.replace(GW1, agent='killed'), 'gw2': GW2}))


class IndependenceTest(unittest.TestCase):

    def test_no_code_of_the_agents(self):
        """An error of the agents must not be an error of the judge, too."""
        folder = pathlib.Path(oracle.__file__).parent
        for path in folder.rglob('*.py'):
            for node in ast.walk(ast.parse(path.read_text())):
                names = ([node.module or ''] if isinstance(
                    node, ast.ImportFrom) else [
                        one.name for one in node.names] if isinstance(
                            node, ast.Import) else [])
                for name in names:
                    self.assertFalse(name.startswith('ovn_network_agent'),
                                     f'{path}: {name}')
