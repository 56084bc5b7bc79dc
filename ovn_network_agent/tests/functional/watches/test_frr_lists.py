# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.



"""Digests of the prefix lists of a real FRR."""

from ovn_network_agent.frr import session
from ovn_network_agent.privileged import prefix_lists
from ovn_network_agent.privileged import vty
from ovn_network_agent.tests import programs
from ovn_network_agent.tests.functional.frr import base

PERMIT = 'permit 198.51.100.0/24 ge 32 le 32'


class TestDigest(base.FrrTestCase):

    def setUp(self):
        super().setUp()
        self.root_side(frr_run_dir=self.frr.rundir)
        self.addCleanup(vty.close)
        self.line('seq 1000000007 ' + PERMIT, 'seq 1000000021 deny any')

    def line(self, *texts, no=''):
        self.frr.configure(*(f'{no}ip prefix-list {base.LIST} {text}'
                             for text in texts))

    def changed(self, change, whole=True):
        """Names of the daemons whose digest a change changes, a list."""
        before = prefix_lists.read_digest(base.LIST, whole)
        self.assertEqual(before, prefix_lists.read_digest(base.LIST, whole))
        change()
        after = prefix_lists.read_digest(base.LIST, whole)
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

    def test_number_of_lines(self):
        """What a short question shows."""
        self.assertEqual(['bgpd', 'zebra'], self.changed(
            lambda: self.line('seq 1000000007 ' + PERMIT, no='no '), False))
        self.assertEqual(['bgpd', 'zebra'], self.changed(
            lambda: self.line('seq 1000000009 deny 192.0.2.0/24'), False))

    def test_lines_are_counted(self):
        few = prefix_lists.read_digest(base.LIST, True)['bgpd'][1]
        self.line(*(f'seq {n} deny 10.0.{n}.0/24' for n in range(10, 20)))
        self.assertEqual(
            few + 10, prefix_lists.read_digest(base.LIST, True)['bgpd'][1])

    def test_costs_no_process(self):
        with programs.started() as found:
            for whole in (True, False):
                prefix_lists.read_digest(base.LIST, whole)
        self.assertEqual([], found)

    def test_the_sessions_stay_open(self):
        prefix_lists.read_digest(base.LIST, True)
        self.addCleanup(setattr, session, 'Session', session.Session)
        # A new session would be an error.
        session.Session = None
        for whole in (False, True):
            self.assertEqual({'bgpd', 'zebra'}, prefix_lists.read_digest(
                base.LIST, whole).keys())

    def test_a_daemon_that_was_restarted_answers_at_once(self):
        before = prefix_lists.read_digest(base.LIST, False)
        self.frr.kill('bgpd')
        self.frr.start('bgpd', config=base.BGP)
        self.frr.wait_for_session()
        after = prefix_lists.read_digest(base.LIST, False)
        self.assertEqual(before['zebra'], after['zebra'])
        self.assertIn('bgpd', after)

    def test_a_daemon_that_has_ended(self):
        self.frr.kill('bgpd')
        try:
            self.assertEqual(
                ['zebra'], list(prefix_lists.read_digest(base.LIST, True)))
        finally:
            self.frr.start('bgpd', config=base.BGP)
            self.frr.wait_for_session()

    def test_a_daemon_that_hangs(self):
        with self.wedged('bgpd'), self.assertRaises(TimeoutError):
            prefix_lists.read_digest(base.LIST, True)
