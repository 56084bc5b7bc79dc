# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The search finds what is hidden, and outlives what it finds."""

import contextlib
import os
import random
import signal
import time
import unittest

from ovn_network_agent.forward import rules
from ovn_network_agent.tests.fuzz import engine
from ovn_network_agent.tests.fuzz.target import Target


class Refused(Exception):
    """What a parser may raise."""


def _deep(data):
    """One more line for each byte that is right."""
    if data[:1] != b'F':
        return
    if data[1:2] != b'U':
        return
    if data[2:3] != b'Z':
        return
    if data[3:4] == b'Z':
        raise KeyError('found')


def _of_tests(code):
    return code.co_filename == __file__


class EngineTest(unittest.TestCase):

    def search(self, function, inputs=(b'x',), runs=50, errors=(Refused,),
               seed=1, patience=engine.PATIENCE, silence=engine.SILENCE,
               **values):
        target = Target('t', function, errors, (), **values)
        return engine.search(target, random.Random(seed), list(inputs), runs,
                             patience=patience, silence=silence)

    def test_lines_lead_the_way(self):
        """The same number of blind changes of one input finds nothing."""
        words = (b'F', b'U', b'Z')
        blind = self.search(_deep, runs=20000, words=words,
                            of=lambda code: False)
        self.assertEqual([], blind.findings)
        report = self.search(_deep, runs=20000, words=words, of=_of_tests)
        finding, = report.findings
        self.assertIn('KeyError', finding.what)
        self.assertEqual(b'FUZZ', finding.data[:4])
        self.assertLessEqual(3, len(report.kept))

    def test_documented_errors_are_no_findings(self):
        def refuses(_data):
            raise Refused
        report = self.search(refuses)
        self.assertEqual(([], 51), (report.findings, report.runs))

    def test_others_are_each_once(self):
        def fails(_data):
            raise KeyError('x')
        report = self.search(fails)
        finding, = report.findings
        self.assertEqual('t', finding.target)
        self.assertEqual(b'x', finding.data)
        self.assertIn('in fails', finding.text)

    def test_a_property_that_does_not_hold(self):
        def is_short(data):
            assert len(data) < 10
        finding, = self.search(is_short, [b'y' * 10]).findings
        self.assertIn('AssertionError', finding.what)

    def test_a_hang(self):
        def hangs(data):
            while data == b'x':
                time.sleep(0.01)
        report = self.search(hangs, patience=0.1)
        self.assertIn('Hang', report.findings[0].what)
        self.assertEqual(51, report.runs)

    def test_a_process_that_ends(self):
        def ends(data):
            if data == b'bad':
                os._exit(3)
        finding, = self.search(ends, [b'good', b'bad']).findings
        self.assertEqual(b'bad', finding.data)
        self.assertIn('0x300', finding.what)

    def test_a_process_that_is_silent(self):
        def blocks(_data):
            # As a loop in C: no signal handler of Python runs.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            time.sleep(60)
        finding, = self.search(blocks, silence=0.5).findings
        self.assertEqual(b'x', finding.data)

    def test_all_memory(self):
        def eats(data):
            if data == b'x':
                bytearray(3 * engine.MEMORY)
        self.assertIn('MemoryError', self.search(eats).findings[0].what)

    def test_the_world_is_made_in_the_process_of_the_target(self):
        here = os.getpid()

        @contextlib.contextmanager
        def world():
            assert os.getpid() != here
            os.environ['FUZZ_WORLD'] = 'made'
            yield

        def looks(_data):
            assert os.environ['FUZZ_WORLD'] == 'made'
        self.assertEqual([], self.search(looks, world=world).findings)
        self.assertNotIn('FUZZ_WORLD', os.environ)

    def test_the_same_seed_makes_the_same_search(self):
        first, second = (self.search(
            lambda data: rules.parse(data, 'x'), seed=7, runs=300,
            errors=(Exception,)) for _run in range(2))
        self.assertEqual(first.kept, second.kept)
        self.assertTrue(first.kept)
