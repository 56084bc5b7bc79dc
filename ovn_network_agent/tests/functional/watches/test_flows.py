# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""Changes of flows by others are noticed, and nothing else is."""

import queue
import signal
import threading
import time
from unittest import mock

from ovn_network_agent.backends import base as backends
from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import wire
from ovn_network_agent.privileged.switch import flow_monitor
from ovn_network_agent.privileged.switch import openflow
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.openflow import base
from ovn_network_agent.watches import flows
from ovn_network_agent.watches import notifications

# Seconds to wait for something that must come, on a slow machine.
SOON = 30.0
FLOW = base.hairpin('198.51.100.10/32')
MATCH = 'in_port=3,ip,nw_dst=198.51.100.10'
# A flow of others at a priority of the agent, which marks a moment.
MARK = 'priority=900,in_port=77,actions=drop'


class WatchTest(base.FlowTestCase):

    def setUp(self):
        super().setUp()
        self.told = queue.SimpleQueue()
        self.marks = 0x1000
        self.assertEqual({}, self.create(FLOW))

    def create(self, *wanted):
        return self.backend.apply(backends.Delta(create=wanted))

    def watch(self):
        watch = flows.FlowWatch(self.told.put, base.BRIDGE)
        watch.start()
        self.addCleanup(watch.stop)
        # What came before the subscription is unknown.
        self.assertEqual(flow_monitor.MISSED, self.told.get(timeout=SOON))
        return watch

    def told_until_now(self):
        """What was told before a change that is told for certain."""
        self.marks += 1
        self.ovs.add(f'cookie={self.marks:#x},{MARK}')
        found = []
        while not found or f'{self.marks:#x}' not in found[-1]:
            found.append(self.told.get(timeout=SOON))
        return [text for text in found[:-1] if 'cookie 0x1' not in text]

    def test_what_others_do_to_flows_of_ours(self):
        self.watch()
        for change, text in (
                (('del-flows', 'cookie=0x998/-1'), 'cookie 0x998 .* deleted'),
                (('add-flow', f'cookie=0x998,priority=910,{MATCH},'
                  'actions=drop'), 'cookie 0x998 .* added'),
                (('mod-flows', f'{MATCH},actions=normal'),
                 'cookie 0x998 .* modified'),
                (('add-flow', f'cookie=0x5,priority=910,{MATCH},'
                  'actions=drop'), 'cookie 0x5 .* priority 910'),
                (('add-flow', 'cookie=0x999,table=7,priority=1,'
                  'actions=drop'), 'cookie 0x999 .* added')):
            with self.subTest(text):
                command, *fields = change
                self.ovs.ofctl(command, base.BRIDGE, *fields)
                self.assertRegex(' '.join(self.told_until_now()), text)

    def test_what_concerns_nobody(self):
        self.watch()
        self.told_until_now()
        self.ovs.add('priority=5,actions=normal',
                     'table=7,priority=910,actions=drop',
                     'priority=911,in_port=3,actions=drop')
        self.ovs.ofctl('del-flows', base.BRIDGE, 'cookie=0/-1,table=7')
        self.assertEqual([], self.told_until_now())

    def test_own_changes_do_not_count(self):
        """Trap T65, for flows."""
        self.watch()
        self.told_until_now()
        others = [base.hairpin(f'198.51.100.{n}/32') for n in range(20, 120)]
        self.assertEqual({}, self.create(base.mac_tweak(), *others))
        self.assertEqual({}, self.backend.apply(backends.Delta(
            update=((FLOW, base.hairpin('198.51.100.10/32', mac=base.MAC)),),
            delete=tuple(others))))
        self.assertEqual([], self.told_until_now())

    def test_flows_of_others_are_not_replaced(self):
        """The watch knows of them, so that no change has to ask for them."""
        theirs = {prefix: f'cookie=0x5,priority=910,ip,in_port=3,'
                          f'nw_dst={prefix.partition("/")[0]},actions=drop'
                  for prefix in ('198.51.100.11/32', '198.51.100.12/32')}
        early, late = map(base.hairpin, theirs)
        before, after = theirs.values()
        ours = base.hairpin('198.51.100.13/32')
        self.ovs.add(before)
        self.watch()
        self.assertEqual({early.ref}, set(self.create(early, ours)))
        self.ovs.add(after)
        self.assertIn('0x5', self.told.get(timeout=SOON))
        self.assertEqual({early.ref, late.ref},
                         set(self.create(early, late, base.mac_tweak())))
        self.assertEqual({FLOW, ours, base.mac_tweak()}, self.read())
        # A removal does not remove theirs either.
        self.assertEqual({}, self.backend.apply(backends.Delta(
            delete=(early, late, ours))))
        self.assertEqual({FLOW, base.mac_tweak()}, self.read())
        self.assertEqual(2, self.theirs())

    def theirs(self):
        return sum('cookie=0x5,' in flow for flow in self.ovs.flows())

    def test_a_flow_of_another_program_comes_beside_ours(self):
        """While the watch knows of none, changes do not ask for any."""
        self.watch()
        there = openflow._connections[openflow.socket_path(base.BRIDGE)]
        self.assertEqual(set(), there.shared)
        asked = there.next_xid()
        self.assertEqual({}, self.create(base.mac_tweak()))
        self.assertEqual({}, self.backend.apply(backends.Delta(
            delete=(base.mac_tweak(),))))
        # Each change is one message and the barrier behind it.
        self.assertEqual(asked + 5, there.next_xid())
        self.ovs.add(f'cookie=0x5,priority=910,{MATCH},actions=drop')
        self.assertIn('0x5', self.told.get(timeout=SOON))
        self.assertEqual({910}, there.shared)
        self.assertEqual({FLOW.ref}, set(self.create(FLOW)))
        self.assertEqual(1, self.theirs())

    def test_a_restart_of_open_vswitch(self):
        self.watch()
        with self.assertLogs(notifications.__name__, 'WARNING') as logs:
            self.ovs.restart()
            while self.told.get(timeout=SOON) != flow_monitor.MISSED:
                pass
        # One line for an outage.
        self.assertEqual(1, len(logs.output), logs.output)
        self.assertEqual({}, self.create(FLOW))
        self.assertEqual([], self.told_until_now())
        self.ovs.ofctl('del-flows', base.BRIDGE, 'cookie=0x998/-1')
        self.assertIn('0x998', self.told.get(timeout=SOON))

    def test_a_bridge_that_is_made_anew(self):
        self.watch()
        with self.assertLogs(notifications.__name__, 'WARNING'):
            self.ovs.vsctl('--no-wait', 'del-br', base.BRIDGE)
            self.ovs.vsctl('--no-wait', 'add-br', base.BRIDGE, '--', 'set',
                           'bridge', base.BRIDGE, 'datapath_type=netdev')
            while self.told.get(timeout=SOON) != flow_monitor.MISSED:
                pass
        waiting.eventually(
            lambda: base._listens(f'{self.ovs.rundir}/{base.BRIDGE}.mgmt'),
            'the bridge is there', SOON)

    def test_no_switch_at_the_start(self):
        directory = self.ovs.rundir + '/none'
        self.configure(ovs_rundir=directory)
        with self.assertLogs(notifications.__name__, 'WARNING') as logs:
            watch = flows.FlowWatch(self.told.put, base.BRIDGE)
            watch.start()
            self.addCleanup(watch.stop)
            waiting.eventually(lambda: logs.output, 'a warning', SOON)
        self.configure(ovs_rundir=self.ovs.rundir)
        self.assertEqual(flow_monitor.MISSED, self.told.get(timeout=SOON))

    def test_open_vswitch_that_hangs(self):
        """Neither the start nor the end of the agent waits for it."""
        observer = flows.Flows(self.backend.conf, self)
        self.ovs.signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            observer.start(None)
            observer.stop()
            observer.stop()
            self.assertLess(time.monotonic() - began, connection.SILENCE)
        finally:
            self.ovs.signal(signal.SIGCONT)
        waiting.eventually(
            lambda: not any('flows' in thread.name
                            for thread in threading.enumerate()),
            'the threads have ended', SOON)

    def notice(self, word, by):
        self.told.put(by)

    def test_a_storm_while_nobody_reads(self):
        """A notice comes after all changes, whichever of them got lost.

        The switch pauses the monitor when its buffer is full.  The notice of
        that gets lost, too, when older notices fill the socket.
        """
        self.watch()
        with openflow._lock:
            self.ovs.add(*(f'cookie={0x2000 + n:#x},priority=900,ip,in_port=3,'
                           f'nw_dst=10.{n >> 8}.{n & 255}.1,actions=drop'
                           for n in range(8000)))
            self.ovs.ofctl('del-flows', base.BRIDGE, 'cookie=0x998/-1')
            self.assertTrue(self.told.empty())
        self.told.get(timeout=SOON)
        self.assertNotIn(FLOW, self.read())
        # After it, everything is told again.
        self.assertEqual({}, self.create(FLOW))
        self.until_silence()
        there = openflow._connections[openflow.socket_path(base.BRIDGE)]
        waiting.eventually(lambda: there.shared == {900},
                           'what was missed is known', SOON)
        self.ovs.ofctl('del-flows', base.BRIDGE, 'cookie=0x998/-1')
        self.assertIn('0x998', self.told.get(timeout=SOON))

    def until_silence(self):
        """Take all notices until none comes for a second."""
        deadline = time.monotonic() + SOON
        while time.monotonic() < deadline:
            try:
                self.told.get(timeout=1)
            except queue.Empty:
                return
        self.fail('the storm does not end')

    def test_an_open_vswitch_without_a_monitor(self):
        """Version 2.15 refuses the request."""
        path = openflow.socket_path(base.BRIDGE)
        relay = flow_monitor.Relay(path, _Deaf())
        with (mock.patch.object(wire, '_FLOW_MONITOR', 4711),
              self.assertRaises(OSError)):
            openflow.with_switch(path, relay.begin)
        self.assertEqual({FLOW}, self.read())


class _Deaf:
    """In the place of a socket that nobody reads."""

    def shutdown(self, how):
        pass
