# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The summary, its text, table and picture; a bad run is a bad summary."""

import dataclasses
import json
import pathlib
import tempfile
import unittest
from xml.etree import ElementTree

from lab.chaos import growth
from lab.chaos import hostload
from lab.chaos import plot
from lab.chaos import profiles
from lab.chaos import runner
from lab.chaos import summary as summaries
from lab.chaos import values
from ovn_network_agent.tests.unit.lab.chaos import test_losses

PROFILE = profiles.PROFILES['static']


def material(text, *violations, excuses=()):
    episode = test_losses.episode(
        began=100.0, ended=100.5, settled=101.0, excuses=excuses,
        moves=[values.Move(100.2, 'alpha', 'gw2')])
    return summaries.Material(
        profile=PROFILE, began=100.0, ended=100.0 + 0.1 * len(text),
        samples=[test_losses.samples(text, begin=100.0)],
        episodes=[dataclasses.replace(
            episode, violations=tuple(violations))],
        violations=list(violations),
        routes=[(100.4, '198.51.100.12', frozenset({'gw2'}))],
        moves=episode.moves, leaks={'leaked': 0}, usage={'load': 1.0},
        growth=growth.Growth(), errors=[])


def made(*args, **kwargs):
    """As it comes back from the file."""
    return json.loads(json.dumps(summaries.make(material(*args, **kwargs))))


class SummaryTest(unittest.TestCase):

    def test_a_good_run(self):
        summary = made('.' * 1000)
        self.assertEqual((1000, 0, 0.0, []), (
            summary['sent'], summary['lost'], summary['loss_share'],
            summary['violations']))
        self.assertTrue(runner.passed(summary, PROFILE))

    def test_losses_fail_a_run(self):
        summary = made('.' * 990 + 'x' * 10)
        self.assertEqual(0.01, summary['loss_share'])
        self.assertFalse(runner.passed(summary, PROFILE))

    def test_excused_losses_do_not(self):
        summary = made('.' * 990 + 'x' * 10, excuses=[
            values.Excuse(values.ALL, 198.95, 200.0, 'power')])
        self.assertEqual((0, 10, 0.0, 0.01), (
            summary['lost'], summary['excused'], summary['loss_share'],
            summary['whole_loss_share']))
        self.assertTrue(runner.passed(summary, PROFILE))

    def test_a_violation_fails_a_run_and_counts_once(self):
        summary = made('.' * 1000, values.Violation(
            values.ORACLE, 'gw1', 'missing: x', 100.7))
        self.assertEqual([{'kind': 'oracle', 'subject': 'gw1', 'detail':
                           'missing: x', 'at': 0.7}], summary['violations'])
        self.assertFalse(runner.passed(summary, PROFILE))
        self.assertIn('VIOLATION at 0.7 s, oracle gw1: missing: x',
                      summaries.text(summary))

    def test_the_picture_has_losses_and_violations(self):
        summary = made('.' * 90 + 'x' * 10, values.Violation(
            values.ORACLE, 'gw1', 'missing: <x> & "$y$"', 100.7))
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, 'plot.svg')
            plot.write(summary, path)
            root = ElementTree.parse(path)
        texts = [one.text for one in root.iter() if one.tag.endswith('}text')]
        for text in ('oracle gw1: missing: <x> & "$y$"',
                     *(one['subject'] for one in summary['targets'])):
            self.assertIn(text, texts)


class HostTest(unittest.TestCase):

    def test_measurements_are_merged(self):
        with tempfile.TemporaryDirectory() as directory:
            folder = pathlib.Path(directory)
            (folder / 'summary.json').write_text(json.dumps(made('...')))
            (folder / hostload.NAME).write_text('\n'.join(
                json.dumps({'at': at, 'load': load, 'ticks': 100 * at,
                            'idle': 25 * at, 'steal': 5 * at})
                for at, load in ((0, 1.0), (10, 3.0))))
            summary = summaries.add_host(directory)
            self.assertEqual((2.0, 3.0, 0.75, 0.05), tuple(
                summary['host'][name] for name in (
                    'load_mean', 'load_max', 'busy_share', 'steal_share')))
            self.assertIn('steal_share',
                          (folder / 'summary.txt').read_text())

    def test_a_real_measurement(self):
        found = hostload.evaluate([hostload.line(), hostload.line()])
        self.assertGreaterEqual(found['load_max'], 0)
        self.assertEqual({}, hostload.evaluate([hostload.line()]))
