# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The original program is found where it is installed, and by its unit."""

import os
import shutil
import sys

import fixtures
from oslotest import base

from ovn_network_agent.runtime.process import single_instance


class FormerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.units = tuple(os.path.join(self.folder, name)
                           for name in ('etc', 'usr'))
        self.program = os.path.join(self.folder, 'ovn-network-agent')

    def unit(self, folder, program, name='ovn-network-agent.service'):
        """A unit file that starts a program."""
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        with open(path, 'w') as opened:
            opened.write(f'[Service]\nExecStart=-{program} --config /x\n')
        return path

    def enable(self, path):
        wants = os.path.join(self.units[0], 'multi-user.target.wants')
        os.makedirs(wants, exist_ok=True)
        os.symlink(path, os.path.join(wants, os.path.basename(path)))

    def enabled(self):
        return list(single_instance.enabled(self.units))

    def test_installed(self):
        script = self.script('script')
        looked = single_instance.find_original(
            (script, self.folder + '/none', sys.executable), ())
        self.assertEqual((sys.executable,), looked.installed)

    def script(self, name):
        """An agent of this kind is a script."""
        path = os.path.join(self.folder, name)
        with open(path, 'w') as opened:
            opened.write('#!/usr/bin/python3\n')
        return path

    def test_a_unit_counts_when_it_is_enabled(self):
        shutil.copy('/bin/sleep', self.program)
        path = self.unit(self.units[1], self.program)
        self.assertEqual([], self.enabled())
        self.enable(path)
        self.assertEqual(['ovn-network-agent.service'], self.enabled())

    def test_our_unit_in_its_place(self):
        shutil.copy('/bin/sleep', self.program)
        self.enable(self.unit(self.units[1], self.program))
        ours = os.path.join(self.folder, 'opt')
        os.mkdir(ours)
        self.unit(self.units[0], self.script('opt/ovn-network-agent'))
        self.assertEqual([], self.enabled())

    def test_units_of_others(self):
        self.enable(self.unit(self.units[1], '/bin/sleep', 'other.service'))
        self.enable('/nowhere/gone.service')
        self.assertEqual([], self.enabled())
