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



"""Which digests of prefix lists are a change."""

from oslotest import base

from ovn_network_agent import notices
from ovn_network_agent.tests.unit import world
from ovn_network_agent.watches import frr_lists


class ListsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.conf = world.conf()
        self.told = []
        self.asked = []
        self.lists = {'zebra': ['a', 2], 'bgpd': ['a', 2]}
        self.watch = frr_lists.Lists(self.conf, self, self.read)

    def notice(self, word, by):
        self.assertEqual(notices.PREFIX_LISTS, word)
        self.told.append(by)

    def read(self, name, whole):
        self.asked.append(whole)
        if isinstance(self.lists, Exception):
            raise self.lists
        return {daemon: list(found) for daemon, found in self.lists.items()}

    def look(self, times=1):
        self.told.clear()
        for _number in range(times):
            self.watch.look()
        return self.told

    def test_the_first_look_and_changes(self):
        self.assertEqual(1, len(self.look()))
        self.assertEqual([], self.look(3))
        self.lists['bgpd'] = ['b', 1]
        self.assertEqual(['prefix list ANNOUNCED-NETWORKS has changed in '
                          'bgpd; FRR names no author'], self.look(3))

    def test_a_daemon_that_has_ended(self):
        self.look()
        gone = self.lists.pop('bgpd')
        self.assertEqual([], self.look(2))
        self.lists['bgpd'] = gone
        self.assertEqual([], self.look(2))

    def test_another_name(self):
        self.look()
        self.conf.set_override('frr_prefix_list', '', 'frr')
        self.asked.clear()
        self.assertEqual([], self.look(2))
        self.assertEqual([], self.asked)
        self.conf.set_override('frr_prefix_list', 'OTHER', 'frr')
        self.assertEqual(1, len(self.look(2)))

    def test_a_long_list_is_rarely_read_whole(self):
        for found in self.lists.values():
            found[1] = 10 * frr_lists.LINES
        self.look(20)
        self.assertEqual(([True] + [False] * 9) * 2, self.asked)
        # The number of lines, or their first or last number, has changed.
        self.look()
        self.lists['zebra'] = ['b', 3]
        self.assertEqual(1, len(self.look(5)))

    def test_a_daemon_that_hangs_is_asked_rarely_and_named_once(self):
        self.lists = TimeoutError(110, 'bgpd of FRR did not answer')
        with self.assertLogs(frr_lists.__name__, 'WARNING') as logs:
            self.look(20)
        self.assertEqual(4, len(self.asked))
        self.assertEqual(1, len(logs.output))
        self.lists = {'bgpd': ['a', 2]}
        self.assertEqual(1, len(self.look(5)))
