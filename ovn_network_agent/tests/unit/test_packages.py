# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Who may import whom: the order in tools/packages.py, kept."""

import re

from oslotest import base

from ovn_network_agent.tests import tools

packages = tools.load('packages')

# What starts a thread or a program, or crosses the wall.
_NOT_IN_PROTOCOLS = {'threading', 'subprocess', 'multiprocessing',
                     'concurrent', 'asyncio', 'oslo_privsep'}


class OrderTest(base.BaseTestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.edges = packages.edges()

    def test_every_import_goes_down(self):
        self.assertEqual([], packages.upward(self.edges))

    def test_every_package_is_in_the_order(self):
        self.assertEqual(
            set(packages.ORDER),
            {packages.package(name) for name in packages.modules() if name})

    def test_an_import_that_goes_up_is_found(self):
        self.assertEqual(['model imports cmd.agent'], packages.upward(
            {**self.edges, ('values', 'cmd'): ['model imports cmd.agent']}))

    def test_imports_within_functions_count(self):
        known = packages.modules()
        self.assertIn('forward.rules', packages.imports(
            known['backends.nftables'], known))
        self.assertIn(('backends', 'forward'), self.edges)

    def test_imports_for_types_alone_do_not_count(self):
        known = packages.modules()
        found = packages.imports(known['gateways.takeover'], known)
        self.assertIn('common.trigger', found)
        self.assertNotIn('engine.outcome', found)

    def test_a_stranger_in_the_root_is_refused(self):
        self.assertRaises(ValueError, packages.package, 'helpers')

    def test_the_privileged_side_uses_protocols_and_values_alone(self):
        self.assertLessEqual(
            {used for user, used in self.edges if user == 'privileged'},
            {*packages.PROTOCOLS, 'conf', 'values'})

    def test_protocols_know_no_thread_and_no_wall(self):
        for name, path in packages.modules().items():
            if packages.package(name or 'model') in packages.PROTOCOLS:
                for module in re.findall(r'^\s*(?:import|from) (\w+)',
                                         path.read_text(), re.M):
                    self.assertNotIn(module, _NOT_IN_PROTOCOLS, name)

    def test_the_picture_is_that_of_the_code(self):
        self.assertEqual(
            packages.picture(self.edges), packages.PICTURE.read_text(),
            'make it anew: tools/packages.py --write')
