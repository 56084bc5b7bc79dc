# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When there is a view, and of which chassis."""

import fixtures

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.ovn import view
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovn import views
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = views.HERE


class GateTest(base.OvsdbTestCase):

    def test_no_view_before_all_three_are_loaded(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes(start=False)
        for name in ('sb', 'ovs'):
            self.assertRaises(view.NotReady, eyes.look)
            eyes.databases[name].start()
        self.assertRaises(view.NotReady, eyes.look)
        self.assertEqual(frozenset(), eyes.view.marks)
        eyes.databases['nb'].start()
        self.assertTrue(eyes.router('r1'))
        self.assertIn(cloud.OWNER, eyes.view.marks)

    def test_no_view_without_a_name_of_the_chassis(self):
        self.ovs.transact(ovsdb.update('Open_vSwitch', {},
                                       external_ids=ovsdb.ovsdb_dict({})))
        eyes = self.eyes()
        error = self.assertRaises(view.NotReady, eyes.look)
        self.assertIn('system-id', str(error))

    def test_nothing_is_removed_before_the_chassis_has_its_row(self):
        """Decision record 0037."""
        self.sb.transact(ovsdb.delete('Chassis', {'name': HERE}))
        eyes = self.eyes()
        self.assertTrue(eyes.look().problems)
        self.assertFalse(eyes.view.confirmed)
        self.sb.transact(ovsdb.insert(
            'Encap', 'encap', type='geneve', ip='192.0.2.1',
            chassis_name=HERE), ovsdb.insert(
            'Chassis', name=HERE, hostname=cloud.HOSTNAME,
            encaps=['named-uuid', 'encap']))
        self.eventually(lambda: not eyes.look().problems, 'the row is there')
        self.eventually(lambda: eyes.view.confirmed, 'the view is confirmed')

    def test_another_chassis_with_the_host_name(self):
        """Row SID-06: the host name alone marks nothing as of this chassis."""
        log = self.useFixture(fixtures.FakeLogger())
        eyes = self.eyes()
        alone = ownership.Owner(cloud.HOSTNAME)
        self.assertEqual({cloud.OWNER, alone}, eyes.look().node.marks)
        self.rename_other(cloud.HOSTNAME)
        self.eventually(lambda: eyes.look().node.namesakes == (cloud.OTHER,),
                        'another chassis has the host name')
        self.assertEqual({cloud.OWNER}, eyes.view.marks)
        self.assertIn(f'{cloud.HOSTNAME} of this chassis {HERE} for '
                      f'{cloud.OTHER},', log.output)
        self.rename_other(cloud.OTHER_HOSTNAME)
        self.eventually(lambda: eyes.look().node.marks >= {alone},
                        'the host name is of this chassis alone')
        self.assertIn('No other chassis in OVN SB has the host name',
                      log.output)

    def test_a_name_of_the_options_that_two_routers_have(self):
        """Row SEL-14: the log says so, once."""
        log = self.useFixture(fixtures.FakeLogger())
        for name in ('r1', 'r2'):
            self.cloud.add_router(name)
            self.cloud.say('Logical_Router', {'name': 'neutron-' + name},
                           external_ids={'neutron:router_name': name})
        eyes = self.eyes(announce__include_routers=['r1'])
        eyes.look()
        self.assertNotIn('Several routers', log.output)
        self.cloud.say('Logical_Router', {'name': 'neutron-r2'},
                       external_ids={'neutron:router_name': 'r1'})
        self.eventually(lambda: eyes.look() and log.output.count(
            'Several routers have the name r1,') == 1, 'said')
        eyes.look(full=True)
        self.assertEqual(1, log.output.count('Several routers'))

    def rename_other(self, hostname):
        self.sb.transact(ovsdb.update('Chassis', {'name': cloud.OTHER},
                                      hostname=hostname))

    def test_restating_the_last_view(self):
        self.cloud.add_router('r1', chassis=HERE)
        eyes = self.eyes()
        self.assertRaises(view.NotReady, eyes.view.restate,
                          model.Phase.STOPPED)
        before = eyes.look()
        after = eyes.view.restate(model.Phase.STOPPED)
        self.assertEqual(before.routers, after.routers)
        self.assertIs(model.Phase.STOPPED, after.node.phase)
