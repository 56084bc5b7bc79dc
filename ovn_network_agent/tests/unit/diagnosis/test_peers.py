# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of peerings, egress addresses and drivers' subjects."""

import dataclasses

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import driver_subjects
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import subject
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world
from ovn_network_agent.tests.unit.ctl import test_egress as answers
from ovn_network_agent.tests.unit.diagnosis import explained
from ovn_network_agent.tests.unit.ovn import peers

ADDRESS, CLIENT = '10.0.2.7', '10.0.1.5'
EGRESS, MACHINE = answers.PLACE['address'], answers.MACHINE['address']
Outcome, Verdict = explained.Outcome, explained.Verdict
State = model.PeerState
NAME = '192.0.2.53'
WANTED = resources.Address('br-ex', NAME + '/32')
OTHER = resources.Address('br-ex', '192.0.2.5/32')
FOREIGN = resources.PeerPolicy(700, 'ip4', 'drop')


class PeersTest(explained.AddressTestCase):

    def setUp(self):
        super().setUp()
        made = peers.Cloud()
        made.router(1, '10.0.1.1/24', db=2)
        made.router(2, '10.0.2.1/24', web=1)
        self.peering = made.look()[1, 'db']
        driver = world.driver('network_peer', world.conf(
            drivers=['network_peer']))
        self.wanted, = driver.resources(self.peering, cloud.node())

    def case(self, way, client='192.0.2.1', lock='held', **values):
        known = facts.Facts(facts.Setup(client=client),
                            subject.Subject(ADDRESS))
        return known._replace(
            agent={'phase': 'running'}, peers={'lock': lock},
            **{'peerings': (way,), **values})

    def created(self, *foreign, **values):
        return self.case(sources.Way(self.peering, self.wanted,
                                     foreign=foreign), **values)

    def test_the_way(self):
        found = self.created()
        self.assertEqual(
            ['agent', 'peering', 'peering-rows', 'peering-policies',
             'peering-writer'], self.found(found, Verdict.OK))
        said = explanation.explain(found)
        self.assertEqual(('address behind a router that peers', Outcome.OK),
                         (said.kind, said.outcome))
        self.assertIn('reaches 10.0.2.0/24 by its peering db with',
                      self.evidence(found, 'peering'))
        self.assertIn('next hop 10.0.2.1; back: 10.0.1.0/24',
                      self.evidence(found, 'peering'))
        policies = self.evidence(found, 'peering-policies')
        self.assertIn('lets in 10.0.1.0/24 (allow: 600 "inport', policies)
        self.assertIn('(drop: 500)', policies)

    def test_which_rule_has_a_client(self):
        self.assertIn('peering-policies', self.found(
            self.created(client=CLIENT), Verdict.OK))
        self.assert_one('peering-policies', self.created(client='10.9.9.9'),
                        Verdict.NOT_CHECKED,
                        '10.9.9.9 is not among them, so it is dropped')

    def test_policies_of_others(self):
        """At the other router, at this one, and none that let it in."""
        low = dataclasses.replace(FOREIGN, priority=499)
        self.assertEqual([], self.found(self.created(low), Verdict.WARN))
        for found, words in (
                (self.case(sources.Way(self.peering._replace(
                    gives=('2001:db8::/64',)), self.wanted)),
                 'lets in nothing'),
                (self.created(*[FOREIGN] * 5, low),
                 '700 drop "ip4" and 2 more'),
                (self.case(sources.Way(
                    self.peering, self.wanted, detours=(dataclasses.replace(
                        FOREIGN, priority=100, action='reroute'),))),
                 'at this router, which send packets elsewhere or drop '
                 'them: 100 reroute "ip4"')):
            self.assert_one('peering-policies', found, Verdict.WARN, words)

    def test_rows(self):
        values = peering_rows.wanted(self.wanted)
        for way in ({'missing': tuple(values)}, {'others': (values[0],)}):
            found = self.case(sources.Way(self.peering, self.wanted, **way))
            self.assert_broken(
                'peering-rows', found,
                f'such as Logical_Router_Port ona-peer-{peers.key(1)}')
            self.assertIs(Outcome.BROKEN, self.outcome(found))

    def test_intents_without_rows(self):
        for state, verdict, outcome in (
                (State.PENDING, Verdict.WARN, Outcome.OK),
                (State.CONFLICT, Verdict.BROKEN, Outcome.BROKEN)):
            found = self.case(sources.Way(self.peering._replace(
                state=state, why='why so', pair='', sides=())))
            self.assert_one('peering', found, verdict, 'why so')
            self.assertIs(outcome, self.outcome(found))

    def test_the_writer(self):
        for lock in 'waiting', 'not asked':
            self.assertIn('peering-writer', self.found(
                self.created(lock=lock), Verdict.OK))
        self.assert_one('peering-writer', self.created(lock='not connected'),
                        Verdict.WARN)
        self.assert_one('peering-writer', self.created()._replace(
            peers=readers.Unread('no')), Verdict.NOT_CHECKED)

    def test_what_cannot_be_read(self):
        found = self.case(None, peerings=readers.Unread('NB is away'))
        self.assertIn('peering', self.found(found, Verdict.NOT_CHECKED))
        self.assertEqual([], self.found(found._replace(
            peerings=()), Verdict.NOT_CHECKED))


class EgressTest(explained.AddressTestCase):

    def case(self, address, place=(), machine=(), node=(), **values):
        found = {**answers.ANSWER, 'node': node, 'egress_ips': [{
            **answers.SHOP, 'places': [{**answers.PLACE, **dict(place)}],
            'machines': [{**answers.MACHINE, **dict(machine)}], **values}]}
        return facts.Facts(facts.Setup(), subject.Subject(address))._replace(
            agent={'phase': 'running'}, egress=found)

    def test_how_a_machine_leaves(self):
        found = self.case(MACHINE, mode='host', place={
            'chassis': 'n1', 'port': 'up'}, destinations=['192.0.2.0/24'])
        self.assertEqual(['agent', 'egress', 'egress-rows'],
                         self.found(found, Verdict.OK))
        self.assertEqual(
            'port p1 leaves with 198.51.100.9 by router web, port up, node n1 '
            '(shop, mode host) for 192.0.2.0/24',
            self.evidence(found, 'egress'))
        self.assertEqual(Outcome.OK, self.outcome(found))

    def test_who_leaves_with_an_address(self):
        self.assertIn('1 machine of shop leaves with it by router web (mode '
                      'router)', self.evidence(self.case(EGRESS), 'egress'))

    def test_why_a_machine_does_not(self):
        """What is meant to be so is no warning."""
        away = {'leaves_with': [], 'why': 'it has a floating IP'}
        found = self.case(MACHINE, machine=away)
        self.assertIn('egress', self.found(found, Verdict.OK))
        self.assertIn('it has a floating IP', self.evidence(found, 'egress'))
        found = self.case(MACHINE, machine=away, place={
            'address': '', 'why': away['why']})
        self.assertEqual(['egress'], self.found(found, Verdict.WARN))

    def test_an_address_that_is_in_use_nowhere(self):
        found = self.case(EGRESS, place={'address': '', 'why': 'no network'})
        self.assert_one('egress', found, Verdict.WARN, 'no network')
        self.assertIn('no router or node needs it', self.evidence(
            self.case(EGRESS, places=[]), 'egress'))

    def test_rows_and_the_node(self):
        found = self.case(MACHINE, place={'rows': 'refused', 'rows_why': 'no'},
                          node=[{'kind': 'egress_source', 'ref': 'x',
                                 'state': 'refused', 'reason': 'nft'}])
        self.assertEqual(['egress-rows', 'egress-node'],
                         self.found(found, Verdict.BROKEN))
        self.assertIn('web: refused no', self.evidence(found, 'egress-rows'))
        self.assertIn('egress_source x (refused) nft',
                      self.evidence(found, 'egress-node'))

    def test_no_answer(self):
        self.assertIn('egress', self.found(self.case(MACHINE)._replace(
            egress=readers.Unread('no agent')), Verdict.NOT_CHECKED))


class Driver(drivers.Driver):
    """Its method explain is of a test."""

    def __init__(self, explain):
        super().__init__('names', None)
        self.explain = explain


class LayersTest(explained.AddressTestCase):

    def layers(self, explain):
        return [(each.check, each.layer, each.verdict, each.evidence)
                for each in driver_subjects.layers(Driver(explain), 'dns',
                                                   NAME)]

    def test_a_method_that_raises(self):
        """What it said before counts."""
        def explain(about, address):
            yield drivers.Layer('cable', 'OK', f'{about} {address}')
            raise OSError('no such cable')
        self.assertEqual(
            [('driver-names', 'cable', Verdict.OK, f'dns {NAME}'),
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
        route = resources.AnnouncedRoute(254, NAME + '/32', 'lo')
        problem = resources.Problem('{some} is bad', addresses=(NAME,))
        self.assertEqual(
            (WANTED, route, problem), driver_subjects.concerning(
                iter([OTHER, WANTED, route, problem,
                      resources.Problem('all is bad'),
                      resources.Keep(WANTED.ref)]), NAME))


class JudgeTest(explained.AddressTestCase):

    def case(self, *wanted, **values):
        return facts.Facts(facts.Setup(), subject.Subject(NAME))._replace(
            **{'agent': {'phase': 'running'},
               'driver_subjects': (driver_subjects.DriverSubject(
                   'Service dns of driver names', wanted),), **values})

    def judged(self, state, reason='', **values):
        """(outcome, verdict, evidence) by the row of an agent."""
        row = {'state': state, 'reason': reason, 'wanted': 'x', **values}
        found = explanation.explain(self.case(WANTED, rows={
            ('address', f'br-ex,{NAME}/32'): row}))
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
            '{some} is bad; change the row', addresses=(NAME,)))
        self.assert_broken('wanted', found)
        self.assertEqual(f'{NAME} is bad', self.evidence(found, 'wanted'))

    def test_a_subject_that_could_not_be_made(self):
        found = self.case()._replace(driver_subjects=(),
                                     unmade=('Service dns: a bad row',))
        self.assertIs(Outcome.UNKNOWN, self.outcome(found))
        self.assert_one('subject', found, Verdict.NOT_CHECKED)
