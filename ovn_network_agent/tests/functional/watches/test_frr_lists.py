# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""Changes of the prefix lists of a real FRR are noticed."""

import queue
import threading
from unittest import mock

from ovn_network_agent import privileged
from ovn_network_agent.common import notices
from ovn_network_agent.frr import session
from ovn_network_agent.privileged.routing import monitors
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.unit import world as worlds
from ovn_network_agent.watches import base as watches
from ovn_network_agent.watches import notifications
from ovn_network_agent.watches.frr import frr_observers

PERMIT = 'permit 198.51.100.0/24 ge 32 le 32'


# Seconds to wait for something that must come, on a slow machine.
SOON = 30.0


class ListTestCase(base.FrrTestCase):
    """Has a list of two lines."""

    def setUp(self):
        super().setUp()
        self.root_side(frr_run_dir=self.frr.rundir)
        self.line('seq 1000000007 ' + PERMIT, 'seq 1000000021 deny any')

    def line(self, *texts, no=''):
        self.frr.configure(*(f'{no}ip prefix-list {base.LIST} {text}'
                             for text in texts))


class TestDigest(ListTestCase):

    def changed(self, change, whole=True):
        """Names of the daemons whose digest a change changes, a list."""
        before = monitors.list_digests(base.LIST, whole)
        self.assertEqual(before, monitors.list_digests(base.LIST, whole))
        change()
        after = monitors.list_digests(base.LIST, whole)
        return sorted(daemon for daemon in after
                      if before[daemon][0] != after[daemon][0])

    def test_each_daemon_and_family(self):
        both = ['bgpd', 'zebra']
        line = f'ip prefix-list {base.LIST} seq 1000000007 {PERMIT}'
        for change in (
                lambda: self.line('seq 1000000007 ' + PERMIT, no='no '),
                lambda: self.line('seq 1000000007 ' + PERMIT),
                lambda: self.line('seq 1000000007 ' + PERMIT.replace(
                    'permit', 'deny')),
                lambda: self.frr.configure(
                    f'ipv6 prefix-list {base.LIST} seq 5 permit any'),
                lambda: self.frr.configure(
                    f'no ipv6 prefix-list {base.LIST}')):
            self.assertEqual(both, self.changed(change))
        self.assertEqual(['bgpd'], self.changed(
            lambda: self.frr.configure_one('bgpd', line)))

    def test_lines_are_counted(self):
        few = monitors.list_digests(base.LIST, True)['bgpd'][1]
        self.line(*(f'seq {n} deny 10.0.{n}.0/24' for n in range(10, 20)))
        self.assertEqual(
            few + 10, monitors.list_digests(base.LIST, True)['bgpd'][1])

    def test_a_daemon_that_has_ended(self):
        """And one that was restarted answers at once."""
        before = monitors.list_digests(base.LIST, False)
        self.frr.kill('bgpd')
        try:
            self.assertEqual(
                ['zebra'], list(monitors.list_digests(base.LIST, True)))
        finally:
            self.frr.start('bgpd', config=base.BGP)
            self.frr.wait_for_session()
        after = monitors.list_digests(base.LIST, False)
        self.assertEqual(before['zebra'], after['zebra'])
        self.assertIn('bgpd', after)

    def test_a_daemon_that_hangs(self):
        with self.wedged('bgpd'), self.assertRaises(TimeoutError):
            monitors.list_digests(base.LIST, True)

    def test_both_daemons_are_asked_before_one_answers(self):
        monitors.list_digests(base.LIST, True)
        order = []
        for name in ('send', 'receive'):
            self.enterContext(mock.patch.object(
                session.Session, name, _noting(
                    order, name, getattr(session.Session, name))))
        monitors.list_digests(base.LIST, True)
        self.assertEqual(['send', 'send', 'receive', 'receive'], order)

    def test_an_answer_that_nobody_took_is_no_later_answer(self):
        """zebra has answered while bgpd hung, to another question."""
        few, all_lines = (monitors.list_digests(base.LIST, whole)
                          for whole in (False, True))
        with self.wedged('bgpd'), self.assertRaises(TimeoutError):
            monitors.list_digests(base.LIST, False)
        self.assertEqual(all_lines, monitors.list_digests(
            base.LIST, True))
        self.assertEqual(few, monitors.list_digests(base.LIST, False))


class WatchTest(ListTestCase):
    """The watch, with both of its sides in this process."""

    def setUp(self):
        super().setUp()
        privileged.frr.set_client_mode(False)
        self.addCleanup(privileged.frr.set_client_mode, True)
        self.conf = worlds.conf(frr__frr_prefix_list=base.LIST)
        self.fix_limits(self.conf)
        self.told = queue.SimpleQueue()
        self.beats = watches.Heartbeat()
        self.beats.start(None)
        self.addCleanup(self.beats.stop)

    def notice(self, word, by):
        self.assertEqual(notices.PREFIX_LISTS, word)
        self.told.put(by)

    def watch(self):
        lists = frr_observers.Lists(self.conf, self, self.beats)
        lists.start(None)
        self.addCleanup(self.ended)
        self.addCleanup(lists.stop)
        # What came before the subscription is unknown.
        self.comes('not reported')
        return lists

    def comes(self, text):
        self.assertIn(text, self.told.get(timeout=SOON))

    def threads(self):
        return [thread.name for thread in threading.enumerate()
                if 'prefix lists' in thread.name or
                thread.name == 'list-monitor']

    def ended(self):
        waiting.eventually(lambda: not self.threads(), self.threads, SOON)

    def test_changes(self):
        """The first attempt does not wait."""
        self.enterContext(mock.patch.object(
            frr_observers.ListWatch, 'RETRY', notifications.LONGEST * 100))
        self.enterContext(mock.patch.object(
            notifications, 'LONGEST', notifications.LONGEST * 100))
        self.watch()
        self.line('seq 1000000007 ' + PERMIT, no='no ')
        self.comes(f'prefix list {base.LIST} has changed in ')
        while not self.told.empty():
            self.told.get()
        self.frr.configure_one(
            'zebra', f'ip prefix-list {base.LIST} seq 5 {PERMIT}')
        self.comes(f'prefix list {base.LIST} has changed in zebra; FRR')

    def test_a_daemon_that_was_restarted_lacks_its_lines(self):
        self.watch()
        self.frr.kill('bgpd')
        self.frr.start('bgpd', config=base.BGP)
        self.comes(f'prefix list {base.LIST} has changed in bgpd')
        self.frr.wait_for_session()

    def test_a_daemon_that_hangs_is_reported_once(self):
        self.watch()
        with self.assertLogs(notifications.__name__, 'INFO') as logs:
            with self.wedged('bgpd'):
                waiting.eventually(lambda: logs.output, 'a warning', SOON)
            self.comes('not reported')
        self.assertEqual(
            ['WARNING', 'INFO'],
            [record.levelname for record in logs.records])
        self.assertIn('bgpd of FRR did not answer', logs.output[0])
        self.line('seq 1000000007 ' + PERMIT, no='no ')
        self.comes('has changed in')

    def test_a_bug_of_the_privileged_side_does_not_blind_the_agent(self):
        self.watch()
        with mock.patch.object(
                threading, 'excepthook') as hook, mock.patch.object(
                monitors.Looks, 'changed', side_effect=KeyError), (
                    self.assertLogs(notifications.__name__, 'WARNING')) as log:
            waiting.eventually(lambda: log.output, 'a warning', SOON)
            # The thread tells the agent of its end before it ends.
            waiting.eventually(lambda: hook.call_count, 'a report', SOON)
        self.assertEqual(1, hook.call_count)
        self.comes('not reported')

    def test_another_list(self):
        self.watch()
        self.conf.set_override('frr_prefix_list', '', 'frr')
        self.ended()
        self.conf.set_override('frr_prefix_list', 'OTHER', 'frr')
        self.fix_limits(self.conf)
        self.comes('not reported')
        self.frr.configure(f'ip prefix-list OTHER seq 5 {PERMIT}')
        self.comes('prefix list OTHER has changed in ')

    def test_frr_that_hangs_holds_up_neither_start_nor_end(self):
        lists = frr_observers.Lists(self.conf, self, self.beats)
        self.addCleanup(self.ended)
        with self.wedged('bgpd'):
            lists.start(None)
            lists.stop()
            lists.stop()
            self.assertTrue(self.told.empty())


def _noting(order, name, function):
    def noting(*args):
        order.append(name)
        return function(*args)
    return noting
