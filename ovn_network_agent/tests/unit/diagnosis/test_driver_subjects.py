# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of subjects that sources of drivers make."""


from ovn_network_agent import resources
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import driver_subjects
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.tests.unit.diagnosis import explained

ADDRESS = '192.0.2.53'
WANTED = resources.Address('br-ex', ADDRESS + '/32')
OTHER = resources.Address('br-ex', '192.0.2.5/32')
Outcome, Verdict = explained.Outcome, explained.Verdict


class Driver(drivers.Driver):
    """Its method explain is of a test."""

    def __init__(self, explain):
        super().__init__('names', None)
        self.explain = explain


class LayersTest(explained.AddressTestCase):

    def layers(self, explain):
        return [(each.check, each.layer, each.verdict, each.evidence)
                for each in driver_subjects.layers(Driver(explain), 'dns',
                                                   ADDRESS)]

    def test_a_method_that_raises(self):
        """What it said before counts."""
        def explain(about, address):
            yield drivers.Layer('cable', 'OK', f'{about} {address}')
            raise OSError('no such cable')
        self.assertEqual(
            [('driver-names', 'cable', Verdict.OK, f'dns {ADDRESS}'),
             ('driver-names', 'driver names', Verdict.NOT_CHECKED,
              'no such cable')], self.layers(explain))

    def test_a_word_that_is_no_verdict(self):
        for answer, words in (([drivers.Layer('cable', 'FINE', '')],
                               "'FINE' is not a valid Verdict"), (None, '')):
            found, = self.layers(lambda *_args, said=answer: said)
            self.assertIs(Verdict.NOT_CHECKED, found[2])
            self.assertIn(words, found[3])

    def test_the_default(self):
        self.assertEqual([], self.layers(super(Driver, Driver(None)).explain))

    def test_which_resources_concern_an_address(self):
        route = resources.AnnouncedRoute(254, ADDRESS + '/32', 'lo')
        problem = resources.Problem('{some} is bad', addresses=(ADDRESS,))
        self.assertEqual(
            (WANTED, route, problem), driver_subjects.concerning(
                iter([OTHER, WANTED, route, problem,
                      resources.Problem('all is bad'),
                      resources.Keep(WANTED.ref)]), ADDRESS))


class JudgeTest(explained.AddressTestCase):

    def case(self, *wanted, **values):
        return facts.Facts(facts.Setup(), subject.Subject(ADDRESS))._replace(
            **{'agent': {'phase': 'running'},
               'driver_subjects': (driver_subjects.DriverSubject(
                   'Service dns of driver names', wanted),), **values})

    def judged(self, state, reason='', **values):
        """(outcome, verdict, evidence) by the row of an agent."""
        row = {'state': state, 'reason': reason, 'wanted': 'x', **values}
        found = explanation.explain(self.case(WANTED, rows={
            ('address', f'br-ex,{ADDRESS}/32'): row}))
        self.assertEqual('Service dns of driver names', found.kind)
        one, = [each for each in found.findings if each.check == 'resource']
        self.assertIs(one.verdict in (Verdict.WARN, Verdict.BROKEN),
                      bool(one.remedy))
        return found.outcome, one.verdict, one.evidence.partition(': ')[2]

    def test_states(self):
        unknown, broken = Outcome.UNKNOWN, (Outcome.BROKEN, Verdict.BROKEN)
        for said, judged in (
                ((Outcome.OK, Verdict.OK, 'in place'),
                 self.judged('in place')),
                ((unknown, Verdict.WARN, 'due'), self.judged('due')),
                ((*broken, 'refused: full'), self.judged('refused', 'full')),
                ((unknown, Verdict.NOT_CHECKED, 'unreachable: away'),
                 self.judged('unreachable', 'away')),
                ((*broken, 'the agent does not want it'),
                 self.judged('in place', wanted=''))):
            self.assertEqual(said, judged)
        # Without a row.
        self.assert_broken('resource', self.case(WANTED, rows={}))

    def test_without_an_agent(self):
        away = readers.Unread('no agent runs')
        found = self.case(WANTED, agent=away, rows=away)
        self.assertIs(Outcome.UNKNOWN, self.outcome(found))
        self.assert_one('resource', found, Verdict.NOT_CHECKED)

    def test_a_problem(self):
        found = self.case(resources.Problem(
            '{some} is bad; change the row', addresses=(ADDRESS,)))
        self.assert_broken('wanted', found)
        self.assertEqual(f'{ADDRESS} is bad', self.evidence(found, 'wanted'))

    def test_a_subject_that_could_not_be_made(self):
        found = self.case()._replace(driver_subjects=(),
                                     unmade=('Service dns: a bad row',))
        self.assertIs(Outcome.UNKNOWN, self.outcome(found))
        self.assert_one('subject', found, Verdict.NOT_CHECKED)
