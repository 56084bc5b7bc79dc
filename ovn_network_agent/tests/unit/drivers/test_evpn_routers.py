# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Drivers evpn and others: routers on networks with a VNI."""

import dataclasses

from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import world

FIP, TENANT, VIA = '198.51.100.77', '10.0.0.0/24', '198.51.100.1'
UUID = '1a2b3c4d-5e6f-4711-8888-999999999999'
END = 'vrf1a2b3c4d-5e'
TABLE = ownership.EVPN_TABLES.start + 1001
RED = model.Vni(1001)
MAC = 'fa:16:3e:00:00:01'
OTHERS = ('fip_route', 'veth_leak', 'tenant_network', 'gateway_drain',
          'port_forward')


def port(**values):
    return world.port(**{'vni': RED, 'network': UUID, **values})


def served(of=None, **values):
    return model.ServedAddress(**{
        'router': 'r', 'called': 'red-router', 'address': FIP, 'mac': MAC,
        'port': of or port(), 'kinds': ('fip',), **values})


def prefix(of=None, **values):
    return model.TenantPrefix(**{
        'router': 'r', 'called': 'red-router', 'prefix': TENANT,
        'subnet': TENANT, 'network': 'net', 'port': of or port(), 'via': VIA,
        **values})


class RoutersTest(base.BaseTestCase):

    def wanted(self, subject, name='evpn', **options):
        driver = world.driver(name, world.conf(**{
            'drivers': ['evpn', *OTHERS], 'evpn__local_ip': '10.0.100.11',
            **options}))
        return list(driver.resources(subject, world.node()))

    def test_an_address(self):
        neighbour, route = self.wanted(served())
        self.assertEqual(resources.Neighbour(END, FIP, '', MAC), neighbour)
        self.assertEqual(resources.VniRoute(TABLE, f'{FIP}/32', END,
                                            vni=1001), route)
        self.assertLessEqual({
            neighbour.ref, resources.Ref('vni_port', (END,)),
            resources.Ref('evpn_instance', (1001,))}, {*route.requires})
        self.assertEqual(served().subject, route.subject)

    def test_a_machine_of_a_distributed_floating_ip(self):
        elsewhere = port(local=False, hosting=True, chassis='other')
        neighbour, _route = self.wanted(served(
            elsewhere, resident=True, mac='fa:16:3e:00:00:99'))
        self.assertEqual('fa:16:3e:00:00:99', neighbour.lladdr)
        self.assertEqual([], self.wanted(served(answered=False)))

    def test_a_prefix_goes_through_the_gateway_port(self):
        neighbour, route = self.wanted(prefix())
        self.assertEqual(resources.Neighbour(END, VIA, '', MAC), neighbour)
        self.assertEqual(resources.VniRoute(TABLE, TENANT, END, VIA,
                                            vni=1001), route)
        self.assertEqual(prefix().subject, route.subject)
        # The address of the port itself has the same neighbour.
        self.assertIn(neighbour, self.wanted(served(address=VIA)))

    def test_a_port_that_has_left(self):
        """The VRF forwards what still comes by the route of the next owner.
        """
        for handover in model.Handover:
            left = port(local=False, handover=handover, chassis='other')
            for subject in (served(left), prefix(left)):
                self.assertEqual([], self.wanted(subject))

    def test_in_doubt(self):
        for subject, dst, via in ((served(port(segment=None)), f'{FIP}/32',
                                   FIP),
                                  (prefix(port(segment=None)), TENANT, VIA),
                                  (prefix(claim=model.Claim.UNKNOWN,
                                          rivals=('x',)), TENANT, VIA)):
            self.assertEqual({resources.Ref('neighbour', (END, via)),
                              resources.Ref('vni_route', (TABLE, dst))}, {
                each.of for each in self.wanted(subject)
                if isinstance(each, resources.Keep)})

    def test_what_is_left_out(self):
        for subject in (served(withheld='by an option'),
                        prefix(withheld='by an option'),
                        served(address='10.0.0.9', kinds=('vip',))):
            self.assertEqual([], self.wanted(subject))
        for subject, text in (
                (served(address='203.0.113.9'),
                 'it is in no network of the gateway port lrp-1'),
                (served(unanswered='of another row'), 'because of another'),
                (prefix(claimed='blue'),
                 'overlaps with the provider network of router blue'),
                (prefix(prefix='100.64.100.11/32'),
                 'this node announces it as its own')):
            problem, = self.wanted(subject)
            self.assertIn('in VNI 1001', problem.text)
            self.assertIn(text, problem.text)

    def test_a_wrong_vni(self):
        bad = port(vni=model.Vni(0, problem='it is wrong'))
        for subject in (served(bad), prefix(bad)):
            self.assertEqual([], self.wanted(subject))
        problem, = self.wanted(world.router(ports=(bad,)).bare)
        self.assertIn('none of its addresses is announced, because it is '
                      'wrong', problem.text)
        # What it sends would be in the underlay.
        self.assertEqual([], self.wanted(world.router(ports=(bad,)).bare,
                                         'fip_route'))
        self.assertEqual([], self.wanted(world.router(ports=(port(),)).bare))

    def test_other_drivers(self):
        """They have the rows of OVN, and the order of candidates."""
        bridge = model.GroupPort(
            'cr-lrp-1', 'other', 'lrp-1', ('198.51.100.1/24',),
            world.segment(), ('10.0.0.0/24',), routed=('10.0.1.0/24',),
            vni=RED)
        group = model.GatewayGroup('Gateway_Chassis', 'g', ports=(bridge,))
        for name in OTHERS:
            for subject in (served(), served(kinds=('snat',)), prefix(),
                            world.router(ports=(port(),)).bare, group):
                driver = world.driver(name, world.conf(drivers=list(OTHERS)))
                if type(subject) not in driver.SUBJECTS:
                    continue
                kinds = {each.kind for each in self.wanted(subject, name)}
                self.assertLessEqual(kinds, {'default_route', 'mac_binding',
                                             'relay_port', 'relay'}, name)

    def test_the_virtual_gateway(self):
        """Its MAC is nobody's in the underlay, and no proof is wanted."""
        router = world.router(ports=(port(),)).bare
        wanted = {each.kind: each for each in self.wanted(router,
                                                          'fip_route')}
        self.assertEqual({'default_route', 'mac_binding'}, wanted.keys())
        self.assertEqual(ownership.VIRTUAL_GATEWAY_MAC,
                         wanted['mac_binding'].mac)
        plain = dataclasses.replace(router, ports=(world.port(),))
        self.assertIn('advertised', {each.kind for each
                                     in self.wanted(plain, 'fip_route')})

    def test_addresses_of_routers_elsewhere(self):
        """Nobody in OVN here answers machines that ask for them by IPv6."""
        network = model.ProviderNetwork(
            UUID, 'red', ('2001:db8:50::/64',), world.segment(), vni=RED,
            elsewhere=('2001:db8:50::77',))
        self.assertIn((END, '2001:db8:50::77'), [
            (each.dev, each.dst) for each in self.wanted(network)
            if isinstance(each, resources.NeighbourProxy)])
