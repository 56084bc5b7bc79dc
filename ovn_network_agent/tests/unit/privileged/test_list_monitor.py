# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Which digests of prefix lists are a change."""

from oslotest import base

from ovn_network_agent.privileged.routing import monitors


class LooksTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.asked = []
        self.lists = {'zebra': ('a', 2), 'bgpd': ('a', 2)}
        self.looks = monitors.Looks('LIST', self.read)

    def read(self, name, whole):
        self.assertEqual('LIST', name)
        self.asked.append(whole)
        if isinstance(self.lists, Exception):
            raise self.lists
        return self.lists

    def look(self, times=1):
        """What some looks have found, without those that found nothing."""
        found = [self.looks.changed() for _number in range(times)]
        return list(filter(None, found))

    def test_the_first_look_and_changes(self):
        self.assertEqual([['zebra', 'bgpd']], self.look())
        self.assertEqual([], self.look(3))
        self.lists['bgpd'] = ('b', 1)
        self.assertEqual([['bgpd']], self.look(3))

    def test_a_daemon_that_has_ended(self):
        self.look()
        gone = self.lists.pop('bgpd')
        self.assertEqual([], self.look(2))
        self.lists['bgpd'] = gone
        self.assertEqual([], self.look(2))

    def test_a_long_list_is_rarely_read_whole(self):
        self.lists = dict.fromkeys(self.lists, ('a', 10 * monitors.LINES))
        self.look(20)
        self.assertEqual(([True] + [False] * 9) * 2, self.asked)
        # The number of lines, or their first or last number, has changed.
        self.look()
        self.lists['zebra'] = ('b', 3)
        self.assertEqual([['zebra']], self.look(5))

    def test_a_change_during_a_failure_is_found_later(self):
        self.look()
        self.lists = TimeoutError(110, 'bgpd of FRR did not answer')
        self.assertRaises(TimeoutError, self.looks.changed)
        self.lists = {'bgpd': ('b', 2)}
        self.assertEqual([['bgpd']], self.look(5))
