# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses that an operator does not want to be announced, in the agent."""

from ovn_network_agent import resources
from ovn_network_agent.engine import guard
from ovn_network_agent.model import selection
from ovn_network_agent.tests.functional.control import base as control
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.service import test_guard
from ovn_network_agent.tests.functional.service import test_reload

HERE = cloud.CHASSIS
MARK = 'ovn-network-agent:announce'
OWN, FIP, OTHER = (f'198.51.100.{n}' for n in (1, 10, 11))


class RowsTest(control.ControlTestCase):

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=HERE)
        for address in (FIP, OTHER):
            self.cloud.add_nat('r1', address)

    def running(self, **options):
        agent = self.agent(**options)
        self.becomes({OWN, FIP, OTHER}, agent)
        # The flows come after what is announced.
        self.eventually(lambda: len(self.hairpins()) == 3, self.hairpins)
        return agent

    def becomes(self, wanted, agent):
        """Wait for the announced addresses, and for an agent at rest."""
        self.eventually(
            lambda: self.announced() == {a + '/32' for a in wanted} and
            agent.status.reasons == (),
            lambda: (self.announced(), agent.status.reasons))

    def mark(self, value, table='NAT', where=None):
        self.cloud.say(table, where or {'external_ip': FIP},
                       external_ids={MARK: value})

    def changes(self, since):
        """(verb, kind, address) of the changes after a mark of the journal."""
        return [(verb, ref.kind, ref.key[1])
                for verb, ref in self.world.journal[since:]]

    def hairpins(self):
        return {flow.dst for flow in self.world.found(
            resources.Flow).values() if flow.output == 'in_port'}

    def known(self):
        """What the agent says of each address, (state, why)."""
        return {each['address']: (each['state'], each['why'])
                for each in self.addresses()}

    def addresses(self):
        return control.json.loads(self.call('fips'))['addresses']

    def test_a_flag_is_set_and_removed(self):
        agent = self.running()
        since = len(self.world.journal)
        self.mark('false')
        self.becomes({OWN, OTHER}, agent)
        self.eventually(lambda: (254, FIP + '/32') not in self.world.found(
            resources.KernelRoute), 'the route has gone')
        self.assertEqual(
            [('delete', 'announcement', FIP + '/32'),
             ('delete', 'kernel_route', FIP + '/32')], self.changes(since))
        # Routers of this chassis reach each other as before.
        self.assertIn(FIP + '/32', self.hairpins())
        self.eventually(lambda: self.known()[FIP][0] == 'omitted',
                        self.known)
        self.assertIn(f'{MARK}=false in its external_ids',
                      self.known()[FIP][1])
        self.assertEqual('announced', self.known()[OTHER][0])
        since = len(self.world.journal)
        self.mark(None)
        self.becomes({OWN, FIP, OTHER}, agent)
        self.assertEqual(
            [('create', 'kernel_route', FIP + '/32'),
             ('create', 'announcement', FIP + '/32')], self.changes(since))

    def test_a_word_that_cannot_be_read_withdraws_nothing(self):
        agent = self.running()
        since = len(self.world.journal)
        self.mark('no')
        self.eventually(lambda: f"{MARK} = 'no' is neither true nor false"
                        in str(agent.status.reasons),
                        lambda: agent.status.reasons)
        self.assertEqual([], self.changes(since))
        self.mark(None)
        self.becomes({OWN, FIP, OTHER}, agent)

    def test_a_router_that_ovn_routes(self):
        agent = self.running()
        where = {'name': 'neutron-r1'}
        self.cloud.say('Logical_Router', where,
                       options={'dynamic-routing': 'true'})
        self.becomes(set(), agent)
        self.eventually(lambda: not self.routes() and not self.hairpins() and
                        not self.nb.rows('Static_MAC_Binding'),
                        'nothing is left')
        self.assertEqual({address: ('omitted', selection.BY_OVN)
                          for address in (OWN, FIP, OTHER)}, self.known())
        # Both announce until OVN does.
        self.mark('true', 'Logical_Router', where)
        self.becomes({OWN, FIP, OTHER}, agent)
        self.eventually(self.routes, 'the default route')
        self.mark(None, 'Logical_Router', where)
        self.becomes(set(), agent)


class ReloadTest(test_reload.FileTestCase):

    def test_a_bad_value_changes_nothing(self):
        agent = self.running()
        before = self.announced()
        self.write('[announce]\nexclude_cidrs = 198.51.100.0\n')
        agent.reset()
        self.eventually(lambda: agent.status.reasons, 'refused')
        for part in ('[announce] exclude_cidrs', "'198.51.100.0'",
                     'write it like 198.51.100.0/24'):
            self.assertIn(part, agent.status.reasons[0])
        self.assertEqual(before, self.announced())


class GuardTest(test_guard.GuardTestCase):
    """A large exclusion is a mass withdrawal like any other."""

    def test_the_servers_confirm_it(self):
        agent = self.running()
        where = {'name': 'neutron-big'}
        self.cloud.say('Logical_Router', where, external_ids={MARK: 'false'})
        self.eventually(lambda: len(self.announced()) == 2, self.announced)
        self.assertIn('the withdrawal guard holds 21 of 23',
                      self.holds.lines[0])
        self.assertIn(guard.UNCONFIRMED, self.holds.lines[0])
        self.well(agent)
        self.cloud.say('Logical_Router', where, external_ids={MARK: None})
        self.eventually(lambda: len(self.announced()) == 23, self.announced)
