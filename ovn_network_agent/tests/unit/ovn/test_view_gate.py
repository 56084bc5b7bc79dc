# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When there is a view, of which chassis, and what is to be drained."""

import fixtures

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovn import view
from ovn_network_agent.runtime import snapshot_problems
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit.ovn import clouds

HERE, AWAY = clouds.HERE, clouds.AWAY


class GateTest(clouds.CloudTestCase):

    def test_no_view_before_all_three_are_loaded(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes(start=False)
        for name in ('sb', 'ovs', 'nb'):
            self.assertRaises(view.NotReady, eyes.look)
            self.assertEqual(frozenset(), eyes.view.marks)
            eyes.databases[name].start()
        self.assertTrue(eyes.router('r1'))
        self.assertIn(cloud.OWNER, eyes.view.marks)

    def test_no_view_without_a_name_of_the_chassis(self):
        self.ovs.update('Open_vSwitch', {}, external_ids={})
        error = self.assertRaises(view.NotReady, self.eyes().look)
        self.assertIn('system-id', str(error))

    def test_nothing_is_removed_before_the_chassis_has_its_row(self):
        """Decision record 0037."""
        self.sb.delete('Chassis', name=HERE)
        eyes = self.eyes()
        self.assertTrue(eyes.look().problems)
        self.assertFalse(eyes.view.confirmed)
        self.add_chassis()
        self.assertEqual((), eyes.look().problems)
        eyes.look()
        self.assertTrue(eyes.view.confirmed)

    def test_another_chassis_with_the_host_name(self):
        """Row SID-06: the host name alone marks nothing as of this chassis."""
        log = self.useFixture(fixtures.FakeLogger())
        eyes = self.eyes()
        alone = ownership.Owner(cloud.HOSTNAME)
        for hostname, marks, namesakes, words in (
                (cloud.OTHER_HOSTNAME, {cloud.OWNER, alone}, (), ''),
                (cloud.HOSTNAME, {cloud.OWNER}, (AWAY,),
                 f'{cloud.HOSTNAME} of this chassis {HERE} for {AWAY},'),
                (cloud.OTHER_HOSTNAME, {cloud.OWNER, alone}, (),
                 'No other chassis in OVN SB has the host name')):
            self.sb.update('Chassis', {'name': AWAY}, hostname=hostname)
            node = eyes.look().node
            self.assertEqual((marks, marks, namesakes), (
                node.marks, eyes.view.marks, node.namesakes))
            self.assertIn(words, log.output)

    def test_a_name_of_the_options_that_two_routers_have(self):
        """Row SEL-14: the log says so, once."""
        log = self.useFixture(fixtures.FakeLogger())
        for name in ('r1', 'r2'):
            self.cloud.add_router(name)
        eyes = self.eyes(announce__include_routers=['r1'])
        for name, said in (('r2', 0), ('r1', 1), ('r1', 1)):
            self.cloud.say('Logical_Router', {'name': 'neutron-r2'},
                           external_ids={'neutron:router_name': name})
            eyes.look(full=True)
            self.assertEqual(said, log.output.count(
                'Several routers have the name r1,'))

    def test_restating_the_last_view(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()
        self.assertRaises(view.NotReady, eyes.view.restate,
                          model.Phase.STOPPED)
        before = eyes.look()
        after = eyes.view.restate(model.Phase.STOPPED)
        self.assertEqual(before.routers, after.routers)
        self.assertIs(model.Phase.STOPPED, after.node.phase)


ONE = '11111111-aaaa-4bbb-8ccc-0123456789ab'
TWO = '22222222-aaaa-4bbb-8ccc-0123456789ab'


class DrainsTest(clouds.CloudTestCase):

    def sees(self, eyes, text, *drains):
        """Compare what a text drains, None for no text; its problems."""
        self.tell(ovn_bridge_mappings=f'physnet1:{cloud.BRIDGE}', **(
            {} if text is None else {ownership.EXT_ID_DRAIN: text}))
        seen = eyes.look()
        self.assertEqual(frozenset(drains), seen.node.drains)
        return snapshot_problems.SnapshotProblems().problems(
            seen, (cloud.BRIDGE,), True)

    def test_one_router_all_and_none(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()
        for text, drains in ((None, ()), (ONE, [ONE]),
                             (f'{TWO}, {ONE.upper()}', [ONE, TWO]),
                             ('all', [model.ALL]), (None, ())):
            self.assertEqual((), self.sees(eyes, text, *drains))

    def test_what_is_malformed_costs_only_itself(self):
        found = self.sees(self.eyes(), f'everything,{ONE},,{TWO}-', ONE)
        self.assertEqual(2, len(found), found)
        for text, part in zip(found, (TWO + '-', 'everything')):
            for each in (ownership.EXT_ID_DRAIN, f"'{part}'",
                         'ovn-network-agent-ctl'):
                self.assertIn(each, text)
