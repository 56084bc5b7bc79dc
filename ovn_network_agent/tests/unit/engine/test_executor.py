# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backends that work beside the loop."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.engine import executor
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

DST = gateways.DST
FIP = gateways.FIP
PROOF = gateways.PROOF


class Wanting(drivers.Driver):
    """Wants some resources, always."""

    SUBJECTS = (model.Node,)

    def __init__(self, name, conf, *wanted):
        super().__init__(name, conf)
        self.wanted = wanted

    def resources(self, subject, node):
        return self.wanted


class BesideTest(gateways.ReconcilerTestCase):

    def slow(self):
        """A gateway whose northbound works beside the loop."""
        world = worlds.World()
        backends = worlds.backends(world)
        gateway = self.gateway(world=world, backends=backends)
        nb = gateway.backend('northbound')
        nb.concurrent = True
        self.addCleanup(nb.gate.set)
        return gateway, nb

    def ended(self, gateway):
        self.assertTrue(gateway.reconciler.wait_for_threads(10))

    def test_a_slow_database_delays_nothing(self):
        # Trap T31: what is announced does not wait for OVN NB.
        gateway, nb = self.slow()
        nb.gate.clear()
        outcome = gateway.run(cloud.router(fips=[FIP]))
        self.assertEqual(('northbound',), outcome.pending)
        self.assertFalse(outcome.settled)
        self.assertIn(DST, gateway.addresses())
        outcome = gateway.run(cloud.router(fips=[FIP, '198.51.100.11']))
        self.assertIn('198.51.100.11/32', gateway.addresses())
        self.assertEqual([], gateway.woken)
        nb.gate.set()
        self.ended(gateway)
        outcome = gateway.run(cloud.router(fips=[FIP, '198.51.100.11']))
        self.assertTrue(outcome.settled)
        self.assertEqual(['northbound done'], gateway.woken)
        self.assertEqual(1, len(gateway.world.found(resources.DefaultRoute)))

    def test_the_proof_waits_for_what_is_under_way_and_that_is_no_fault(
            self):
        gateway, nb = self.slow()
        nb.gate.clear()
        self.assertEqual([], gateway.run(cloud.router(fips=[FIP])).degraded)
        self.assertNotIn(PROOF, gateway.world.objects)
        nb.gate.set()
        self.ended(gateway)
        self.assertTrue(gateway.run(cloud.router(fips=[FIP])).settled)
        self.assertIn(PROOF, gateway.world.objects)

    def test_no_proof_without_the_default_route(self):
        gateway, nb = self.slow()
        route = resources.Ref(
            'default_route', (cloud.router().uuid, '0.0.0.0/0'))
        gateway.world.refuses[route] = 'not ours'
        outcome = gateway.run(cloud.router(fips=[FIP]))
        while outcome.pending:
            self.ended(gateway)
            outcome = gateway.run(cloud.router(fips=[FIP]))
        self.assertEqual({route, PROOF}, set(outcome.failures))
        self.assertNotIn(PROOF, gateway.world.objects)

    def test_those_that_come_last_do_not_wait_for_each_other(self):
        world = worlds.World()
        gateway = self.gateway(world=world, backends=worlds.backends(world))
        for name in ('advertised', 'gateway_priority'):
            gateway.backend(name).concurrent = True
        proof = gateway.backend('advertised')
        self.addCleanup(proof.gate.set)
        proof.gate.clear()
        lead = resources.GatewayPriority('Gateway_Chassis', 'g',
                                         cloud.CHASSIS, 2)
        gateway.drivers.append(worlds.driver(
            'lead', worlds.conf(), Wanting, (lead,)))
        waiting.eventually(
            lambda: gateway.run(cloud.router(fips=[FIP])).pending ==
            ('advertised',), 'all but the proof', 10)
        self.assertIn(lead.ref, world.objects)
        self.assertNotIn(PROOF, world.objects)

    def hanging(self, name='frr_static'):
        """A gateway where FRR may hang, and its backend that does."""
        gateway = self.gateway(
            world=worlds.World(),
            threads=lambda wake: executor.Threads(wake, 0.05))
        for each in ('frr_static', 'frr_prefix_list'):
            gateway.backend(each).system = 'FRR'
        self.settle(gateway)
        backend = gateway.backend(name)
        self.addCleanup(backend.gate.set)
        backend.gate.clear()
        return gateway, backend

    def test_what_the_waiting_need_stays(self):
        """What keeps packets in stays with the devices that FRR needs."""
        gateway, backend = self.hanging('evpn_instance')
        backend.system = 'FRR'
        backend.gate.set()
        rule = resources.VniRule(1100, resources.BLACKHOLE, iif='br-7')
        devices = resources.VniDevices(7, 10, '', '', 4789, 1450,
                                       requires=(rule.ref,))
        instance = resources.EvpnInstance(7, 0, '192.0.2.1',
                                          requires=(devices.ref,))
        wanting = worlds.driver('vnis', worlds.conf(), Wanting,
                                (rule, devices, instance))
        gateway.drivers.append(wanting)
        self.settle(gateway)
        self.assertIn(instance.ref, gateway.world.objects)
        backend.gate.clear()
        wanting.wanted, wanting.settings = (), None
        self.assertEqual(('evpn_instance',), gateway.run().pending)
        self.assertIn(rule.ref, gateway.world.objects)
        backend.gate.set()
        self.ended(gateway)
        self.settle(gateway)
        self.assertNotIn(rule.ref, gateway.world.objects)

    def settle(self, gateway, *routers):
        outcome = gateway.run(*routers)
        while outcome.pending:
            self.ended(gateway)
            outcome = gateway.run(*routers)
        self.assertTrue(outcome.settled, outcome)

    def routes(self, gateway):
        return {key[1] for key in gateway.world.found(resources.KernelRoute)}

    def test_frr_in_its_usual_time_needs_one_pass_and_wakes_nobody(self):
        # Trap T44, and the next two.
        gateway, frr = self.hanging()
        frr.gate.set()
        gateway.threads.patience = 10
        del gateway.woken[:]
        self.assertTrue(gateway.run(cloud.router(fips=[FIP])).settled)
        self.assertTrue(gateway.run(full=True).settled)
        self.assertEqual([], gateway.woken)

    def test_what_frr_works_on_keeps_its_route(self):
        """Trap T44: the router has left before FRR has answered.

        While FRR announces the address, and while FRR withdraws it.
        """
        for announced in (False, True):
            gateway, frr = self.hanging()
            if announced:
                frr.gate.set()
                self.settle(gateway, cloud.router(fips=[FIP]))
                frr.gate.clear()
            else:
                self.assertEqual([], gateway.run(
                    cloud.router(fips=[FIP])).degraded)
            for _pass in range(3):
                self.assertEqual([], gateway.run().degraded)
                self.assertIn(DST, self.routes(gateway))
                self.assertEqual(announced, DST in gateway.addresses())
            frr.gate.set()
            self.settle(gateway)
            self.assertEqual(set(), gateway.addresses())
            self.assertNotIn(DST, self.routes(gateway))

    def test_no_address_before_its_line_in_the_prefix_list(self):
        # Trap T44: the order is that of the stages.
        gateway, lines = self.hanging('frr_prefix_list')
        for _pass in range(3):
            gateway.run(cloud.router(fips=[FIP]))
            self.assertEqual(set(), gateway.addresses())
        self.assertIn(DST, self.routes(gateway))
        lines.gate.set()
        self.settle(gateway, cloud.router(fips=[FIP]))
        order = gateway.world.order('create')
        self.assertLess(order.index('prefix_list_entry'),
                        order.index('announcement'))

    def test_work_is_never_done_twice_at_a_time(self):
        gateway, nb = self.slow()
        nb.gate.clear()
        for _pass in range(5):
            gateway.run(cloud.router())
        nb.gate.set()
        self.ended(gateway)
        gateway.run(cloud.router())
        self.assertEqual(
            1, [ref.kind for _v, ref in gateway.world.journal].count(
                'default_route'))

    def test_what_changed_meanwhile_is_read_when_it_has_ended(self):
        # Somebody else writes while we do, and the notice comes before our
        # own work is collected.
        gateway, nb = self.slow()
        nb.gate.clear()
        gateway.run(cloud.router())
        nb.gate.set()
        self.ended(gateway)
        ref = resources.Ref('mac_binding', ('lrp-1', '198.51.100.254'))
        gateway.world.put(dataclasses.replace(
            gateway.world.objects[ref], mac='0a:00:00:00:00:99'))
        gateway.run(cloud.router(), stale=['northbound'])
        self.ended(gateway)
        self.assertTrue(gateway.run(cloud.router()).settled)
        self.assertEqual(cloud.BRIDGE_MAC, gateway.world.objects[ref].mac)

    def test_a_failure_beside_the_loop_costs_only_its_plane(self):
        for error in KeyError('a bug'), base.BackendError('is down'):
            gateway, _nb = self.slow()
            gateway.run()
            gateway.world.raises['northbound'] = error
            gateway.run(cloud.router())
            self.ended(gateway)
            outcome = gateway.run(cloud.router(fips=[FIP]))
            self.assertIn(error.args[0], outcome.unreadable['northbound'])
            self.assertFalse(outcome.settled)
            self.assertIn(DST, gateway.addresses())
            gateway.world.raises.clear()
            gateway.clock += 60
            gateway.run(cloud.router())
            self.ended(gateway)
            self.assertTrue(gateway.run(cloud.router()).settled)
