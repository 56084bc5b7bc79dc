# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The checks as a whole, and the page that describes them."""

import pathlib
import re

from oslotest import base

import ovn_network_agent
from ovn_network_agent.diagnosis.node import configuration
from ovn_network_agent.diagnosis.node import examination

_DOCS = (pathlib.Path(ovn_network_agent.__file__).parent.parent / 'doc' /
         'source' / 'reference')


class RegistryTest(base.BaseTestCase):

    def test_names(self):
        names = [check.name for check in examination.CHECKS]
        self.assertEqual(len(names), len(set(names)))
        for check in examination.CHECKS:
            self.assertRegex(check.name, r'^[a-z0-9]+(-[a-z0-9]+)*$')
            self.assertLessEqual(len(check.name), 20)
            self.assertTrue(check.about and check.layer)

    def test_what_a_check_depends_on_is_there_and_no_circle(self):
        after = {check.name: set(check.after) for check in examination.CHECKS}
        self.assertEqual(set(), set().union(*after.values()) - set(after))
        while after:
            free = {name for name, needs in after.items() if not needs}
            self.assertTrue(free, f'a circle in {after}')
            after = {name: needs - free for name, needs in after.items()
                     if name not in free}


class TriedTest(base.BaseTestCase):

    def test_the_versions_are_those_of_the_page(self):
        text = (_DOCS / 'versions.rst').read_text()
        table = text.partition('list-table:: Programs')[2].partition(
            '.. list-table::')[0]
        rows = [re.findall(r'^(?:   \*| {4}) - (.*)$', row, re.MULTILINE)
                for row in re.split(r'(?m)^(?=   \* - )', table)[1:]]
        heads, *rows = rows
        for program, tried in configuration.TRIED.items():
            column = heads.index(program)
            self.assertEqual(list(tried), sorted(
                (row[column] for row in rows
                 if not row[-1].startswith('the package')),
                key=configuration.numbers))

    def test_what_was_never_run(self):
        self.assertIn('FRR 9 was never run',
                      (_DOCS / 'versions.rst').read_text())
        self.assertEqual({configuration.FRR: (9,)}, configuration.NEVER)
