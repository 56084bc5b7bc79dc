# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""From the command to the rows in NB, with the real driver and backend.

Here nobody is ovn-northd: the test moves the ports.
"""

from ovn_network_agent import ownership
from ovn_network_agent import service
from ovn_network_agent.backends.northbound import gateway_priority
from ovn_network_agent.tests.functional.control import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb
from ovn_network_agent.tests.unit import world as worlds


class WholeTest(base.CtlTestCase):

    def agent(self):
        remotes = self.remotes()
        conf = worlds.conf(
            ovn__ovn_nb_remote=[remotes['nb']],
            ovn__ovn_sb_remote=[remotes['sb']],
            ovs__ovsdb_connection=remotes['ovs'], bridge_dev=cloud.BRIDGE,
            drivers=['gateway_drain'], control_socket=self.socket,
            gateway_drain__relay=False, gateway_drain__overlap=False,
            gateway_drain__drain_on_shutdown=False)
        made = service.AgentService(
            conf, [worlds.driver('gateway_drain', conf)],
            [gateway_priority.GatewayPriorityBackend(conf)])
        self.addCleanup(made.close)
        made.start()
        self.addCleanup(self.cut_short, made, conf)
        return made

    def state(self, table, chassis=base.HERE):
        """Priority, why it is drained, and what it was, of a candidate."""
        row, = self.nb.rows(
            table, 'priority', 'external_ids',
            where=ovsdb.clauses({'chassis_name': chassis}))
        ids = dict(row['external_ids'][1])
        return (row['priority'], ids.get(ownership.EXT_ID_DRAINED),
                ids.get(ownership.EXT_ID_EARLIER))

    def there_and_back(self, group, table, *argv):
        self.cloud.add_router('r1', chassis=base.HERE, group=group)
        name = 'neutron-lrp-r1' if table == 'HA_Chassis' else 'lrp-r1'
        agent = self.ready(name)
        started = self.waiting('drain', '--wait', *argv)
        self.eventually(
            lambda: self.state(table) == (0, 'maintenance', '2'), 'lowered')
        self.assertEqual((1, None, None), self.state(table, base.THERE))
        self.assertIsNone(started.poll())
        self.cloud.move('lrp-r1', base.THERE)
        rest = started.communicate(timeout=base.LIMIT)[0]
        self.assertEqual(0, started.returncode, rest)
        self.assertIn('drain: carried out, 1 of 1 handed over', rest)
        # Neither the end of the agent nor its start gives it back.
        self.stop(agent)
        agent.close()
        self.ready(name)
        self.assertEqual('maintenance', self.group(name)['drained'])
        self.assertEqual('drained', self.group(name)['state'])
        self.ends(0, self.ctl('drain', '--wait', *argv))
        self.assertEqual((0, 'maintenance', '2'), self.state(table))
        self.ends(0, self.ctl('undrain', '--wait', *argv))
        self.assertEqual((1, None, None), self.state(table))
        self.assertEqual('standby', self.group(name)['state'])

    def test_gateway_chassis(self):
        self.there_and_back('Gateway_Chassis', 'Gateway_Chassis')

    def test_one_router_of_an_ha_chassis_group(self):
        self.there_and_back('HA_Chassis_Group', 'HA_Chassis',
                            '--router', 'r1')

    def test_the_last_one_goes_when_somebody_can_take_over(self):
        self.cloud.add_router('r1', chassis=base.HERE)
        self.priority('lrp-r1', base.THERE, 0)
        self.ready('lrp-r1')
        self.assertIn('none of its other candidates is ready',
                      self.ends(1, self.ctl('drain')).stderr)
        done = self.ends(0, self.ctl('drain', '--force', '--wait'))
        self.assertIn('stays here: router r1', done.stdout)
        self.assertEqual((2, None, None), self.state('Gateway_Chassis'))
        self.priority('lrp-r1', base.THERE, 1)
        self.eventually(lambda: self.state('Gateway_Chassis') == (
            0, 'maintenance', '2'), 'lowered')
