# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Phases of the agent, and the plan of a pass."""

import threading

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import executor
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit.engine import gateways

ANNOUNCEMENT = gateways.ANNOUNCEMENT
DST = gateways.DST
FIP = gateways.FIP
PROOF = gateways.PROOF
ROUTE = gateways.ROUTE
# What a standby for the network of a router has of it.
PREPARED = {
    *(resources.Ref('flow', ('br-ex', 900, 3, family, None))
      for family in (4, 6)),
    resources.Ref('prefix_list_entry', ('ANNOUNCED-NETWORKS',
                                        '198.51.100.0/24', 32, 32)),
    resources.Ref('rule', (2000, '198.51.100.0/24', None, None, None, None)),
    *(resources.Ref('rule', (2001, *ends, 'br-ex', None, None)) for ends in (
        ('198.51.100.0/24', None), (None, '198.51.100.0/24')))}


class PhaseTest(gateways.ReconcilerTestCase):

    def test_stopped_leaves_nothing_but_what_others_need(self):
        gateway = self.gateway()
        moved = cloud.router(2, ports=(cloud.port(
            2, local=False, chassis=cloud.OTHER),), default_routes=(
            model.NbDefaultRoute('198.51.100.254', 'lrp-2', True,
                                 cloud.OWNER),))
        theirs = {
            resources.DefaultRoute(moved.uuid, 'lrp-2', '198.51.100.254',
                                   cloud.OWNER),
            resources.MacBinding('lrp-2', '198.51.100.254', cloud.BRIDGE_MAC)}
        gateway.world.put(*theirs)
        gateway.run(cloud.router(fips=[FIP]), moved)
        self.assertLess(theirs, gateway.world.values())
        outcome = gateway.run(cloud.router(fips=[FIP]), moved,
                              phase=model.Phase.STOPPED)
        self.assertTrue(outcome.settled)
        left = gateway.world.values()
        self.assertEqual(theirs, {r for r in left if not r.retained})
        # A sysctl's earlier value is not known, so it stays as it is.
        # And the proof goes with its route.
        self.assertEqual({'sysctl', 'link_up', 'advertised'},
                         {r.kind for r in left - theirs})

    def test_stopped_keeps_nothing_in_doubt(self):
        """A segment that cannot be used; nobody is left to use it again."""
        for segment in (None, cloud.segment(patch_port=0),
                        cloud.segment(bridge='', device='', mac='')):
            gateway = self.gateway()
            gateway.run(cloud.router(fips=[FIP]))
            doubtful = cloud.router(
                fips=[FIP], ports=(cloud.port(segment=segment),))
            self.assertTrue(gateway.run(doubtful).settled)
            self.assertIn(DST, gateway.addresses())
            self.assertEqual(1, len(gateway.world.found(
                resources.DefaultRoute)))
            outcome = gateway.run(doubtful, phase=model.Phase.STOPPED)
            self.assertTrue(outcome.settled, outcome)
            self.assertEqual(set(), gateway.addresses())
            self.assertEqual(set(), {
                r for r in gateway.world.values() if not r.retained})

    def test_nor_when_its_driver_raises_then(self):
        """Whether or not its segment was in doubt before."""
        for segment in None, cloud.segment():
            gateway = self.gateway()
            router = cloud.router(fips=[FIP], ports=(
                cloud.port(segment=segment),))
            gateway.run(cloud.router(fips=[FIP]))
            gateway.run(router)
            gateway.fip_route.raises_for.add(router.uuid)
            outcome = gateway.run(router, phase=model.Phase.STOPPED)
            self.assertTrue(outcome.settled)
            self.assertEqual(set(), gateway.addresses())
            self.assertNotIn(ROUTE, gateway.world.objects)

    def test_nothing_is_deleted_before_the_view_is_complete(self):
        gateway = self.gateway()
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')
        gateway.world.put(stray)
        self.assertTrue(gateway.run(prune=False).changes)
        self.assertIn(stray, gateway.world.values())
        gateway.run()
        self.assertNotIn(stray, gateway.world.values())

    def test_a_right_value_that_is_newly_wanted_is_not_set(self):
        """The values of a VLAN are wanted only when its router is known."""
        gateway = self.gateway()
        gateway.run()
        vlan = cloud.router(fips=[FIP], ports=(cloud.port(
            segment=cloud.segment(device='br-ex.101', vlan=101)),))
        right = resources.Sysctl('net/ipv4/conf/br-ex.101/proxy_arp', '1')
        wrong = resources.Sysctl('net/ipv4/conf/br-ex.101/forwarding', '0')
        gateway.world.put(right, wrong)
        gateway.world.journal.clear()
        gateway.run(vlan)
        changed = dict(map(reversed, gateway.world.journal))
        self.assertNotIn(right.ref, changed)
        self.assertEqual('update', changed[wrong.ref])
        self.assertEqual('1', gateway.world.objects[wrong.ref].value)

    def test_rows_are_read_again_when_the_node_has_its_name(self):
        """Without the name, none of the rows in NB is the node's own."""
        gateway = self.gateway()
        gateway.run(prune=False, chassis='', hostname='')
        rows = {'advertised', 'bfd_timers', 'egress_networks',
                'gateway_priority', 'northbound'}
        for named, expected in ({}, rows), ({}, set()), (
                {'hostname': 'other'}, rows):
            gateway.world.reads.clear()
            gateway.run(**named)
            self.assertEqual(expected, set(gateway.world.reads))

    def test_no_router_at_all(self):
        """Rows FIP-15, OVS-04 and VETH-07, of a candidate and without."""
        router = cloud.router(1, [FIP])
        standby = [cloud.group(cloud.away(router))]
        for groups, prepare, prepared in (
                ((), True, False), (standby, False, False),
                (standby, True, True)):
            gateway = self.gateway(fip_route__standby_prepare=prepare)
            gateway.run()
            bare = gateway.world.values()
            gateway.run(router, groups=groups and [cloud.group(router)])
            gateway.run(groups=groups)
            self.assertEqual(
                PREPARED if prepared else set(),
                {r.ref for r in gateway.world.values() - bare
                 if not r.retained})
            self.assertLessEqual(bare, gateway.world.values())
            self.assertEqual(set(), gateway.addresses())
            # At the stop it goes, too.
            gateway.run(groups=groups, phase=model.Phase.STOPPED)
            self.assertEqual(set(), {r for r in gateway.world.values()
                                     if not r.retained})


class PlanTest(gateways.ReconcilerTestCase):

    def planned(self, gateway, *routers):
        before = gateway.world.values()
        steps, outcome = gateway.reconciler.plan(cloud.snapshot(*routers))
        self.assertEqual(before, gateway.world.values())
        self.assertEqual([], gateway.world.journal)
        return [(verb, resource.ref) for verb, resource in steps], outcome

    def test_it_is_what_a_pass_then_does(self):
        gateway = self.gateway()
        gateway.world.put(
            resources.KernelRoute(254, '203.0.113.9/32', 'br-ex'),
            resources.KernelRoute(254, DST, 'br-other'),
            resources.Announcement('vrf-provider', '203.0.113.9/32',
                                   '169.254.0.1'))
        routers = (cloud.router(1, [FIP]), cloud.router(2, ['198.51.100.20']))
        steps, outcome = self.planned(gateway, *routers)
        self.assertTrue(outcome.settled)
        self.assertEqual({'create', 'update', 'delete'},
                         {verb for verb, _ref in steps})
        gateway.start()
        gateway.run(*routers)
        self.assertEqual(steps, gateway.world.journal)

    def test_it_says_what_cannot_be_read(self):
        gateway = self.gateway()
        gateway.world.down.add('frr_static')
        stray = resources.KernelRoute(254, '203.0.113.9/32', 'br-ex')
        gateway.world.put(stray)
        steps, outcome = self.planned(gateway, cloud.router(1, [FIP]))
        self.assertEqual(['frr_static: frr_static is down'], outcome.degraded)
        # And what it says for certain is what a pass then does.
        gateway.start()
        gateway.run(cloud.router(1, [FIP]))
        self.assertEqual([step for step in steps if step[0] != 'unknown'],
                         gateway.world.journal)
        self.assertEqual(
            {ANNOUNCEMENT, PROOF, stray.ref, resources.Ref(
                'announcement', ('vrf-provider', '198.51.100.1/32'))},
            {ref for verb, ref in steps if verb == 'unknown'})


class VniTest(gateways.ReconcilerTestCase):
    """What is there of a VNI that nothing wants, as after a restart."""

    def setUp(self):
        super().setUp()
        self.devices = resources.VniDevices(
            1001, 10_001_001, '06:6f:00:00:00:01', '192.0.2.11', 4789, 1450)
        self.rule = resources.VniRule(1100, resources.BLACKHOLE,
                                      iif='vrf-1001')
        self.instance = resources.EvpnInstance(1001, 0, '192.0.2.11')
        self.made = self.gateway(
            threads=lambda wake: executor.Threads(wake, 0.05))
        self.world = self.made.world

    def deleted(self):
        return [ref for verb, ref in self.world.journal if verb == 'delete']

    def test_what_keeps_packets_in_outlives_the_devices(self):
        self.world.put(self.devices, self.rule)
        self.world.refuses[self.devices.ref] = 'busy'
        self.made.run()
        self.assertEqual([], self.deleted())
        self.world.refuses.clear()
        self.made.clock += 100
        self.made.run()
        self.assertEqual([self.devices.ref, self.rule.ref], self.deleted())

    def test_the_devices_outlive_the_instance(self):
        self.world.put(self.devices, self.instance)
        backend, gate = self.made.backend('evpn_instance'), threading.Event()
        self.addCleanup(gate.set)
        apply, backend.system = backend.apply, 'FRR'
        backend.apply = lambda delta: gate.wait(10) and apply(delta)
        self.made.run()
        self.made.run()
        self.assertEqual([], self.deleted())
        gate.set()
        self.assertTrue(self.made.reconciler.wait_for_threads(10))
        self.made.run()
        self.assertEqual([self.instance.ref, self.devices.ref], self.deleted())
