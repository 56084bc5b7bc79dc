# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Other inputs from an input."""

import json
import random
import unittest

from ovn_network_agent.tests.fuzz import mutation

RUNS = 3000


class MutationTest(unittest.TestCase):

    def made(self, seed=1, **values):
        return mutation.Mutator(random.Random(seed), **values)

    def test_bytes(self):
        found = {self.made(n).bytes(b'port 53', b'other') for n in range(RUNS)}
        self.assertLess(RUNS / 2, len(found))
        for one in found:
            self.assertLessEqual(len(one), mutation._LONGEST)
        self.assertTrue(any(b'other' in one for one in found))
        self.assertTrue(any(b'65536' in one for one in found))
        self.assertTrue(any(len(one) > 1000 for one in found))

    def test_nothing_is_an_input_too(self):
        for n in range(RUNS):
            self.made(n).bytes(b'', b'')
            self.made(n).json(b'', b'')

    def test_the_same_seed_makes_the_same(self):
        for n in range(100):
            self.assertEqual(self.made(n).bytes(b'abc', b'd'),
                             self.made(n).bytes(b'abc', b'd'))

    def test_words(self):
        found = [self.made(n, words=(b'WORD',)).bytes(b'ab', b'')
                 for n in range(RUNS)]
        self.assertTrue(any(b'WORD' in one for one in found))

    def test_values_stay_json(self):
        """Most inputs get past the parser of JSON, and have other values."""
        start = json.dumps({'a': [1, 'x', {'b': None}], 'c': True}).encode()
        good = []
        for n in range(RUNS):
            one = self.made(n, values=('VALUE',)).json(start, start)
            try:
                good.append(json.loads(one))
            except (ValueError, RecursionError):
                continue
        self.assertLess(RUNS * 0.7, len(good))
        self.assertIn('VALUE', json.dumps(good))
        self.assertTrue(any(one == [] for one in good))
        self.assertTrue(any(isinstance(one, dict) and 'a' not in one
                            for one in good))
        self.assertTrue(any(isinstance(one, dict) and one.get('a') == [
            1, 'x', {'b': None}] and one.get('c') not in (True, None)
            for one in good))
