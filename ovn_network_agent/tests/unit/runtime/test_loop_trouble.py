# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the loop does while something fails."""

import threading

from oslotest import base

from ovn_network_agent.common import trigger
from ovn_network_agent.engine import reconciler
from ovn_network_agent.gateways import drain
from ovn_network_agent.ovn import view
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.runtime import loop
from ovn_network_agent.runtime.process import status
from ovn_network_agent.tests.unit import seen
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.gateways import views
from ovn_network_agent.tests.unit.runtime import test_loop
from ovn_network_agent.tests.unit.runtime import test_notify


class LoopTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.conf = world.conf(drivers=views.DRIVERS)
        self.trigger = trigger.Trigger(0)
        self.stopping = threading.Event()
        self.status = status.Status({})

    def loop(self, seen, forwards=None):
        work = reconciler.Reconciler([], [], lambda reason: None)
        self.addCleanup(work.close)
        return loop.Loop(self.conf, seen, work, self.trigger,
                         self.status, self.stopping, forwards=forwards)

    def test_what_is_due_waits_for_ovn(self):
        """Without OVN nothing can be done about it, and the loop sleeps."""
        databases = {
            name: connection.Database(name, 'unix:/nowhere',
                                      replica.Handler(), 1, 5000)
            for name in ('nb', 'sb', 'ovs')}
        made = self.loop(view.View(self.conf, databases,
                                   handovers=test_loop.Leaving(self.conf)))
        self.assertEqual(0.0, made._timeout())
        made._guarded_pass(trigger.Wake(('test',)))
        self.assertGreater(made._timeout(), 0.5)

    def test_without_ovn_nothing_that_fails_ends_the_loop(self):
        made = self.loop(view.View(self.conf, {'ovs': None}),
                         test_loop.Exhausted(self.conf))
        stop = threading.Timer(0.2, lambda: (
            self.stopping.set(), self.trigger.fire('stop', urgent=True)))
        stop.start()
        self.addCleanup(stop.join)
        made.run()
        reason, = self.status.reasons
        self.assertIn('Too many open files', reason)
        # And it is tried again.
        self.assertLess(made._timeout(), 10)

    def test_a_reload_does_not_say_ready_before_the_first_pass(self):
        supervisor = test_notify.Supervisor(self)
        told = status.Status({})
        made = loop.Loop(self.conf, None, None, self.trigger, told,
                         threading.Event(),
                         forwards=test_loop.Rules(self.conf))
        made.reload()
        made._apply_configuration()
        self.assertEqual([], supervisor.heard())
        told.ready(0)
        self.assertEqual([b'READY=1'], supervisor.heard())
        made.reload()
        made._apply_configuration()
        reloading, ready = supervisor.heard()
        self.assertIn(b'RELOADING=1', reloading)
        self.assertEqual(b'READY=1', ready)

    def test_a_reload_reads_the_rules_again(self):
        """Whether or not the rest of the configuration can be used."""
        forwards = test_loop.Rules(self.conf)
        made = loop.Loop(
            self.conf, None, None, self.trigger, status.Status({}),
            threading.Event(), forwards=forwards)
        made._apply_configuration()
        self.assertEqual(0, forwards.reread_times)
        made.reload()
        made._apply_configuration()
        self.assertEqual(1, forwards.reread_times)

    def test_a_drain_ends_only_by_what_the_servers_confirm(self):
        """Trap T27: a replica that lacks rows looks as if all had left."""
        torn = test_loop.Torn(self.trigger)
        draining = drain.Drain(self.conf, threading.Event())
        self.loop(torn).drain(draining)
        self.assertIs(drain.Result.COMPLETED, draining.result)
        self.assertEqual(4, torn.looks)

    def test_a_view_that_fails_does_not_end_the_agent(self):
        """The clean-up comes after the drain, whatever happens.  Trap T27."""
        failing = seen.Seen(self.conf,
                            handovers=test_loop.Leaving(self.conf))
        failing.last = views.view(own=5)

        def fail():
            raise ValueError('a bug')
        failing.meanwhile = fail
        second_stop = threading.Event()
        second_stop.set()
        draining = drain.Drain(self.conf, second_stop)
        self.loop(failing).drain(draining)
        self.assertIs(drain.Result.ERROR, draining.result)
