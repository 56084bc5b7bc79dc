# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Checks side by side: order, dependencies, readers that fail."""

from oslotest import base

from ovn_network_agent import diagnosis
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import examination

Verdict = diagnosis.Verdict


def made(name, read=lambda sources: '', judge=None, after=()):
    return check.Check(name, 'a layer', 'about it', read,
                       judge or (lambda facts: [check.ok('fine')]), after)


def broken(facts):
    return [check.broken('torn', 'mend it')]


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
        found = run(made('a', fails(OSError('no kernel'))), made('b'))
        self.assertEqual(
            [('a', Verdict.NOT_CHECKED, 'no kernel'),
             ('b', Verdict.OK, 'fine')], found)

    def test_a_bug_is_reported_with_its_kind(self):
        (_name, verdict, evidence), = run(made('a', fails(KeyError('x'))))
        self.assertEqual((Verdict.NOT_CHECKED, "KeyError: 'x'"),
                         (verdict, evidence))

    def test_what_does_not_concern_this_node_has_its_reason_alone(self):
        found = run(made('a', fails(check.NotChecked('no OVN here'))))
        self.assertEqual([('a', Verdict.NOT_CHECKED, 'no OVN here')], found)

    def test_a_failure_explains_what_depends_on_it(self):
        found = run(made('a', judge=broken), made('b', after=('a',)),
                    made('c', after=('b',)), made('d'))
        self.assertEqual(
            [Verdict.BROKEN, Verdict.NOT_CHECKED, Verdict.OK, Verdict.OK],
            [verdict for _name, verdict, _why in found])
        self.assertIn('a', found[1][2])

    def test_a_dependency_is_looked_at_though_nobody_asked_for_it(self):
        a, b = made('a', judge=broken), made('b', after=('a',))
        (name, verdict, _why), = run(a, b, wanted=[b])
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


class MessageTest(base.BaseTestCase):

    def test_evidence_and_remedy_are_one_line_each(self):
        said = check.of_message(Verdict.WARN, 'it is\n torn; mend it; or not')
        self.assertEqual(('it is torn', 'mend it; or not'),
                         (said.evidence, said.remedy))

    def test_a_message_without_a_remedy_has_one_all_the_same(self):
        self.assertTrue(check.of_message(Verdict.BROKEN, 'torn').remedy)

    def test_each_message_once_or_that_all_is_fine(self):
        self.assertEqual(
            ['a', 'b'], [said.evidence for said in check.of_messages(
                Verdict.WARN, ['a; x', 'b; x', 'a; x'], 'fine')])
        self.assertEqual([check.ok('fine')], check.of_messages(
            Verdict.WARN, [], 'fine'))
