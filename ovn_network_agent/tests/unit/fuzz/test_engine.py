# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The search finds planted bugs, and outlives what it finds."""

import contextlib
import json
import os
import struct
import tempfile
import time
import unittest

from ovn_network_agent.tests.fuzz import engine
from ovn_network_agent.tests.fuzz.target import Target


class Refused(Exception):
    """What a parser may raise."""


def _attributes(data):
    """Attributes as of netlink; one of the type 3 is read without a check."""
    while len(data) >= 4:
        length, kind = struct.unpack_from('<HH', data)
        if length < 4 or length > len(data):
            raise Refused
        if kind == 3:
            struct.unpack('>I', data[4:length])
        data = data[length + 3 & ~3:]


def _rules(data):
    """Rules in JSON; a range of ports of SCTP is never compared."""
    try:
        for rule in json.loads(data):
            if rule['protocol'] == 'sctp' and 'last' in rule:
                assert rule['first'] <= rule['last'], rule
    except (ValueError, TypeError, LookupError, RecursionError):
        raise Refused from None


class EngineTest(unittest.TestCase):

    def search(self, function, corpus=(b'x',), count=50, errors=(Refused,),
               seed=1, patience=engine.PATIENCE, **values):
        target = Target('t', function, errors, (), **values)
        return engine.search(target, list(corpus), seed, count,
                             patience=patience)

    def test_a_length_that_is_trusted(self):
        good = struct.pack('<HHI', 8, 1, 7) + struct.pack('<HHI', 8, 2, 7)
        self.assertEqual([], self.search(_attributes, [good], 0).findings)
        finding, = self.search(_attributes, [good], 20000, words=(
            struct.pack('<HH', 8, 3), struct.pack('<HH', 4, 3))).findings
        self.assertIn('error', finding.what)
        self.assertRaises(struct.error, _attributes, finding.data)

    def test_a_value_among_many(self):
        good = json.dumps([
            {'protocol': 'tcp', 'first': 1, 'last': 9, 'to': '10.0.0.1'},
            {'protocol': 'udp', 'first': 53, 'to': '10.0.0.2'}]).encode()
        finding, = self.search(_rules, [good], 20000, json=True,
                               values=('sctp',)).findings
        self.assertIn('AssertionError', finding.what)
        self.assertIn('in _rules', finding.text)
        self.assertRaises(AssertionError, _rules, finding.data)

    def test_a_finding_is_small(self):
        def is_short(data):
            assert len(data) < 100
        finding, = self.search(is_short, [b'y' * 90], 500).findings
        self.assertGreater(130, len(finding.data))

    def test_documented_errors_are_no_findings(self):
        def refuses(_data):
            raise Refused
        report = self.search(refuses)
        self.assertEqual(([], 51), (report.findings, report.runs))

    def test_others_are_each_once(self):
        def fails(_data):
            raise KeyError('x')
        finding, = self.search(fails, [b'x', b'y']).findings
        self.assertEqual('t', finding.target)
        self.assertIn('in fails', finding.text)

    def test_what_fails_only_once(self):
        """As a call that changes what the next one meets."""
        seen = []

        def fails(data):
            seen.append(data)
            assert len(seen) != 20
        finding, = self.search(fails).findings
        self.assertIn('AssertionError', finding.what)

    def test_a_hang(self):
        def hangs(data):
            while data == b'x':
                pass
        finding, = self.search(hangs, patience=0.1).findings
        self.assertIn('processor time', finding.what)
        self.assertIn('in hangs', finding.text)
        self.assertEqual(b'x', finding.data)

    def test_a_wait(self):
        def waits(_data):
            time.sleep(60)
        finding, = self.search(waits, patience=0.05).findings
        self.assertIn('of waiting', finding.what)
        self.assertIn('in waits', finding.text)

    def test_a_process_that_ends(self):
        def ends(data):
            if data == b'bad':
                os._exit(3)
        finding, = self.search(ends, [b'good', b'bad']).findings
        self.assertEqual(b'bad', finding.data)
        self.assertIn('status 3', finding.what)

    def test_all_memory(self):
        def eats(data):
            if data == b'x':
                bytearray(3 * engine.MEMORY)
        self.assertIn('MemoryError', self.search(eats).findings[0].what)

    def test_a_recursion(self):
        def nested(data):
            if data:
                nested(data[1:])
        finding, = self.search(nested, [b'some text'], 500).findings
        self.assertIn('RecursionError', finding.what)

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

    def test_the_same_seed_makes_the_same_inputs(self):
        first, second, other = (self.made(seed) for seed in (7, 7, 8))
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def made(self, seed):
        with tempfile.TemporaryFile() as file:
            self.search(lambda data: os.write(file.fileno(), data + b'|'),
                        [b'some text'], 300, seed=seed)
            file.seek(0)
            return file.read()
