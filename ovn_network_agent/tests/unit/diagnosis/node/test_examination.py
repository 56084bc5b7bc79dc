# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks: order, dependencies, readers that fail, and their pages."""

import pathlib
import re

from oslotest import base

import ovn_network_agent
from ovn_network_agent import diagnosis
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import configuration
from ovn_network_agent.diagnosis.node import examination

Verdict = diagnosis.Verdict


def made(name, read=lambda sources: '', judge=None, after=()):
    return check.Check(name, 'a layer', 'about it', read,
                       judge or (lambda facts: [check.ok('fine')]), after)


BROKEN = made('a', judge=lambda facts: [check.broken('torn', 'mend it')])


def fails(error):
    def read(sources):
        raise error
    return read


def run(*checks, wanted=None):
    found = examination.Examination(checks, 'the sources').run(
        wanted or checks)
    return [(one.check, one.verdict, one.evidence) for one in found]


class ExaminationTest(base.BaseTestCase):

    def test_the_order_is_that_of_the_checks(self):
        checks = [made(f'c{number}') for number in range(50)]
        self.assertEqual([c.name for c in checks],
                         [name for name, _verdict, _why in run(*checks)])

    def test_the_judge_gets_the_facts_and_the_reader_the_sources(self):
        one = made('one', lambda sources: sources + '!',
                   lambda facts: [check.ok(facts)])
        self.assertEqual([('one', Verdict.OK, 'the sources!')], run(one))

    def test_a_reader_that_fails_costs_its_own_check(self):
        """A bug has its kind; what does not concern a node a reason alone."""
        for error, said in ((OSError('no kernel'), 'no kernel'),
                            (KeyError('x'), "KeyError: 'x'"),
                            (check.NotChecked('no OVN here'), 'no OVN here')):
            self.assertEqual([('a', Verdict.NOT_CHECKED, said),
                              ('b', Verdict.OK, 'fine')],
                             run(made('a', fails(error)), made('b')))

    def test_a_failure_explains_what_depends_on_it(self):
        found = run(BROKEN, made('b', after=('a',)),
                    made('c', after=('b',)), made('d'))
        self.assertEqual(
            [Verdict.BROKEN, Verdict.NOT_CHECKED, Verdict.OK, Verdict.OK],
            [verdict for _name, verdict, _why in found])
        self.assertIn('a', found[1][2])

    def test_a_dependency_is_looked_at_though_nobody_asked_for_it(self):
        b = made('b', after=('a',))
        (name, verdict, _why), = run(BROKEN, b, wanted=[b])
        self.assertEqual(('b', Verdict.NOT_CHECKED), (name, verdict))

    def test_each_check_is_made_once(self):
        asked = []
        a = made('a', asked.append)
        run(a, *(made(f'b{n}', after=('a',)) for n in range(20)))
        self.assertEqual(['the sources'], asked)


class SelectTest(base.BaseTestCase):

    known = (made('a'), made('b'), made('c'))

    def names(self, *names):
        return [one.name for one in examination.select(self.known, names)]

    def test_all_or_some_in_their_order(self):
        self.assertEqual(['a', 'b', 'c'], self.names())
        self.assertEqual(['a', 'c'], self.names('c', 'a'))

    def test_an_unknown_name(self):
        error = self.assertRaises(examination.UnknownCheck, self.names,
                                  'b', 'nothing')
        self.assertIn('nothing', str(error))
        self.assertIn('--list', str(error))

    def test_evidence_and_remedy_are_one_line_each(self):
        said = check.of_message(Verdict.WARN, 'it is\n torn; mend it; or not')
        self.assertEqual(('it is torn', 'mend it; or not'),
                         (said.evidence, said.remedy))
        # A message without a remedy has one all the same.
        self.assertTrue(check.of_message(Verdict.BROKEN, 'torn').remedy)

    def test_each_message_once_or_that_all_is_fine(self):
        self.assertEqual(
            ['a', 'b'], [said.evidence for said in check.of_messages(
                Verdict.WARN, ['a; x', 'b; x', 'a; x'], 'fine')])
        self.assertEqual([check.ok('fine')], check.of_messages(
            Verdict.WARN, [], 'fine'))


_DOCS = (pathlib.Path(ovn_network_agent.__file__).parent.parent / 'doc' /
         'source' / 'reference')


class RegistryTest(base.BaseTestCase):

    def test_names(self):
        names = [one.name for one in examination.CHECKS]
        self.assertEqual(len(names), len(set(names)))
        for one in examination.CHECKS:
            self.assertRegex(one.name, r'^[a-z0-9]+(-[a-z0-9]+)*$')
            self.assertLessEqual(len(one.name), 20)
            self.assertTrue(one.about and one.layer)

    def test_what_a_check_depends_on_is_there_and_no_circle(self):
        after = {one.name: set(one.after) for one in examination.CHECKS}
        self.assertEqual(set(), set().union(*after.values()) - set(after))
        while after:
            free = {name for name, needs in after.items() if not needs}
            self.assertTrue(free, f'a circle in {after}')
            after = {name: needs - free for name, needs in after.items()
                     if name not in free}

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
