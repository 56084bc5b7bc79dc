# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Peerings of a running agent, over its socket, and what a person may write.
"""

import json

import fixtures

from ovn_network_agent import ownership
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.diagnosis.address import explanation
from ovn_network_agent.diagnosis.address import gathering
from ovn_network_agent.drivers import network_peer
from ovn_network_agent.tests.functional.backends import peerings
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.diagnosis import base as doctor
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import test_lock

Outcome = explanation.Outcome
TARGET, EXPORT = ownership.EXT_ID_PEER_TARGET, ownership.EXT_ID_PEER_EXPORT


class PeersTestCase(base.CtlTestCase):

    drivers = {**base.CtlTestCase.drivers,
               'network_peer': network_peer.NetworkPeerDriver}
    real = {'peering': locked_rows.PeeringBackend}

    def setUp(self):
        super().setUp()
        self.routers = {}
        for number in (1, 2, 3):
            name = f'r{number}'
            self.routers[name] = self.cloud.add_router(
                name, [f'198.51.100.{number}/24'], cloud.CHASSIS)
            self.cloud.add_tenant(name, 'inner', f'10.0.{number}.1/24')

    def agent(self, **options):
        return super().agent(**{
            'drivers': [*base.DRIVERS, 'network_peer'], **options})

    def start(self, **options):
        self.started = self.ready('lrp-r1', 'lrp-r2', 'lrp-r3', **options)
        self.eventually(lambda: not self.planned(), self.planned)

    def planned(self):
        return json.loads(self.call('plan'))['steps']

    def peers(self):
        found = json.loads(self.ends(0, self.ctl('peers', '--json')).stdout)
        return found['lock'], {(each['router_name'].split()[0], each['name']):
                               each for each in found['peerings']}

    def states(self):
        return {where: (each['state'], each['rows'])
                for where, each in self.peers()[1].items()}

    def become(self, **wanted):
        """Wait for states, as r1_db=(state, state of the rows)."""
        expected = {tuple(name.split('_')): value
                    for name, value in wanted.items()}
        self.eventually(lambda: self.states() == expected,
                        lambda: (self.states(), expected))

    def words(self, router):
        row, = self.nb.rows('Logical_Router', 'external_ids', 'options',
                            where=[['name', '==', f'neutron-{router}']])
        return {key: text for column in ('external_ids', 'options')
                for key, text in row[column][1]
                if key.startswith('ovn-network-agent:')}

    def add(self, router, name, target, status=0):
        return self.ends(status, self.ctl('peer', 'add', router, name,
                                          self.routers.get(target, target)))


class PeersTest(PeersTestCase):

    def test_from_the_command_to_the_rows_and_back(self):
        self.start()
        self.assertEqual('no peerings\n', self.ctl('peers').stdout)
        transactions = peerings.Transactions(self.nb)
        self.addCleanup(transactions.close)
        transactions.since()
        said = self.add('r1', 'db', 'r2').stdout
        self.assertIn('written, pending: the other router does not name this '
                      'one', said)
        self.assertEqual(1, transactions.since())
        self.become(r1_db=('pending', ''))
        self.assertEqual({TARGET + 'db': self.routers['r2']},
                         self.words('r1'))
        self.assertIn('written, created\n', self.add('r2', 'web', 'r1').stdout)
        self.become(r1_db=('created', 'in place'),
                    r2_web=('created', 'in place'))
        lock, found = self.peers()
        self.assertEqual('held', lock)
        one = found['r1', 'db']
        self.assertEqual(
            (self.routers['r1'], self.routers['r2'], '', ['10.0.1.0/24'],
             ['10.0.2.0/24']), tuple(one[key] for key in (
                 'router', 'target', 'why', 'gives', 'takes')))
        self.assertEqual(['10.0.1.0/24'], found['r2', 'web']['takes'])
        shown = self.ends(0, self.ctl('peers')).stdout
        self.assertIn('2 created; this agent writes the rows', shown)
        self.assertIn('10.0.2.0/24', shown)
        said = self.ends(0, self.ctl('drain', '--force')).stdout
        self.assertIn('nothing to do for 1 peering of routers', said)
        ended = self.ctl('peer', 'remove', 'r1', 'db')
        self.assertIn('peering db removed', self.ends(0, ended).stdout)
        self.assertEqual({}, self.words('r1'))
        self.become(r2_web=('pending', ''))
        self.eventually(lambda: not self.nb.rows('Logical_Router_Policy'),
                        'the rows go')

    def test_a_filter_stays_at_add_and_goes_at_remove(self):
        self.start()
        self.cloud.say('Logical_Router', {'name': 'neutron-r1'},
                       external_ids={EXPORT + 'db': '10.0.1.0/25'})
        self.become(r1_db=('error', ''))
        self.add('r1', 'db', 'r2')
        self.become(r1_db=('pending', ''))
        self.assertEqual([], self.peers()[1]['r1', 'db']['gives'])
        self.ends(0, self.ctl('peer', 'remove', 'r1', 'db'))
        self.assertEqual({}, self.words('r1'))

    def test_a_conflict_is_written_and_told(self):
        self.cloud.add_tenant('r2', 'more', '10.0.1.129/25')
        self.start()
        self.add('r1', 'db', 'r2')
        said = self.add('r2', 'web', 'r1').stdout
        self.assertIn('written, conflict: the other router has, too, what '
                      '10.0.1.128/25 is in', said)
        self.become(r1_db=('conflict', ''), r2_web=('conflict', ''))

    def test_what_is_refused(self):
        self.cloud.say('Logical_Router', {'name': 'neutron-r3'},
                       options={'chassis': 'gw1'})
        self.start()
        self.add('r1', 'db', 'r2')
        self.become(r1_db=('pending', ''))
        before = self.nb.content()
        for words, why in (
                (('add', 'r3', 'x', 'r1'), 'bound to a chassis'),
                (('add', 'r1', 'db', 'r3'), 'it has a peering db with'),
                (('add', 'r9', 'x', 'r2'), 'there is no router "r9"'),
                (('add', 'r1', 'internal', 'r3'), 'is reserved'),
                (('add', 'r1', '1x', 'r3'), 'is no name of a peer'),
                (('add', 'r1', '-x', 'r3'), 'is no name of a peer'),
                (('add', 'r1', 'x\nx', 'r3'), 'is no name of a peer'),
                (('add', 'r1', 'x', ''), 'names no router'),
                (('add', 'r1', 'x', 'r2\nr3'), 'is the name of no router'),
                (('add', 'r1', 'x', 'r1'), 'it names this router itself'),
                (('add', 'r1', 'x', self.routers['r2']),
                 'peering db is with the same router'),
                (('add', 'r1', 'a', 'r2'),
                 'peering db is with the same router'),
                (('remove', 'r1', 'x'), "it has no peering 'x'; it has 'db'"),
                (('remove', 'r2', 'x'), 'it has none')):
            ended = self.ends(1, self.ctl('peer', words[0], '--', *words[1:]))
            self.assertIn(why, ended.stderr)
            self.assertEqual('', ended.stdout)
        for words in ('add', 'r1', 'x'), ('remove', 'r1', 'db', 'r2'):
            self.assertIn('"add" needs TARGET', self.ends(
                2, self.ctl('peer', *words)).stderr)
        self.assertEqual(before, self.nb.content())
        self.cloud.say('Logical_Router', {'name': 'neutron-r2'},
                       external_ids={'neutron:router_name': 'r1'})
        self.eventually(lambda: 'is the name of 2 routers' in self.ctl(
            'peer', 'add', 'r1', 'x', self.routers['r3']).stderr, 'seen')

    def test_agents_that_do_not_write(self):
        self.start(drivers=base.DRIVERS)
        for words in ('peers',), ('peer', 'add', 'r1', 'x', 'r2'):
            self.assertIn('no driver network_peer', self.ends(
                1, self.ctl(*words)).stderr)


class LooksTestCase(PeersTestCase, doctor.Looks):
    """What explain and doctor find, beside the agent."""

    options = {}

    def setUp(self):
        super().setUp()
        self.start(**self.options)
        self.conf = self.of_databases(
            drivers=[*base.DRIVERS, 'network_peer'],
            control_socket=self.socket, **self.options)

    def explained(self, address, client='192.0.2.1'):
        """(outcome, dict of check to finding)."""
        found, = gathering.gather(self.conf, address, client, self.socket)
        said = explanation.explain(found)
        return said.outcome, {each.check: each for each in said.findings}


class LooksTest(LooksTestCase):

    def test_explain(self):
        outcome, found = self.explained('10.0.2.9')
        self.assertEqual((Outcome.NOBODY, ['nat-row']),
                         (outcome, [*found]))
        self.add('r2', 'web', 'r1')
        outcome, found = self.explained('10.0.2.9')
        self.assertIs(doctor.WARN, found['peering'].verdict)
        self.assertIn('gives it to nobody by its peering web',
                      found['peering'].evidence)
        self.add('r1', 'db', 'r2')
        self.become(r1_db=('created', 'in place'),
                    r2_web=('created', 'in place'))
        outcome, found = self.explained('10.0.2.9', '10.0.1.9')
        self.assertEqual(
            (Outcome.OK, {doctor.OK}, {
                'agent', 'peering', 'peering-rows', 'peering-policies',
                'peering-writer'}),
            (outcome, {each.verdict for each in found.values()}, {*found}),
            found)
        self.assertIn('router r1 (neutron-r1) reaches 10.0.2.0/24',
                      found['peering'].evidence)
        self.assertIn('this agent writes the rows',
                      found['peering-writer'].evidence)


class WaitTest(PeersTestCase):
    """Another process has the lock, and writes nothing."""

    def setUp(self):
        super().setUp()
        holder = test_lock.Holder(self, self.nb.remote,
                                  locked_rows.PEERING_LOCK)
        self.assertEqual('held', holder.state)
        self.start()

    def test_it_is_told(self):
        self.assertEqual('not asked', self.peers()[0])
        self.add('r1', 'db', 'r2')
        self.add('r2', 'web', 'r1')
        self.eventually(lambda: self.peers()[0] == 'waiting', self.peers)
        self.eventually(lambda: 'has the lock' in self.peers()[1][
            'r1', 'db']['rows_why'], self.peers)
        self.assertIn('another agent writes the rows', self.ctl(
            'peers').stdout)
        # A plan leaves the rows to the writer.
        before = self.nb.content()
        self.assertNotIn('peering', self.ends(0, self.ctl('plan')).stdout)
        self.assertEqual(before, self.nb.content())


class FileTest(LooksTestCase):
    """Peerings in the file of the operator."""

    def setUp(self):
        path = self.useFixture(fixtures.TempDir()).join('peers.yaml')
        with open(path, 'w') as opened:
            opened.write('network_peers: [{name: db, routers: [r1, r2]}]')
        self.options = {'network_peer__peers_file': path}
        super().setUp()

    def test_all_commands_know_them(self):
        self.become(r1_db=('created', 'in place'),
                    r2_db=('created', 'in place'))
        outcome, found = self.explained('10.0.2.9', '10.0.1.9')
        self.assertEqual((Outcome.OK, {doctor.OK}), (
            outcome, {each.verdict for each in found.values()}), found)
        self.assertIn('the file of peerings has this name',
                      self.add('r1', 'db', 'r3', status=1).stderr)
        # The file speaks for both, and the new peering has another name.
        self.add('r1', 'web', 'r3')
        self.become(r1_db=('created', 'in place'), r1_web=('pending', ''),
                    r2_db=('created', 'in place'))
