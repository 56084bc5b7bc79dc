# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A restart of FRR is noticed without a process."""

import os
import queue
import threading

from oslo_config import cfg

from ovn_network_agent.common import notices
from ovn_network_agent.common import trigger
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches import base as watches
from ovn_network_agent.watches import restarts
from ovn_network_agent.watches.frr import frr_observers


class TestWatch(base.FrrTestCase):
    """Trap T41: what a restarted daemon has forgotten is restored soon."""

    def setUp(self):
        super().setUp()
        self.root_side(frr_run_dir=self.frr.rundir)
        self.trigger = trigger.Trigger(0)
        self.told = []
        # Where the agent looks itself, and where the root side looks.
        self.beats = watches.Heartbeat()
        self.beats.start(self.trigger)
        self.addCleanup(self.beats.stop)
        self.watch = frr_observers.restarts_of_frr(
            cfg.CONF, self.beats, lambda: self.told.append(1))

    def start(self):
        self.watch.start(self.trigger)
        self.addCleanup(self.watch.stop)

    def woken(self):
        """The next wake-up for a restart within 3 s."""
        wake = self.trigger.wait(3)
        self.assertIsNotNone(wake, 'nothing was noticed within 3 s')
        written = {'frr_static', 'frr_prefix_list', 'router_advertisement',
                   'evpn_instance'}
        self.assertEqual(written, worlds.doubted(wake))
        self.assertEqual(written, worlds.revived(wake))
        return wake

    def test_each_daemon(self):
        self.start()
        for name, config in (('staticd', ''), ('bgpd', base.BGP)):
            with self.subTest(name):
                self.frr.kill(name)
                before = self.watch.restarts
                self.frr.start(name, config=config)
                while self.watch.restarts == before:
                    self.woken()
        self.assertEqual(2, self.watch.restarts)
        self.frr.wait_for_session()

    def test_once_more_when_all_has_settled(self):
        self.start()
        self.frr.kill('staticd')
        self.frr.start('staticd')
        # At once, and when the sockets are the same a second later.
        self.woken()
        self.woken()
        wake = self.trigger.wait(8)
        self.assertIsNotNone(wake)
        self.assertEqual(3, len(self.told))
        self.assertIsNone(self.trigger.wait(2))

    def test_an_awaited_daemon_is_seen_sooner(self):
        """By the number of checks, not by a time."""
        looked = []

        class Watch(restarts.RestartWatch):

            def look(self):
                looked.append(1)
                super().look()

        watching = [Watch(self.beats, 'FRR', '', vtysh.read_sockets,
                          vtysh.read_sockets, 'word',
                          awaited=lambda a=awaited: a)
                    for awaited in (True, False)]
        counts = []
        for watch in watching:
            looked.clear()
            watch.start(self.trigger)
            self.addCleanup(watch.stop)
            self.assertIsNone(self.trigger.wait(2.5))
            watch.stop()
            counts.append(len(looked))
        self.assertGreater(counts[0], 2 * counts[1])

    def test_a_daemon_that_went_is_no_restart(self):
        self.frr.start('bfdd')
        self.start()
        self.frr.kill('bfdd')
        self.assertIsNone(self.trigger.wait(2.5))

    def test_directory_that_is_not_there_yet(self):
        self.root_side(frr_run_dir=self.frr.rundir + '/later')
        with self.assertLogs(restarts.__name__, 'WARNING') as logs:
            self.start()
            self.assertIsNone(self.trigger.wait(2.5))
        self.assertEqual(1, len(logs.output))
        self.assertIn('frr_run_dir', logs.output[0])
        os.symlink(self.frr.rundir, self.frr.rundir + '/later')
        self.addCleanup(os.unlink, self.frr.rundir + '/later')
        self.woken()

    def test_a_directory_that_is_closed_to_the_agent(self):
        def refused():
            raise PermissionError
        self.watch = restarts.RestartWatch(
            self.beats, 'FRR', '', refused, vtysh.read_sockets,
            notices.FRR_RESTARTED)
        self.start()
        self.assertIsNone(self.trigger.wait(2.5))
        self.frr.kill('staticd')
        self.frr.start('staticd')
        self.woken()

    def test_a_slow_privileged_side_delays_no_other_watch(self):
        def refused():
            raise PermissionError
        answers = threading.Semaphore()

        def slow():
            answers.acquire()
            return vtysh.read_sockets()
        self.watch = restarts.RestartWatch(
            self.beats, 'FRR', '', refused, slow, notices.FRR_RESTARTED)
        # The first reading is answered; the checks wait.
        self.start()
        self.addCleanup(answers.release, 100)
        beats = queue.SimpleQueue()
        self.beats.add(lambda: beats.put(self.named()))
        for _number in range(3):
            self.assertLessEqual(beats.get(timeout=10), 1)

    def named(self):
        """The number of threads that wait for the privileged side."""
        return sum(thread.name == 'watch-FRR'
                   for thread in threading.enumerate())
