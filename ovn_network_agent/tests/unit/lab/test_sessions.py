# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Sessions in nodes: frames, and which lab is meant."""

import json
import os
import subprocess
import threading

import fixtures
from oslotest import base

from lab import frames
from lab import running


class TestFrames(base.BaseTestCase):

    def test_in_pieces(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        reader = frames.Reader(read_end)
        data = (frames.pack(frames.OUTPUT, b'x' * 3000) +
                frames.pack(frames.EXIT, b'0'))
        found = []
        for start in range(0, len(data), 700):
            frames.send(write_end, data[start:start + 700])
            found += reader.read()
        os.close(write_end)
        self.assertEqual([(frames.OUTPUT, b'x' * 3000),
                          (frames.EXIT, b'0')], found)
        self.assertRaises(EOFError, reader.read)


class TestRunning(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.directory = self.useFixture(fixtures.TempDir()).path
        self.useFixture(fixtures.MockPatchObject(
            running, '_directories', lambda: [self.directory]))

    def announce(self, name, enterable):
        path = os.path.join(self.directory, name)
        if enterable:
            with open(running.marker(path), 'w', encoding='ascii'):
                pass
        return running.announced(name, path, ['true'])

    def rewrite(self, name, **values):
        """Have an announcement say something else."""
        path = os.path.join(self.directory, name + '.json')
        with open(path, encoding='utf-8') as opened:
            content = json.load(opened)
        with open(path, 'w', encoding='utf-8') as opened:
            json.dump({**content, **values}, opened)

    def test_the_only_one_that_can_be_entered(self):
        self.assertRaises(running.NotRunning, running.find)
        with self.announce('a', False), self.announce('b', True):
            self.assertEqual('b', running.find()['name'])
            self.assertEqual('a', running.find('a')['name'])
            with self.announce('c', True):
                self.assertRaises(running.NotRunning, running.find)
        self.assertEqual([], running.labs())

    def test_dead_ones_are_forgotten(self):
        with self.announce('a', True), self.announce('b', True):
            # Another process got its number.
            self.rewrite('b', born='1')
            self.assertEqual(['a'], [one['name'] for one in running.labs()])
        self.assertEqual({'a.open', 'b.open'}, set(os.listdir(self.directory)))

    def test_end(self):
        child = subprocess.Popen(['sleep', '600'])
        self.addCleanup(child.kill)
        # Whoever started it reaps it.
        threading.Thread(target=child.wait, daemon=True).start()
        with self.announce('a', True):
            self.rewrite('a', pid=child.pid, born=running._born(child.pid))
            running.end(running.find('a'))
            self.assertEqual([], running.labs())
        self.assertIsNotNone(child.wait(10))
