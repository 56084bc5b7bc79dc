# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Parts of the benchmark: pictures, the plan of a day, processes."""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import fixtures
from oslotest import base

from ovn_network_agent.tests import tools
from ovn_network_agent.tests import waiting
from tools.bench import __main__ as command
from tools.bench import churn
from tools.bench import facts
from tools.bench import page
from tools.bench import plot
from tools.bench import processes
from tools.bench import results


def document(*medians):
    """A document with one value for each (subject, method, size, ms)."""
    run = results.Run({})
    for subject, method, size, ms in medians:
        run.add(results.Key('one added', 'all', 'ms', subject, method, size,
                            10), ms)
    return {'format': results.FORMAT, 'runs': [run.document()]}


def drawn_in(path):
    """The curves that a picture shows."""
    return json.loads(next(
        element.text for element in xml.etree.ElementTree.parse(path).iter()
        if element.tag.endswith('}description')))


class PlotTest(base.BaseTestCase):

    def test_points_of_each_subject_by_size(self):
        self.assertEqual(
            {'ours kernel': [(0, 9), (100, 10)], 'peer': [(100, 300)]},
            plot.points(document(('ours', 'kernel', 100, 10),
                                 ('ours', 'kernel', 0, 9),
                                 ('peer', '', 100, 300)), 'one added'))

    def test_the_picture_names_all(self):
        curves = {'ours kernel': [[0, 9], [10000, 11]], 'a<b': [[100, 3000]]}
        path = self.useFixture(fixtures.TempDir()).join('drawn.svg')
        plot.draw('one added', curves, path)
        texts = [element.text for element in
                 xml.etree.ElementTree.parse(path).iter()
                 if element.tag.endswith('text')]
        for name in ('ours kernel', 'a<b', '0', '100', '10,000'):
            self.assertIn(name, texts)
        self.assertEqual(curves, drawn_in(path))

    def test_what_was_not_measured_has_none(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(
                ['speed-added.svg'], [os.path.basename(path) for path in
                                      plot.write(document(
                                          ('ours', 'kernel', 1, 1)),
                                          directory)])

    def test_the_pictures_of_the_page_are_up_to_date(self):
        pages = os.path.join(tools.ROOT, 'doc', 'source')
        measured = results.read(os.path.join(pages, 'contributor',
                                             'speed.json'))
        with tempfile.TemporaryDirectory() as directory:
            paths = plot.write(measured, directory)
            self.assertEqual(5, len(paths))
            for path in paths:
                self.assertEqual(
                    drawn_in(path), drawn_in(os.path.join(
                        pages, '_static', os.path.basename(path))),
                    'draw it anew: tools.bench plot')

    def test_the_tables_of_the_page_are_up_to_date(self):
        pages = os.path.join(tools.ROOT, 'doc', 'source', 'contributor')
        measured = results.read(os.path.join(pages, 'speed.json'))
        with open(os.path.join(pages, 'speed-tables.inc')) as kept:
            self.assertEqual('\n'.join([*page.lines(measured), '']),
                             kept.read(), 'write them anew: tools.bench page')

    def test_a_table_for_each_other_subject(self):
        lines = page.lines(document(
            ('ours', 'kernel', 1000, 15), ('floor', 'kernel', 1000, 12),
            ('peer', '', 1000, 330), ('abc^', 'kernel', 1000, 30)))
        rows = [line.split() for line in lines if '1,000' in line]
        name = ['one', 'added,', '``kernel``', '1,000', '15']
        self.assertEqual([[*name, '12', '1.25', '1'],
                          [*name, '330', '22', '1'],
                          [*name, '30', '0.5', '1']], rows)
        self.assertEqual(
            ['The agent and the floor, in milliseconds:',
             'The agent and the peer, in milliseconds:',
             'The agent and its revision abc^, in milliseconds:'],
            [line for line in lines if line.endswith(':')])

    def test_the_peer_is_also_compared_where_its_time_ends(self):
        run = results.Run({})
        for subject, method, place, ms in (
                ('ours', 'kernel', 'all', 15),
                ('ours', 'kernel', 'kernel route', 3),
                ('floor', 'kernel', 'all', 12),
                ('floor', 'kernel', 'kernel route', 1),
                ('peer', '', 'all', 150), ('peer', '', 'kernel route', 150)):
            run.add(results.Key('one added', place, 'ms', subject, method,
                                1000, 10), ms)
        lines = page.lines({'format': results.FORMAT,
                            'runs': [run.document()]})
        self.assertEqual(
            [('one added, ``kernel``', '1.25'),
             ('one added, ``kernel``', '10'),
             ('one added, ``kernel``, kernel route alone', '50')],
            [(line.partition('  ')[0], line.split()[-2])
             for line in lines if '1,000' in line])

    def test_floating_ips_and_ports_are_kept_apart(self):
        run = results.Run({})
        for what, routers, times in (('one added', 10, (15, 150)),
                                     ('ports: one added', 0, (20, 400))):
            for subject, method, ms in zip(('ours', 'peer'), ('kernel', ''),
                                           times, strict=True):
                run.add(results.Key(what, 'all', 'ms', subject, method, 1000,
                                    routers), ms)
        lines = page.lines({'format': results.FORMAT,
                            'runs': [run.document()]})
        self.assertEqual(
            [('one added, ``kernel``', '10'),
             ('ports: one added, ``kernel``', '20')],
            [(line.partition('  ')[0], line.split()[-2])
             for line in lines if '1,000' in line])

    def test_alone_it_has_no_table_of_times(self):
        self.assertEqual([], page.lines(document(('ours', 'kernel', 1, 1))))


class ChurnTest(base.BaseTestCase):

    def test_it_ends_as_it_began(self):
        there, here = set(), True
        for kind, *arguments in churn.plan(2000):
            if kind == 'gateway':
                self.assertNotEqual(here, arguments[0])
                here, = arguments
                continue
            addresses, present = arguments
            if present:
                self.assertEqual(set(), there & set(addresses))
                there |= set(addresses)
            else:
                self.assertTrue(there >= set(addresses))
                there -= set(addresses)
        self.assertEqual((set(), True), (there, here))

    def test_it_is_the_same_each_time(self):
        self.assertEqual(churn.plan(500), churn.plan(500))


class ProcessesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.child = subprocess.Popen(
            [sys.executable, '-c', 'import subprocess; subprocess.run('
             '["sleep", "1000"], stdin=subprocess.PIPE)'])
        self.addCleanup(self.child.wait)
        waiting.eventually(lambda: len(processes.family(self.child.pid)) == 2,
                           'a grandchild')
        self.pids = processes.family(self.child.pid)
        # Between fork and exec the child still has the name of its parent, and
        # /proc has the command line a little later than the name.
        waiting.eventually(lambda: self.pids[1] in processes.named(
            b'sleep\0001000'), 'the command line of the grandchild')
        for pid in self.pids:
            self.addCleanup(self.end, pid)

    @staticmethod
    def end(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)

    def test_a_family_has_loads_memory_and_names(self):
        used = processes.load(self.pids)
        self.assertGreater(used.processor, 0)
        self.assertGreater(used.wakes, 0)
        self.assertEqual(processes.Load(0, 0), used.since(used))
        self.assertEqual('sleep', processes.name(self.pids[1]))
        self.assertGreater(processes.proportional(self.pids[0]), 1 << 20)
        self.assertIn(self.pids[1], processes.named(b'sleep\0001000'))

    def test_a_process_that_has_ended(self):
        self.end(self.child.pid)
        self.child.wait()
        pid = self.child.pid
        self.assertEqual([], processes.family(pid))
        self.assertEqual(processes.Load(0, 0), processes.load([pid]))
        self.assertEqual('ended', processes.name(pid))


class FactsTest(base.BaseTestCase):

    def test_a_release_without_its_build(self):
        for release, expected in (('6.8.0-51-generic', '6.8'),
                                  ('5.14.0-503.el9.x86_64', '5.14'),
                                  ('6.12', '6.12'), ('odd', '')):
            self.assertEqual(expected, facts.kernel(release))

    def test_no_path_of_the_results(self):
        for given in (['--json', '/x/y', '--all'], ['--json=/x/y', '--all'],
                      ['--all', '--json', '/x/y']):
            self.assertEqual(['run', '--all'],
                             command.without_path(['run', *given]))


class CommandTest(base.BaseTestCase):

    def test_an_argument_that_no_command_knows(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertRaises(SystemExit, command.main,
                              ['table', '--no-such-thing'])
        self.assertIn('--no-such-thing', said.getvalue())

    def test_ports_have_no_routers(self):
        given = argparse.Namespace(routers=10, sizes=[0, 100], scenarios=[
            'one', 'takeover', 'memory', 'day'])
        command._without_routers(given)
        self.assertEqual((0, [100], ['one', 'memory']),
                         (given.routers, given.sizes, given.scenarios))

    def test_the_table_of_a_file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, 'results.json')
            results.write(path, document(('ours', 'kernel', 100, 10)))
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(0, command.main(['table', '--json', path]))
        self.assertIn('ours kernel', said.getvalue())
