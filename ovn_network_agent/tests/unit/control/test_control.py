# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What status says, and when a wish counts as carried out."""

import collections
import datetime
import json

import fixtures
from oslotest import base

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.control import drains
from ovn_network_agent.control.reports import report
from ovn_network_agent.control.reports import screen
from ovn_network_agent.control.reports import text
from ovn_network_agent.control.socket import commands
from ovn_network_agent.ctl import drain
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.runtime.process import mode
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

R1 = '11111111-aaaa-4bbb-8ccc-0123456789ab'
R2 = '22222222-aaaa-4bbb-8ccc-0123456789ab'
HERE, THERE = cloud.CHASSIS, cloud.OTHER
MAINTENANCE = 'maintenance'

Database = collections.namedtuple('Database', 'connected problem changed_wall',
                                  defaults=(1769860800.0,))
WELL = Database(True, '')


def group(name, *routers, own=2, peer=1, owner=HERE, drained='', known=True):
    """A gateway group of two chassis with one port."""
    return model.GatewayGroup(
        'Gateway_Chassis', name, name,
        (model.Candidate(HERE, own, drained=drained, earlier=7),
         model.Candidate(THERE, peer, known)),
        (model.GroupPort(model.REDIRECT + name, owner, name),), routers)


def leaving(name, state):
    """A router whose port has left, as far as this."""
    port = model.GatewayPort(name, 'fa:16:3e:00:00:01', ('198.51.100.1/24',),
                             THERE, False, None, handover=state)
    return model.Router(R1, 'neutron-r1', (port,))


class ReportTestCase(base.BaseTestCase):

    names = directory.Directory(
        {R1: directory.Router(R1, 'neutron-r1', 'web'),
         R2: directory.Router(R2, 'neutron-r2')}, {HERE: 'gw1', THERE: 'gw2'})

    def report(self, *groups, drains=(), routers=(), reasons=(),
               databases=None, phase=model.Phase.RUNNING, **node):
        node = cloud.node(drains=frozenset(drains), phase=phase, **node)
        found = report.build(
            model.Snapshot(node, tuple(routers), groups), reasons,
            databases or {'nb': WELL, 'sb': WELL, 'ovs': WELL}, self.names,
            mode.FULL)
        # All of it has to survive that.
        self.assertEqual(found, json.loads(json.dumps(found)))
        self.assertTrue(screen.of_status(found, True))
        return found

    def pending(self, *args, **kwargs):
        return self.report(*args, **kwargs)['groups'][0]['pending']


class ReportTest(ReportTestCase):

    def test_a_drain_step_by_step(self):
        self.assertEqual([], self.pending(group('p1', R1)))
        for wish in (model.ALL, R1):
            self.assertEqual(
                ['gateway port is here', 'priority 2 is to be lowered'],
                self.pending(group('p1', R1), drains=[wish]))
        drained = group('p1', R1, own=0, drained=MAINTENANCE)
        self.assertEqual(['gateway port is here'],
                         self.pending(drained, drains=[R1]))
        gone = group('p1', R1, own=0, drained=MAINTENANCE, owner=THERE)
        for state in (model.Handover.ANNOUNCE, model.Handover.FORWARD):
            self.assertEqual(['gateway port is being handed over to gw2'],
                             self.pending(
                gone, drains=[R1], routers=[leaving('p1', state)]))
        self.assertEqual([], self.pending(gone, drains=[R1], routers=[
            leaving('p1', model.Handover.NONE)]))
        self.assertEqual(['priority is to be restored'], self.pending(gone))
        self.assertEqual([], self.pending(group('p1', R1, owner=THERE)))

    def test_a_drain_ends_with_its_overlap(self):
        gone = group('p1', R1, own=0, drained=MAINTENANCE, owner=THERE)
        for node in ({'overlap': ('192.0.2.2',)}, {'overlapping': True}):
            self.assertEqual(['ovn-controller is to go on'],
                             self.pending(gone, drains=[model.ALL], **node))

    def test_a_group_that_stays_is_not_waited_for(self):
        for peer in ({'peer': 0}, {'known': False}):
            found, = self.report(group('p1', R1, **peer),
                                 drains=[model.ALL])['groups']
            self.assertIn('gw2', found['stays'])
            self.assertEqual([], found['pending'])
        alone = group('p1', R1)._replace(candidates=(
            model.Candidate(HERE, 2),))
        found, = self.report(alone, drains=[model.ALL])['groups']
        self.assertIn('only candidate', found['stays'])
        self.assertEqual([], found['pending'])

    def test_one_that_could_not_announce(self):
        here = group('p1', R1, peer=0)
        here = here._replace(candidates=tuple(
            c._replace(drained='unfit')
            if c.chassis == THERE else c for c in here.candidates))
        found, = self.report(here)['groups']
        self.assertIn('gw2 has priority 0, as its BGP could not announce',
                      found['stays'])
        self.assertIn('candidate gw2: priority 0, drained: unfit',
                      screen.of_status(self.report(here), True))
        # Nobody can undo that by a command, so none waits for it.
        self.assertEqual([], self.pending(group(
            'p1', R1, own=0, drained='unfit', owner=THERE)))

    def test_the_state_of_a_group(self):
        for state in model.GatewayState:
            seen = self.report(group('p1', R1)._replace(state=state))
            self.assertEqual(state.value, seen['groups'][0]['state'])
            self.assertIn(f'\n  state: {state.value}\n',
                          screen.of_status(seen, True))

    def test_another_router_is_not_meant(self):
        found, = self.report(group('p2', R2), drains=[R1])['groups']
        self.assertEqual(('', []), (found['wish'], found['pending']))

    def test_text_for_people(self):
        route = model.NbDefaultRoute('198.51.100.254', 'p1', True,
                                     ownership.Owner('gw2'), 'gw2')
        self.names = directory.Directory({
            R1: directory.Router(R1, 'neutron-r1', 'web', (route,))},
            {HERE: 'gw1', THERE: 'gw2'})
        said = screen.of_status(self.report(
            group('p1', R1, own=0, owner=THERE, drained=MAINTENANCE),
            drains=[R1], reasons=('one', 'two'),
            databases={'nb': Database(False, 'NB is away'), 'sb': WELL}), True)
        self.assertIn('database nb: NB is away since '
                      '2026-01-31T12:00:00Z\n', said)
        self.assertIn('database sb: connected since 2', said)
        self.assertIn('degraded:\n  one\n  two\n', said)
        self.assertIn(f'router web ({R1}): default route by gw2, proved to be '
                      'announced by gw2\n', said)
        self.assertIn('port p1: on gw2\n', said)
        self.assertIn('candidate gw1: priority 0, drained: maintenance\n',
                      said)
        self.assertIn('drained, as requested (router)\n', said)

    def test_whether_drains_overlap(self):
        found = report.build(None, (), {}, self.names, mode.FULL,
                             overlap='not tried with OVN 31.09')
        self.assertEqual('not tried with OVN 31.09', found['overlap'])
        self.assertIn('\noverlap: not tried with OVN 31.09\n',
                      screen.of_status(found, True))

    def test_where_drains_do_not_overlap(self):
        for values, expected in (
                ({}, ''),
                ({'ovn__ovn_nb_remote': [], 'ovn__ovn_sb_remote': [],
                  'drivers': ['gateway_drain']}, ''),
                ({'drivers': ['gateway_drain'],
                  'gateway_drain__overlap': False}, 'off')):
            self.assertEqual(expected, drains.overlap_state(
                world.conf(**values)), values)

    def test_nothing_is_known_yet(self):
        found = report.build(None, None, {'nb': Database(False, 'away')},
                             directory.Directory(), mode.FULL)
        self.assertEqual(('restoring', '', [], []), (
            found['phase'], found['chassis'], found['groups'],
            found['degraded']))
        self.assertIn('restoring', screen.of_status(found, True))


    def test_without_ovn(self):
        """Row PFM-02: there is nothing to say of databases and drains."""
        node = model.Node('', 'gw1', model.Phase.RUNNING, ())
        found = report.build(model.Snapshot(node), (), {},
                             directory.Directory(), 'port-forward-only')
        self.assertEqual('port-forward-only', found['mode'])
        said = screen.of_status(found, True)
        self.assertIn('on gw1 (port-forward-only): running\n', said)
        self.assertIn('degraded: no\n', said)
        for word in ('chassis', 'database', 'drains'):
            self.assertNotIn(word, said)


class NamesTest(ReportTestCase):
    """A text begins with the name that a person knows."""

    def shared(self, *networks):
        """A group with a port of each router, one network each."""
        made = group('ha', R1, R2)
        ports = tuple(model.GroupPort(
            f'{model.REDIRECT}p{number}', HERE, f'p{number}', (network,))
            for number, network in enumerate(networks, 1))
        return made._replace(table='HA_Chassis_Group', ports=ports)

    def test_a_group_is_called_by_its_routers(self):
        found, = self.report(self.shared('198.51.100.1/24', '203.0.113.1/24')
                             )['groups']
        self.assertEqual('web, neutron-r2 (198.51.100.1/24, 203.0.113.1/24)',
                         found['label'])
        found, = self.report(group('p1', R1))['groups']
        self.assertEqual('web', found['label'])
        found, = self.report(group('p1'))['groups']
        self.assertEqual('p1', found['label'])

    def test_a_group_of_many(self):
        routers = {f'r-{number}': directory.Router(f'r-{number}', f'n{number}')
                   for number in range(9)}
        self.names = directory.Directory(routers)
        found, = self.report(group('ha', *routers))['groups']
        self.assertEqual('n0, n1, n2 and 6 more', found['label'])

    def test_ports_of_one_group(self):
        pending = self.pending(
            self.shared('198.51.100.1/24', '203.0.113.1/24'),
            drains=[model.ALL], routers=[leaving('p1', model.Handover.NONE)])
        self.assertEqual(
            ['gateway port of web (198.51.100.1/24) is here',
             'gateway port (203.0.113.1/24) is here',
             'priority 2 is to be lowered'], pending)

    def test_drains_have_names_and_times(self):
        seen = drains.StartTimes(lambda: datetime.datetime(
            2026, 1, 31, 12, tzinfo=datetime.UTC))
        node = cloud.node(drains=frozenset([R1]))
        gone = group('p1', R1, own=0, drained=MAINTENANCE, owner=THERE)
        snapshot = model.Snapshot(
            node, (leaving('p1', model.Handover.ANNOUNCE),), (gone,))
        seen.note(snapshot)
        found = report.build(snapshot, (), {}, self.names, mode.FULL,
                             start_times=seen)
        self.assertEqual({R1: '2026-01-31T12:00:00Z'}, found['drains_since'])
        said = screen.of_status(found, True)
        self.assertIn(f'drains: web ({R1}) since 2026-01-31T12:00:00Z\n', said)
        self.assertIn('port p1: on gw2, handover: announce since '
                      '2026-01-31T12:00:00Z\n', said)
        # The first sight counts, and what is over is forgotten.
        seen = drains.StartTimes()
        seen.note(snapshot)
        first = seen.drains, seen.handovers
        seen.note(snapshot)
        self.assertEqual(first, (seen.drains, seen.handovers))
        seen.note(model.Snapshot(cloud.node()))
        self.assertEqual(({}, {}), (seen.drains, seen.handovers))

    def test_the_answer_to_a_command(self):
        done = {'command': 'drain', 'wanted': [R1], 'changed': True,
                'drains': [R1, R2], 'names': {R1: 'web'}}
        self.assertEqual(
            f'drain of router web ({R1}): written\n'
            f'drains now: router web ({R1}), router {R2}\n',
            text.of_change(done))
        self.assertEqual(
            'undrain of all routers: nothing to change\ndrains now: none\n',
            text.of_change({'command': 'undrain', 'wanted': [model.ALL],
                            'changed': False, 'drains': []}))


class ProgressTest(ReportTestCase):

    def test_how_many_are_handed_over(self):
        progress = drain.Progress({'command': 'drain', 'wanted': [model.ALL]})

        def look(*groups):
            steps = progress.look(self.report(*groups, drains=[model.ALL]))
            return progress.text(steps, 12.3) if steps else progress.count()
        # One more that was never here does not count.
        other = group('p3', R2, own=0, owner=THERE, drained=MAINTENANCE)
        gone = [group(name, router, own=0, owner=THERE, drained=MAINTENANCE)
                for name, router in (('p1', R1), ('p2', R2))]
        self.assertEqual(
            'for 12 s: 0 of 2 handed over; web: gateway port is here, '
            'priority 2 is to be lowered; neutron-r2: gateway port is here, '
            'priority 2 is to be lowered',
            look(group('p1', R1), group('p2', R2), other))
        self.assertEqual(
            'for 12 s: 1 of 2 handed over; neutron-r2: gateway port is here, '
            'priority 2 is to be lowered', look(gone[0], group('p2', R2),
                                                other))
        self.assertEqual('2 of 2 handed over', look(*gone, other))

    def test_before_the_agent_has_taken_note(self):
        progress = drain.Progress({'command': 'undrain', 'wanted': [R1]})
        steps = progress.look(self.report(
            group('p1', R1, own=0, drained=MAINTENANCE), drains=[R1]))
        self.assertEqual('for 0 s: the agent has not seen the request yet',
                         progress.text(steps, 0))
        progress.look(self.report(group('p1', R1, own=0, drained=MAINTENANCE)))
        self.assertEqual('0 of 1 restored', progress.count())
        progress.look(self.report(group('p1', R1)))
        self.assertEqual('1 of 1 restored', progress.count())

    def test_a_long_list_is_cut(self):
        progress = drain.Progress({'command': 'drain', 'wanted': []})
        self.assertEqual(
            'for 1 s: ' + '; '.join(map(str, range(10))) + '; and 2 more',
            progress.text(list(map(str, range(12))), 1))


class DoubtsTest(ReportTestCase):

    def test_a_former_wish_that_is_withdrawn(self):
        """The view still has the wish that the database has no more."""
        view = model.Snapshot(cloud.node(drains=frozenset([model.ALL])), (),
                              (group('p1', R1, peer=0),))
        maintenance = drains.Maintenance(
            configs.conf(drivers=['gateway_drain'],
                         ovn__ovn_nb_remote='tcp:192.0.2.1:6641'),
            {'nb': WELL, 'sb': WELL, 'ovs': WELL}, lambda: view,
            lambda: self.names)
        change = self.useFixture(fixtures.MockPatchObject(
            drains.drain_writer, 'change')).mock
        for before, doubts in ((), 1), ((model.ALL,), 0), ((R1,), 0):
            change.side_effect = lambda _database, how, _timeout, b=before: (
                frozenset(b), how(frozenset(b)))
            if doubts:
                error = self.assertRaises(commands.Refused, maintenance.drain)
                self.assertIn('none of its other candidates', str(error))
            forced = maintenance.drain(force=True)
            self.assertEqual((doubts, before != (model.ALL,)),
                             (len(forced['forced']), forced['changed']))


class WaitingTest(ReportTestCase):

    def missing(self, command, wanted, *groups, **kwargs):
        return drain.missing({'command': command, 'wanted': wanted},
                             self.report(*groups, **kwargs))

    def test_the_agent_has_to_have_seen_it(self):
        self.assertTrue(self.missing('drain', [model.ALL]))
        self.assertTrue(self.missing('drain', [R1], drains=[R2]))
        self.assertTrue(self.missing('undrain', [model.ALL], drains=[R2]))
        self.assertTrue(self.missing('undrain', [R1], drains=[R1, R2]))
        self.assertEqual([], self.missing('drain', [model.ALL],
                                          drains=[model.ALL]))
        self.assertEqual([], self.missing('drain', [R1], drains=[R1, R2]))
        # Part of it already.
        self.assertEqual([], self.missing('drain', [R1], drains=[model.ALL]))
        self.assertEqual([], self.missing('undrain', [R1], drains=[R2]))
        self.assertTrue(self.missing(
            'drain', [model.ALL], drains=[model.ALL],
            phase=model.Phase.RESTORING))

    def test_only_what_was_asked_for_is_waited_for(self):
        groups = (group('p1', R1, own=0, owner=THERE, drained=MAINTENANCE),
                  group('p2', R2))
        self.assertEqual([], self.missing('drain', [R1], *groups,
                                          drains=[R1, R2]))
        self.assertIn('neutron-r2: gateway', ' '.join(self.missing(
            'drain', [R2], *groups, drains=[R1, R2])))
        self.assertIn('neutron-r2: gateway', ' '.join(self.missing(
            'drain', [model.ALL], *groups, drains=[model.ALL])))

    def test_undrain_does_not_wait_for_the_drain_of_another(self):
        shared = group('p1', R1, R2)
        self.assertEqual([], self.missing('undrain', [R1], shared,
                                          drains=[R2]))
        self.assertTrue(self.missing(
            'undrain', [R1], group('p1', R1, own=0, drained=MAINTENANCE)))

    def test_nothing_counts_while_a_database_is_away(self):
        self.assertEqual(['database nb: away'], self.missing(
            'drain', [model.ALL], drains=[model.ALL],
            databases={'nb': Database(False, 'away'), 'sb': WELL}), True)
