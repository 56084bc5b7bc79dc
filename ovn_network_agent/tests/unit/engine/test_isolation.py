# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What fails costs only itself, and is tried again."""

import dataclasses

import fixtures

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.common import normal_wait
from ovn_network_agent.engine import passes
from ovn_network_agent.model import port_forwards
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import golden
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.tests.unit.engine import gateways

ANNOUNCEMENT = gateways.ANNOUNCEMENT
DST = gateways.DST
FIP = gateways.FIP
HAIRPIN = gateways.HAIRPIN
PROOF = gateways.PROOF
ROUTE = gateways.ROUTE


class IsolationTest(gateways.ReconcilerTestCase):

    def test_one_bad_item_costs_only_itself(self):
        gateway = self.gateway()
        bad = resources.Ref('sysctl', ('net/ipv4/conf/br-ex/proxy_arp',))
        gateway.world.refuses[bad] = 'read-only file system'
        outcome = gateway.run(cloud.router(fips=[FIP]))
        self.assertEqual({bad: 'read-only file system'}, outcome.failures)
        self.assertIn(DST, gateway.addresses())

    def test_what_was_refused_is_not_tried_at_every_event(self):
        gateway = self.gateway()
        gateway.world.refuses[ROUTE] = 'no memory'
        gateway.run(cloud.router(fips=[FIP]))
        gateway.world.refuses.clear()
        # Another event, before the time: still failed, nothing tried.
        outcome = gateway.run(cloud.router(fips=[FIP, '198.51.100.11']))
        self.assertEqual('no memory', outcome.failures[ROUTE])
        self.assertNotIn(DST, gateway.addresses())
        self.assertIn('198.51.100.11/32', gateway.addresses())
        self.assertIsNotNone(gateway.reconciler.next_retry())
        gateway.clock += 60
        self.assertTrue(gateway.run(
            cloud.router(fips=[FIP, '198.51.100.11'])).settled)
        self.assertIn(DST, gateway.addresses())

    def test_a_refusal_is_said_once(self):
        """And again for another reason, or after a success."""
        gateway = self.gateway()
        log = self.useFixture(fixtures.FakeLogger(
            format='%(levelname)s %(message)s'))

        def lines(reason):
            gateway.world.refuses[ROUTE] = reason
            gateway.clock += 60
            before = len(log.output)
            gateway.run(cloud.router(fips=[FIP]), stale=['route'])
            return [line for line in log.output[before:].splitlines()
                    if line.startswith(('INFO kernel_route',
                                        'WARNING kernel_route'))]

        wait = normal_wait.Reason('not known yet')
        for reason, level in (('no memory', 'WARNING '), ('no memory', None),
                              (wait, 'INFO '), ('no route', 'WARNING '),
                              ('', None), ('no route', 'WARNING ')):
            with self.subTest(reason):
                self.assertEqual(
                    [f'{level}kernel_route 254,{DST}: {reason}'] if level
                    else [], lines(reason))
                # Where it was made, another program removes it.
                gateway.world.objects.pop(ROUTE, None)

    def test_a_system_that_fails_in_turns_is_a_warning_now_and_then(self):
        gateway = self.gateway()
        log = self.useFixture(fixtures.FakeLogger(
            format='%(levelname)s %(message)s'))
        levels = []
        for seconds in (1, 1, 30, 1):
            for down in ({'route'}, set()):
                gateway.world.down = down
                gateway.clock += seconds
                gateway.reconciler.invalidate(revived=['route'])
                gateway.run(cloud.router(fips=[FIP]))
            levels += [line.split()[0] for line in log.output.splitlines()
                       if line.endswith('route is down')][len(levels):]
        self.assertEqual(['WARNING', 'INFO', 'INFO', 'WARNING'], levels)

    def test_what_was_refused_is_tried_when_it_changes(self):
        gateway = self.gateway()
        gateway.world.refuses_once[HAIRPIN] = 'no such MAC'
        gateway.run(cloud.router(fips=[FIP]))
        self.assertNotIn(HAIRPIN, gateway.world.objects)
        other = cloud.port(mac='fa:16:3e:00:00:77')
        self.assertTrue(gateway.run(
            cloud.router(fips=[FIP], ports=(other,))).settled)
        self.assertEqual(other.mac, gateway.world.objects[HAIRPIN].set_dst)

    def test_a_last_pass_does_not_wait_for_the_time(self):
        gateway = self.announcing()
        gateway.world.refuses_once[ANNOUNCEMENT] = 'vtysh is stuck'
        gateway.run(phase=model.Phase.STOPPED)
        gateway.run(phase=model.Phase.STOPPED)
        self.assertNotIn(ANNOUNCEMENT, gateway.world.objects)

    def test_port_forwards_without_their_plane(self):
        """Row LOOP-01: no nftables, no VIP, and all else as ever."""
        gateway = self.gateway()
        gateway.drivers.append(worlds.driver('port_forward', worlds.conf()))
        gateway.start()
        view = dataclasses.replace(
            cloud.snapshot(cloud.router(fips=[FIP])),
            forwards=port_forwards.Forwards((golden.vip(),), True))
        gateway.world.down.add('nftables')
        outcome = gateway.reconciler.run(passes.Pass(view))
        self.assertEqual(['nftables'], list(outcome.unreadable))
        self.assertIn(DST, gateway.addresses())
        self.assertEqual({}, gateway.world.found(resources.VipAddress))
        # By itself, and not before its back-off is over.
        gateway.world.down.clear()
        self.assertFalse(gateway.reconciler.run(passes.Pass(view)).settled)
        gateway.clock += gateway.reconciler.next_retry()
        self.assertTrue(gateway.reconciler.run(passes.Pass(view)).settled)
        self.assertEqual([('loopback1', '192.0.2.53/32')],
                         list(gateway.world.found(resources.VipAddress)))

    def test_a_backend_that_fails_costs_only_itself(self):
        for error in KeyError('a bug'), backends.BackendError('is down'):
            gateway = self.gateway()
            gateway.world.raises['northbound'] = error
            outcome = gateway.run(cloud.router(fips=[FIP]))
            self.assertEqual(['northbound'], [*outcome.unreadable])
            self.assertIn(error.args[0], outcome.unreadable['northbound'])
            self.assertIn(DST, gateway.addresses())
            self.assertEqual({}, gateway.world.found(resources.DefaultRoute))
            gateway.world.raises.clear()
            gateway.clock += 60
            self.assertTrue(gateway.run(cloud.router(fips=[FIP])).settled)

    def test_a_backend_that_gets_its_bug_later(self):
        gateway = self.gateway()
        gateway.run(cloud.router())
        gateway.world.raises['rule'] = KeyError('a bug')
        other = cloud.router(2, fips=[FIP], ports=(cloud.port(
            2, networks=('203.0.113.2/24',)),),
            nats=(cloud.fip('203.0.113.9'),))
        outcome = gateway.run(cloud.router(), other)
        self.assertIn('a bug', outcome.unreadable['rule'])
        self.assertIn('203.0.113.9/32', gateway.addresses())

    def test_nothing_is_withdrawn_from_what_cannot_be_read(self):
        for name in worlds.BACKENDS:
            gateway = self.gateway()
            gateway.run(cloud.router(fips=[FIP]))
            before = gateway.world.values()
            gateway.world.down.add(name)
            outcome = gateway.run(cloud.router(fips=[FIP]), full=True)
            self.assertEqual(before, gateway.world.values())
            self.assertEqual([name], list(outcome.unreadable))

    def test_what_is_down_is_not_asked_at_every_event(self):
        gateway = self.gateway()
        gateway.world.down.add('frr_static')
        gateway.run(cloud.router(fips=[FIP]))
        gateway.world.down.clear()
        reads = len(gateway.world.reads)
        gateway.run(cloud.router(fips=[FIP]))
        self.assertEqual(reads, len(gateway.world.reads))
        self.assertEqual(1, gateway.reconciler.next_retry())
        gateway.clock += 1
        self.assertTrue(gateway.run(cloud.router(fips=[FIP])).settled)
        self.assertIsNone(gateway.reconciler.next_retry())
        self.assertIn(DST, gateway.addresses())

    def test_a_change_that_worked_is_no_reading(self):
        # What vanished is noticed by reading only: that it failed must not
        # be forgotten because a change came through.
        gateway = self.announcing()
        del gateway.world.objects[ANNOUNCEMENT]
        gateway.world.mute.add('frr_static')
        router = cloud.router(fips=[FIP, '198.51.100.11'])
        outcome = gateway.run(router, stale=['frr_static'])
        self.assertIn('198.51.100.11/32', gateway.addresses())
        self.assertEqual({'frr_static': 'frr_static cannot be read'},
                         outcome.unreadable)
        self.assertEqual(1, gateway.reconciler.next_retry())
        gateway.world.mute.clear()
        gateway.clock += 1
        self.assertTrue(gateway.run(router).settled)
        self.assertIn(DST, gateway.addresses())

    def test_what_half_failed_is_read_again(self):
        # The item is there although it was reported as failed.
        gateway = self.gateway()
        gateway.world.refuses_once[ROUTE] = 'answer lost'
        gateway.run(cloud.router(fips=[FIP]))
        gateway.world.put(resources.KernelRoute(254, DST, 'br-ex'))
        gateway.clock += 60
        del gateway.world.journal[:]
        self.assertTrue(gateway.run(cloud.router(fips=[FIP])).settled)
        self.assertEqual([('create', HAIRPIN), ('create', ANNOUNCEMENT),
                          ('create', PROOF)], gateway.world.journal)
