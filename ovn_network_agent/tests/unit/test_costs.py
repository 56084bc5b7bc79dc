# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What each class of tests cost, from the results of a run."""

import datetime
import io
import subprocess
import sys

from oslotest import base
import subunit

from ovn_network_agent.tests import tools

costs = tools.load('costs')

_BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_A = 'ovn_network_agent.tests.unit.test_a.ATest'
_B = 'ovn_network_agent.tests.unit.test_b.BTest'


def stream(*tests):
    """Results as stestr keeps them.

    :param tests: tuples of id, worker, seconds at the begin and at the end,
        and status
    """
    written = io.BytesIO()
    result = subunit.StreamResultToBytes(written)
    for name, worker, began, ended, status in tests:
        for at, what in ((began, 'inprogress'), (ended, status)):
            result.status(name, what, test_tags={worker},
                          timestamp=_BEGIN + datetime.timedelta(seconds=at))
    return written.getvalue()


class CostsTest(base.BaseTestCase):

    def said(self, *tests):
        """Lines of the program, without their columns."""
        done = subprocess.run(
            [sys.executable, tools.ROOT + '/tools/costs.py'],
            input=stream(*tests), check=True, capture_output=True)
        return [' '.join(line.split()) for line in
                done.stdout.decode().splitlines()]

    def test_the_dearest_first(self):
        self.assertEqual(
            ['5.0 s 1 unit.test_b.BTest', '3.0 s 2 unit.test_a.ATest'],
            self.said((_A + '.test_1', 'worker-0', 0, 1, 'success'),
                      (_B + '.test_1', 'worker-1', 0, 5, 'fail'),
                      (_A + '.test_2', 'worker-0', 1, 3, 'success')))

    def test_what_a_class_builds_for_all_its_tests_counts(self):
        self.assertEqual(
            ['11.0 s 1 unit.test_b.BTest', '1.0 s 1 unit.test_a.ATest'],
            self.said((_A + '.test_1', 'worker-0', 0, 1, 'success'),
                      (_B + '.test_1', 'worker-0', 10, 12, 'success')))

    def test_workers_do_not_wait_for_each_other(self):
        self.assertEqual(
            ['9.0 s 1 unit.test_a.ATest', '1.0 s 1 unit.test_b.BTest'],
            self.said((_A + '.test_1', 'worker-0', 0, 9, 'success'),
                      (_B + '.test_1', 'worker-1', 20, 21, 'success')))

    def test_a_class_that_could_not_be_set_up(self):
        self.assertEqual(_B.removeprefix('ovn_network_agent.tests.'),
                         costs.class_of(f'setUpClass ({_B})'))
        self.assertEqual('unit.test_b.BTest',
                         costs.class_of(_B + '.test_1(with a scenario)'))

    def test_nothing_ran(self):
        self.assertEqual([], self.said())
