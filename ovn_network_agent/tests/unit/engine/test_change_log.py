# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The lines of the log about changes, one by one and together."""

import fixtures
from oslotest import base

from ovn_network_agent import resources
from ovn_network_agent.engine import application


def route(number):
    return resources.KernelRoute(
        254, f'198.18.{number >> 8}.{number & 255}/32', 'br-ex')


class LinesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(application.__name__))

    def told(self, *changes):
        application.tell(changes)
        return self.log.output.splitlines()

    def test_one_by_one(self):
        said = self.told(*(('created', route(n)) for n in range(100)))
        self.assertEqual(100, len(said))
        self.assertEqual(
            'created kernel_route table=254 dst=198.18.0.0/32 dev=br-ex',
            said[0])

    def test_many_share_lines(self):
        said = self.told(*(('deleted', route(n)) for n in range(1020)))
        self.assertEqual(21, len(said))
        self.assertTrue(said[0].startswith(
            'deleted kernel_route, 1 to 50 of 1020: 254,198.18.0.0/32 '
            '254,198.18.0.1/32 '), said[0])
        self.assertTrue(said[-1].startswith(
            'deleted kernel_route, 1001 to 1020 of 1020: 254,198.18.3.232/32'),
            said[-1])

    def test_each_address_can_be_found(self):
        said = self.told(*(('created', route(n)) for n in range(1020)))
        words = {word for line in said for word in line.split()}
        self.assertEqual(set(), {
            f'254,{route(n).dst}' for n in range(1020)} - words)

    def test_few_beside_many(self):
        """They stay in the order in which they were made."""
        said = self.told(
            ('created', route(5000)),
            *(('deleted', route(n)) for n in range(101)),
            ('created', route(5001)))
        self.assertEqual(
            ['created kernel_route table', 'deleted kernel_route, 1',
             'deleted kernel_route, 51', 'deleted kernel_route, 101',
             'created kernel_route table'],
            [line.split('=')[0].split(' to ')[0] for line in said])
