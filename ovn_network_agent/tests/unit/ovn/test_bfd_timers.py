# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend bfd_timers: agents with requests of their own, and operators."""

from ovn_network_agent.tests.functional.backends import bfd
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.unit.ovn import clouds


class BackendTest(bfd.Agents, clouds.CloudTestCase):

    def test_one_agent(self):
        self.add_row()
        agent = self.agent()
        self.assertEqual([], self.found(agent))
        self.assertEqual({}, self.create(agent, self.wanted()))
        self.assertEqual((bfd.FAST, dict.fromkeys(bfd.ONE, bfd.TEXT)),
                         (self.options(), self.marks()))
        self.assertEqual([self.wanted()], self.found(agent))
        before = self.nb.content()
        self.assertEqual({}, self.create(agent, self.wanted()))
        self.assertEqual(before, self.nb.content())
        self.assertEqual({}, self.delete(agent, self.wanted()))
        self.assertEqual(({}, {}), (self.options(), self.marks()))
        self.assertEqual([], self.found(agent))

    def test_the_last_of_two_gives_back(self):
        self.add_row()
        one, two = self.agent(), self.agent(bfd.OTHER)
        self.create(one, self.wanted())
        self.create(two, self.wanted(bfd.OTHER))
        self.delete(one, self.wanted())
        self.assertEqual(
            (bfd.FAST, {key: bfd.TEXT for key in (
                bfd.MARK, bfd.REQUEST + bfd.OTHER)}),
            (self.options(), self.marks()))
        self.assertEqual([self.wanted(bfd.OTHER)], self.found(two))
        self.delete(two, self.wanted(bfd.OTHER))
        self.assertEqual(({}, {}), (self.options(), self.marks()))

    def test_different_values_are_said_and_take_no_turns(self):
        self.add_row()
        one, two = self.agent(), self.agent(bfd.OTHER)
        self.create(one, self.wanted())
        self.create(two, self.wanted(bfd.OTHER, bfd.SLOW))
        self.assertEqual(bfd.SLOW, self.options())
        before = self.nb.rows('NB_Global')
        for agent in (one, two) * 3:
            # Nothing is astray, so the engine changes nothing.
            self.assertEqual([None], [r.astray for r in self.found(agent)])
            self.create(agent, *(
                self.wanted(r.chassis, bfd.FAST if agent is one else bfd.SLOW)
                for r in self.found(agent)))
        # Also the version of the row.
        self.assertEqual(before, self.nb.rows('NB_Global'))
        said = [line for line in self.log.output.splitlines()
                if 'request different timers' in line]
        self.assertEqual(2, len(said), said)
        self.assertIn(f'this one 200/200 ms x 3, {bfd.OTHER} 300/300 ms x 4; '
                      'the slowest values count, 300/300 ms x 4', said[0])
        self.create(two, self.wanted(bfd.OTHER))
        self.assertEqual(bfd.FAST, self.options())
        self.found(one)
        self.assertIn('No other agent requests other timers', self.log.output)

    def test_a_foreign_value_stays(self):
        self.add_row(**{'bfd-mult': '5'})
        agent = self.agent()
        failure, = self.create(agent, self.wanted()).values()
        self.assertIn('bfd-mult is 5 and not 3', failure)
        self.assertEqual(
            ({'bfd-mult': '5'}, {bfd.REQUEST + bfd.HERE: bfd.TEXT}),
            (self.options(), self.marks()))
        self.assertIn('bfd-mult is 5', self.found(agent)[0].astray)
        # The operator leaves it to the agent.
        self.set_options({})
        self.assertEqual({}, self.repair(agent))
        self.assertEqual(bfd.FAST, self.options())

    def test_what_an_operator_changes_stays(self):
        self.add_row()
        agent = self.agent()
        self.create(agent, self.wanted())
        changed = {**bfd.FAST, 'bfd-min-rx': '500'}
        self.set_options(changed)
        failure, = self.repair(agent).values()
        self.assertIn('bfd-min-rx is 500 and not 200', failure)
        self.assertEqual(changed, self.options())
        self.delete(agent, self.wanted())
        self.assertEqual(({'bfd-min-rx': '500'}, {}),
                         (self.options(), self.marks()))

    def test_a_value_that_is_gone_comes_back(self):
        self.add_row()
        agent = self.agent()
        self.create(agent, self.wanted())
        self.set_options({'bfd-min-rx': '200'})
        self.assertEqual({}, self.repair(agent))
        self.assertEqual(bfd.FAST, self.options())
        self.assertEqual([self.wanted()], self.found(agent))

    def test_further_requests_do_not_refuse_each_other(self):
        """Agents of a large fleet that start at once write the same row."""
        self.add_row()
        self.create(self.agent(bfd.DEAD), self.wanted(bfd.DEAD))
        one, again = self.agent(), []
        two = self.agent(bfd.OTHER, eyes=self.eyes())
        base.meanwhile(
            one, lambda: self.create(two, self.wanted(bfd.OTHER)),
            lambda: again.append('the first transaction was refused'))
        self.assertEqual({}, self.create(one, self.wanted()))
        self.assertEqual([], again)
        self.assertEqual(bfd.BOTH | {bfd.MARK, bfd.REQUEST + bfd.DEAD},
                         self.marks().keys())

    def test_the_last_one_gives_back_meanwhile(self):
        """The new request stays, and the row is astray and repaired."""
        self.add_row()
        eyes = self.eyes()
        last, one = self.agent(bfd.DEAD, eyes=eyes), self.agent()
        self.create(last, self.wanted(bfd.DEAD))
        self.synchronise(self.eyes_)
        base.meanwhile(
            one, lambda: self.delete(last, self.wanted(bfd.DEAD)))
        self.assertEqual({}, self.create(one, self.wanted()))
        self.assertEqual({}, self.options())
        self.assertEqual({}, self.repair(one))
        self.assertEqual((bfd.FAST, bfd.ONE),
                         (self.options(), self.marks().keys()))

    def test_an_operator_is_faster(self):
        self.add_row()
        agent = self.agent()
        base.meanwhile(agent, lambda: self.set_options({'bfd-mult': '5'}))
        failure, = self.create(agent, self.wanted()).values()
        self.assertIn('bfd-mult is 5', failure)
        self.assertEqual({'bfd-mult': '5'}, self.options())

    def test_the_request_of_a_dead_chassis(self):
        self.add_row()
        self.create(self.agent(bfd.DEAD), self.wanted(bfd.DEAD, bfd.SLOW))
        agent = self.agent()
        self.create(agent, self.wanted())
        self.assertEqual(bfd.SLOW, self.options())
        agent = self.agent(dead=(bfd.DEAD,))
        self.assertEqual({}, self.repair(agent))
        self.assertEqual((bfd.FAST, bfd.ONE),
                         (self.options(), self.marks().keys()))

    def test_a_database_without_the_row(self):
        agent = self.agent()
        self.assertEqual([], self.found(agent))
        failure, = self.create(agent, self.wanted()).values()
        self.assertIn('no row NB_Global', failure)
        self.assertEqual({}, self.delete(agent, self.wanted()))
