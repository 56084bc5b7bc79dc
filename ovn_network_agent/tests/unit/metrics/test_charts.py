# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The picture of a dashboard is small, and shows each value."""

import math
import os

import fixtures
from oslotest import base

from ovn_network_agent.tests import tools

charts = tools.load('charts')


class ChartsTest(base.BaseTestCase):

    def drawn(self, *series, panels=1):
        """The picture of equal panels, a text."""
        path = os.path.join(self.useFixture(fixtures.TempDir()).path, 'it')
        charts.write([charts.Panel(
            f'panel {number}', 'timeseries',
            (8 * (number % 3), 8 * (number // 3), 8, 8), series)
            for number in range(panels)], 0, 300, path)
        with open(path) as opened:
            return opened.read()

    def test_its_size(self):
        """A page of the documentation has it."""
        curves = [charts.Series(f'gw{node}', tuple(
            (float(at), float(at // (30 + node))) for at in range(300)))
            for node in range(2)]
        found = self.drawn(*curves, panels=24)
        self.assertLess(len(found), 100_000)
        self.assertEqual(24, found.count('>gw1<'))

    def test_a_value_between_gaps_is_a_dot(self):
        points = [(0.0, 1.0), (10.0, 1.0), (20.0, 1.0), (60.0, 2.0),
                  (100.0, 1.0), (110.0, 1.0)]
        gaps = charts.with_gaps(points)
        self.assertEqual([(60.0, 2.0)], charts.alone(gaps))
        self.assertEqual([(0.0, 1.0)], charts.alone([(0.0, 1.0)]))
        found = self.drawn(charts.Series('gw1', tuple(points)))
        self.assertEqual(1, found.count('<use'))

    def test_numbers_of_an_axis_keep_their_digits(self):
        found = self.drawn(charts.Series('gw1', ((0.0, 0.0), (9.0, 0.041))))
        self.assertIn('>0.02<', found)
        self.assertNotRegex(found, r'[ML] \d+\.\d\d')

    def test_corners(self):
        points = [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 2), (6, 2)]
        self.assertEqual([(0, 1), (2, 1), (3, 2), (6, 2)],
                         charts.corners(points))
        # A gap stays one: it equals nothing.
        gap = (1.5, math.nan)
        self.assertEqual([(0, 1), (1, 1), gap, (2, 1)], charts.corners(
            [(0, 1), (1, 1), gap, (2, 1)]))
