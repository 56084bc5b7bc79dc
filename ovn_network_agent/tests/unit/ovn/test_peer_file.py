# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The file of peerings: what it says, and what becomes of it."""

import pathlib
import textwrap

from oslotest import base

from ovn_network_agent.common import ip_text
from ovn_network_agent.files import file_problems
from ovn_network_agent.files import reading
from ovn_network_agent.ovn.peering import peer_changes
from ovn_network_agent.ovn.peering import peer_intents
from ovn_network_agent.tests import tools
from ovn_network_agent.tests.unit.ovn import peers

SAMPLES = pathlib.Path(tools.ROOT, 'etc', 'ovn-network-agent')
TWO = """\
    network_peers:
    - name: x
      routers: [r1, r2]
"""


def parsed(text):
    return peer_intents.parse(textwrap.dedent(text).encode(), peers.FILE)


class ContentTest(base.BaseTestCase):

    def ends(self, text):
        """(router, name, target, exports, imports) of each end."""
        found = parsed(text)
        self.assertEqual((), found.flaws)
        return [(end.router, end.name, end.intent.target, end.intent.exports,
                 end.intent.imports) for end in found.rows.values()]

    def test_one_name_for_both(self):
        self.assertEqual([('r1', 'x', 'r2', None, None),
                          ('r2', 'x', 'r1', None, None)], self.ends(TWO))

    def test_all_keys(self):
        net = ip_text.network
        self.assertEqual(
            [('r1', 'db', 'r2', (net('10.0.1.0/24'),), None),
             ('r2', 'x', 'r1', None,
              (net('10.0.0.0/16'), net('2001:db8::/32')))],
            self.ends("""\
                network_peers:
                - name: x
                  routers:
                  - {router: r1, name: db, export: [10.0.1.0/24]}
                  - router: ' r2 '
                    import: [10.0.0.0/16, '2001:db8::/32']
                """))

    def test_a_bad_entry_costs_itself(self):
        for entry, part in (
                ('routers: [a, b]', '.name: is missing; name the peering'),
                ('{name: x, routers: [a]}', '.routers = a list: has 1 items'),
                ('{name: x, routers: [a, b, c]}', 'has 3 items'),
                ('{name: x, routers: [a, a]}', 'names one router twice'),
                ('{name: 1x, routers: [a, b]}',
                 ".name: '1x' is no name of a peer"),
                ('{name: x, routers: [a, {router: b, name: a-}]}',
                 ".routers[1].name: 'a-' is no name"),
                ('{name: 7, routers: [a, b]}', '.name = 7: is not possible'),
                ('{name: x, routers: [a, {router: 7}]}',
                 '.routers[1].router = 7'),
                ('{name: x, routers: [a, {name: b}]}', 'is missing'),
                ('{name: x, routers: [a, {router: b, exports: []}]}',
                 'did you mean "export"?'),
                ('{name: x, routers: [a, {router: b, export: []}]}',
                 'is empty'),
                ('{name: x, routers: [a, {router: b, import: '
                 '[10.0.0.0/8, 10.0.0.1/24]}]}',
                 '.routers[1].import[1] = "10.0.0.1/24": is no prefix'),
                ('{name: x, name: y, routers: [a, b]}',
                 'this key is there twice'),
                ('{name: x, routers: [r1, b]}',
                 '.routers[0]: this router has a peering x in line 2 already'),
                ('nonsense', ' = "nonsense"'), ('', ' = null: is empty')):
            found = parsed(textwrap.dedent(TWO) + f'- {entry}\n'
                           '- {name: y, routers: [r1, r3]}\n')
            self.assertEqual(['r1', 'r2', 'r1', 'r3'], [
                end.router for end in found.rows.values()], entry)
            flaw, = found.flaws
            where = f'{peers.FILE}, line 4: network_peers[1]'
            self.assertTrue(flaw.startswith(where), flaw)
            self.assertIn(part, flaw.removeprefix(where))
            self.assertTrue(flaw.endswith('; this peering is left out'), flaw)

    def test_what_is_no_file_of_peerings(self):
        """Above all, an empty file does not withdraw all peerings."""
        for text, part in (
                ('', 'must be a mapping with the one key "network_peers"'),
                ('network_peers:', 'must be a list of peerings, [] for none'),
                ('network_peers: {}', 'must be a list of peerings'),
                ('network_peer: []', 'has the one key "network_peers"'),
                ('network_peers: []\nnetwork_peers: []', 'is there twice'),
                ('network_peers: [', 'this is no YAML')):
            error = self.assertRaises(file_problems.BadFile, parsed, text)
            self.assertIn(f'{peers.FILE}, line ', str(error))
            self.assertIn(part, str(error))

    def test_the_sample_can_be_used_as_it_is(self):
        sample = SAMPLES / 'network-peers.yaml.sample'
        self.assertEqual(4, len(self.ends(sample.read_text())))


class PeeringsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.cloud = peers.Cloud()
        for number in (1, 2, 3):
            self.cloud.router(number, f'10.0.{number}.1/24')

    def test_an_entry_is_what_both_say(self):
        self.cloud.file(TWO.replace('r1', f'{peers.key(1)}').replace(
            'r2', f'{peers.key(2)}'))
        said = peers.Cloud()
        said.router(1, '10.0.1.1/24', x=2)
        said.router(2, '10.0.2.1/24', x=1)
        found = self.cloud.look()
        self.assertEqual(said.look(), found)
        self.assertEqual('created', found[1, 'x'].state.value)
        self.cloud.file('network_peers: []')
        self.assertEqual({}, self.cloud.look())

    def test_another_entry_in_its_place_changes_nothing_else(self):
        more = '    - {name: y, routers: [r2, r3]}\n'
        self.cloud.file(TWO + more)
        before = self.cloud.look()
        self.cloud.file('    network_peers:\n' + more)
        after = self.cloud.look()
        self.assertEqual({(2, 'y'), (3, 'y')}, set(after))
        for where, each in after.items():
            self.assertIs(before[where], each)

    def test_the_file_comes_first(self):
        self.cloud.router(1, '10.0.1.1/24', x=3)
        self.cloud.router(3, '10.0.3.1/24', x=1)
        said = {(1, 'x'): 'created', (3, 'x'): 'created'}
        self.assertEqual(said, self.cloud.states())
        self.cloud.file(TWO)
        self.assertEqual({
            (1, 'x'): 'created', (2, 'x'): 'created', (3, 'x'): 'pending',
            (1, 'x', 'again'): 'error'}, self.cloud.states())
        self.assertIn('the file counts; remove its keys',
                      self.cloud.look()[1, 'x', 'again'].why)
        self.cloud.file('network_peers: []')
        self.assertEqual(said, self.cloud.states())

    def test_a_command_knows_the_file(self):
        self.cloud.file(TWO)
        nb = self.cloud.tables['nb']
        for name, target, objection in (
                ('a', 'r2', 'peering x is with the same router'),
                ('z', f'{peers.key(2)}', 'peering x is with the same router'),
                ('a', 'r3', ''), ('a', 'nobody', ''), ('a', 'r1', '')):
            _made, said = peer_changes.trial(
                nb, nb['Logical_Router'][peers.key(1)], name, target,
                reading.Content(self.cloud.peers.rows))
            self.assertEqual(objection, said, (name, target))

    def test_a_router_that_is_not_there_yet(self):
        nowhere = {(1, 'x'): 'pending', ('r9', 'x'): 'error'}
        self.cloud.file(TWO.replace('r2', 'r9'))
        self.assertEqual(nowhere, self.cloud.states())
        self.assertIn('use the UUID, or remove the entry',
                      self.cloud.look()['r9', 'x'].why)
        self.cloud.router(9, '10.0.9.1/24')
        self.assertEqual({(1, 'x'): 'created', (9, 'x'): 'created'},
                         self.cloud.states())
        # Nobody can tell which one is meant.
        self.cloud.router(8, '10.0.8.1/24', label='r9')
        self.assertEqual(nowhere, self.cloud.states())

    def test_one_router_by_two_names(self):
        self.cloud.file(TWO + f'    - name: x\n      routers: '
                        f'[r3, {peers.key(2)}]\n')
        states = self.cloud.states()
        self.assertEqual(['created', 'error'], sorted(
            state for where, state in states.items() if where[0] == 2))
        self.assertIn('twice', ''.join(
            each.why for each in self.cloud.look().values()))
        self.cloud.file(TWO.replace('r1', f'{peers.key(2)}'))
        self.assertEqual(['error', 'error'], [*self.cloud.states().values()])
