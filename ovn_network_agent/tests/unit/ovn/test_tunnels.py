# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Which gateways a drain takes for dead."""

from oslotest import base

from ovn_network_agent.ovn.chassis import tunnels

ONE, TWO = '10.0.0.1', '10.0.0.2'
UP = {'state': 'up', 'diagnostic': 'Control Detection Time Expired'}
EXPIRED = {'state': 'down', 'diagnostic': 'Control Detection Time Expired'}
# What an overlap looks like, from both ends.
NEW = {'state': 'down', 'diagnostic': 'No Diagnostic'}
SIGNALED = {'state': 'down', 'diagnostic': 'Neighbor Signaled Session Down'}


class TunnelsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.tunnels = tunnels.Tunnels(None)

    def judged(self, now, *found):
        """What a chassis is then: '', 'silent' or 'dead'."""
        self.tunnels.judge({ONE: list(found)}, now)
        self.assertLessEqual(self.tunnels.dead, self.tunnels.silent)
        return ('dead' if ONE in self.tunnels.dead else
                'silent' if ONE in self.tunnels.silent else '')

    def test_one_that_does_not_answer_takes_nothing(self):
        self.assertEqual('silent', self.judged(0, EXPIRED))
        self.assertEqual('silent', self.judged(14, EXPIRED))
        self.assertEqual('dead', self.judged(15, EXPIRED))
        self.assertEqual('', self.judged(16, UP))

    def test_without_bfd_nobody_is_silent(self):
        self.assertEqual('', self.judged(0))
        self.assertEqual('', self.judged(1000))

    def test_an_interruption_is_no_death(self):
        for status in NEW, SIGNALED:
            self.assertEqual('', self.judged(100, status))
            self.assertEqual('', self.judged(114, status))
            self.assertEqual('dead', self.judged(115, status))
            # It counts again from the start.
            self.judged(116, UP)
            self.assertEqual('', self.judged(117, status))
            self.judged(118, UP)

    def test_one_of_two_tunnels_is_enough(self):
        self.assertEqual('', self.judged(0, EXPIRED, UP))

    def test_the_answer_of_the_database(self):
        self.assertEqual({ONE: [UP], TWO: []}, tunnels.statuses([ONE, TWO], [
            [{'bfd_status': ['map', list(map(list, UP.items()))]},
             {'bfd_status': ['map', []]}], []]))
