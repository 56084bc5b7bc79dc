# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The versions of Python packages that the agent is tried with."""

import glob
import os
import re

from oslotest import base
from packaging import requirements
from packaging import version

from ovn_network_agent.tests import tools

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__),
                                    *[os.pardir] * 3))
SETS = glob.glob(os.path.join(ROOT, 'tools', 'constraints', '*.txt'))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as opened:
        return opened.read().splitlines()


class ConstraintsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.lowest = tools.load('lowest')
        self.required = [requirements.Requirement(line.partition('#')[0])
                         for line in read('requirements.txt')
                         if line.partition('#')[0].strip()]

    def pins(self, path):
        return {self.lowest.canonical(match[1]): match[2]
                for match in (re.match(r'([\w.-]+)===([^;]+)', line)
                              for line in read(path)) if match}

    def test_each_release_has_what_is_required(self):
        self.assertEqual(3, len(SETS))
        for path in SETS:
            pins = self.pins(path)
            for one in self.required:
                pinned = pins[self.lowest.canonical(one.name)]
                self.assertIn(pinned, one.specifier, (path, one.name))

    def test_the_lowest_versions_are_those_of_the_requirements(self):
        lines = self.lowest.constraints(read('requirements.txt'), read(
            'tools', 'constraints', '2025.2.txt'))
        for one in self.required:
            line, = [line for line in lines if line.startswith(
                self.lowest.canonical(one.name) + '==')]
            lowest = version.Version(line.partition('==')[2])
            self.assertIn(str(lowest), one.specifier)
            self.assertIn(f'>={lowest}', str(one.specifier).split(','))
