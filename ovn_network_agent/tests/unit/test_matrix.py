# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A normal run of the lab has each kind of cloud, and each main class more."""

import os
import subprocess
import sys
import unittest

import fixtures

from ovn_network_agent.tests.lab import matrix
from ovn_network_agent.tests.lab import test_change
from ovn_network_agent.tests.lab import test_drain
from ovn_network_agent.tests.lab import test_handover
from ovn_network_agent.tests.lab import test_move
from ovn_network_agent.tests.lab import test_quick
from ovn_network_agent.tests.lab import test_restart
from ovn_network_agent.tests.lab import test_service
from ovn_network_agent.tests.lab import test_stop

# The classes that share their tests, of one module or of several.
MAIN = {'change': (test_change.TestChangeStatic,
                   test_change.TestChangeKernel),
        'move': (test_move.TestMoveStatic, test_move.TestMoveKernel),
        'restart': (test_restart.TestRestartStatic,
                    test_restart.TestRestartKernel),
        'stop': (test_stop.TestStopStatic, test_stop.TestStopKernel),
        'service': (test_service.TestServiceStatic,
                    test_service.TestServiceKernel),
        'drain and handover': (test_drain.TestDrain,
                               test_handover.TestHandover),
        'quick': (test_quick.TestQuick, test_quick.TestQuickGroup)}
_LISTED = '''
import collections
from ovn_network_agent.tests.lab import matrix, test_{0} as module
for case in vars(module).values():
    if isinstance(case, type) and case.__module__ == module.__name__:
        if hasattr(case, 'cloud'):
            print(case.__name__, *matrix.kind(case))
'''


class MatrixTest(unittest.TestCase):

    def test_each_main_class_has_each_value(self):
        for name, cases in MAIN.items():
            for values in zip(*map(matrix.kind, cases), strict=True):
                self.assertEqual(2, len(set(values)), (name, values))

    def test_a_normal_run_has_each_kind(self):
        self.assertEqual(set(matrix.KINDS), {
            matrix.kind(case) for cases in MAIN.values() for case in cases})

    def test_the_whole_matrix_has_all_kinds_of_each(self):
        for module in ('change', 'move', 'restart', 'stop', 'service',
                       'drain', 'handover', 'quick'):
            said = subprocess.run(
                [sys.executable, '-c', _LISTED.format(module)], check=True,
                env={**os.environ, matrix.VARIABLE: matrix.WHOLE},
                capture_output=True, text=True).stdout.splitlines()
            kinds = {tuple(line.split()[1:]) for line in said}
            self.assertEqual({tuple(map(str, kind))
                              for kind in matrix.KINDS}, kinds, module)

    def test_without_the_variable_nothing_is_added(self):
        with fixtures.EnvironmentVariable(matrix.VARIABLE):
            self.assertEqual({}, matrix.others(test_move.TestMoveStatic))


if __name__ == '__main__':
    unittest.main()
