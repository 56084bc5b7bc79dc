# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver fip_route, for distributed floating IPs of machines here."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.drivers import fip_routes

FIP = fip_routes.FIP
OTHER = '198.51.100.11'
MAC = 'fa:16:3e:00:00:aa'


def distributed(address=FIP, resident=True, **values):
    return world.fip(address, distributed_mac=MAC, resident=resident,
                     **values)


def hosting(number=1, **values):
    """A gateway port of another chassis, with machines here."""
    return world.port(number, **{
        'local': False, 'chassis': world.OTHER, 'hosting': True, **values})


class MachinesTest(fip_routes.FipRouteTestCase):

    def test_only_the_machines_here_are_announced(self):
        for what, port, wanted in (
                ('a compute node', hosting(), [FIP]),
                ('a gateway with machines', world.port(hosting=True),
                 ['198.51.100.1', FIP, '198.51.100.12']),
                ('a gateway that has left', hosting(
                    handover=model.Handover.FORWARD), [FIP]),
                ('no machine here', hosting(hosting=False), [])):
            for method in ('kernel', 'static'):
                router = world.router(ports=(port,), nats=(
                    distributed(), distributed(OTHER, resident=False),
                    world.fip('198.51.100.12')))
                self.assertEqual(wanted, self.announced(
                    router, fip_route__announce_method=method), what)

    def test_what_a_machine_needs(self):
        router = world.router(ports=(hosting(),), nats=(
            distributed(), distributed('2001:db8::10')))
        wanted = self.wants(router)
        flows = {flow.dst: flow for flow in wanted
                 if isinstance(flow, resources.Flow)}
        self.assertEqual(
            (MAC, world.BRIDGE_MAC, 'in_port'),
            (flows[FIP + '/32'].set_dst, flows[FIP + '/32'].set_src,
             flows[FIP + '/32'].output))
        self.assertEqual(2, sum(1 for flow in wanted if isinstance(
            flow, resources.Flow) and flow.dst is None))
        self.assertIn('198.51.100.0/24', [
            entry.network for entry in wanted
            if isinstance(entry, resources.PrefixListEntry)])
        # What belongs to the router is of the chassis of its gateway.
        self.assertFalse({
            resources.DefaultRoute.kind, resources.MacBinding.kind,
            resources.Advertised.kind} & {each.kind for each in wanted})

    def test_the_port_of_an_address(self):
        """The row names one; without a name, the network decides."""
        ports = (hosting(1), hosting(2, networks=('198.51.100.2/24',),
                                     segment=world.segment(bridge='')))
        for nat, wanted in (
                (distributed(), [FIP]),
                (distributed(gateway_port='lrp-2'), []),
                (distributed(gateway_port='lrp-9'), [FIP])):
            self.assertEqual(wanted, self.announced(
                world.router(ports=ports, nats=(nat,))), nat)

    def test_centralised_rows_follow_the_port_that_they_name(self):
        ports = (world.port(1), world.port(2, local=False,
                                           chassis=world.OTHER))
        for named, wanted in (('', ['198.51.100.1', FIP]),
                              ('lrp-1', ['198.51.100.1', FIP]),
                              ('lrp-2', ['198.51.100.1'])):
            self.assertEqual(wanted, self.announced(world.router(
                ports=ports, nats=(world.fip(FIP, gateway_port=named),))))

    def test_a_node_without_the_network_says_so(self):
        port = hosting(segment=world.segment(bridge='', device='', mac='',
                                             patch_port=0))
        router = world.router(ports=(port,), nats=(distributed(),))
        self.assertEqual([], self.announced(router))
        problem, = self.kind(resources.Problem, router)
        self.assertEqual((FIP,), problem.addresses)
        for words in ('1 distributed', FIP, 'set ovn-bridge-mappings'):
            self.assertIn(words, problem.text)

    def test_the_mappings_are_no_remedy_for_another_fault(self):
        port = hosting(segment=world.segment(patch_port=0))
        problem, = self.kind(resources.Problem, world.router(
            ports=(port,), nats=(distributed(),)))
        self.assertIn('ovn-controller', problem.text)
        self.assertNotIn('mappings', problem.text)

    def test_the_binding_of_a_router_with_distributed_addresses(self):
        """It is not the MAC of one node: all nodes use it at once."""
        for nats, mac in (((world.fip(FIP),), world.BRIDGE_MAC),
                          ((distributed(resident=False),),
                           ownership.VIRTUAL_GATEWAY_MAC)):
            router = world.router(nats=nats)
            for each in (router, dataclasses.replace(router, ports=(
                    world.port(networks=('2001:db8::1/64',)),))):
                bindings = self.kind(resources.MacBinding, each)
                self.assertEqual({mac}, {one.mac for one in bindings})

    def test_it_is_withheld_like_any_other(self):
        router = world.router(
            ports=(hosting(),), nats=(distributed(),),
            withheld=((FIP, 'of its row'),))
        self.assertEqual([], self.announced(router))
        self.assertEqual({FIP + '/32'}, {
            flow.dst for flow in self.kind(resources.Flow, router)
            if flow.dst})
        self.assertEqual([], self.wants(dataclasses.replace(
            router, routed_by_ovn=True)))


class LeakTest(fip_routes.FipRouteTestCase):

    def test_the_leak_of_a_node_with_machines(self):
        driver = world.driver('veth_leak', world.conf())

        def rules(port):
            return {(rule.src, rule.dst) for rule in world.wanted(
                driver, world.router(ports=(port,)), world.node())
                if isinstance(rule, resources.Rule)}
        self.assertTrue(rules(hosting()))
        self.assertEqual(rules(world.port()), rules(hosting()))
        self.assertEqual(set(), rules(hosting(hosting=False)))
