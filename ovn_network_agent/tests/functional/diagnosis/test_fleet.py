# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command fleet on real databases, without an agent on the node."""

import json
import os
import time

from ovn_network_agent import ownership
from ovn_network_agent.tests import browser
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

SCRIPT = '<script>document.title="owned"</script>'
# Milliseconds.
HOUR = 3600_000


class FleetTest(base.ProgramTestCase):

    def setUp(self):
        super().setUp()
        self.servers = {}
        for name in ('nb', 'sb', 'ovs'):
            self.servers[name] = ovsdb.Server(name)
            self.addCleanup(self.servers[name].close)
            self.servers[name].start()
        self.nb, self.sb = self.servers['nb'], self.servers['sb']
        self.cloud = cloud.Cloud(**self.servers)
        self.cloud.fill()
        self.cloud.add_router('web', chassis=cloud.CHASSIS)
        self.cloud.add_router('db', ('203.0.113.1/24',), cloud.OTHER,
                              group='HA_Chassis_Group')
        self.path = self.config(remotes={
            name: server.remote for name, server in self.servers.items()})

    def fleet(self, *argv, status=0):
        ended = self.run_program('ctl', '--config-file', self.path, 'fleet',
                                 *argv)
        self.assertEqual(status, ended.returncode, ended.stderr)
        return ended

    def found(self, **options):
        """The gateways by host name, and the ports by router."""
        said = json.loads(self.fleet('--json', **options).stdout)
        return ({each['hostname']: each for each in said['gateways']},
                {each['router']: each for each in said['ports']}, said)

    def announce(self, router):
        """The proof of the agent of this chassis."""
        self.nb.transact(
            ovsdb.insert('Logical_Router_Static_Route', 'route',
                         ip_prefix='0.0.0.0/0', nexthop='198.51.100.254',
                         external_ids=ovsdb.ovsdb_dict({
                             **ownership.marks(cloud.OWNER),
                             ownership.EXT_ID_ADVERTISED: cloud.HOSTNAME})),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-' + router},
                         'static_routes', 'insert', ['named-uuid', 'route']))

    def reports(self, own, other, number=7):
        """When both chassis have copied nb_cfg; the other one lags."""
        self.sb.transact(
            ovsdb.insert('SB_Global', nb_cfg=number),
            ovsdb.insert('Chassis_Private', name=cloud.CHASSIS,
                         nb_cfg=number, nb_cfg_timestamp=own),
            ovsdb.insert('Chassis_Private', name=cloud.OTHER,
                         nb_cfg=number - 3, nb_cfg_timestamp=other))

    def test_owners_proofs_and_next_owners(self):
        self.announce('web')
        self.nb.transact(ovsdb.update(
            'Logical_Router', {'name': 'neutron-db'},
            external_ids=ovsdb.ovsdb_dict({
                'neutron:router_name': 'db',
                ownership.EXT_ID_TAG: '4400007'})))
        gateways, ports, said = self.found()
        self.assertEqual([], said['problems'])
        web, db = ports['web'], ports['db']
        self.assertEqual(
            (['198.51.100.1'], 'announced', cloud.HOSTNAME,
             cloud.OTHER_HOSTNAME, None),
            (web['addresses'], web['state'], web['owner'], web['next_owner'],
             web['tag']))
        self.assertEqual(
            ('not announced', cloud.OTHER_HOSTNAME, cloud.HOSTNAME, 4400007),
            (db['state'], db['owner'], db['next_owner'], db['tag']))
        self.assertEqual([2, 1], [each['priority']
                                  for each in db['candidates']])
        self.assertEqual(
            {cloud.HOSTNAME: ('up', 1, 1), cloud.OTHER_HOSTNAME: ('up', 1, 1)},
            {name: (each['state'], each['serves'], each['takes_over'])
             for name, each in gateways.items()})
        self.assertRegex(self.fleet().stdout, r'(?m)^web +198\.51\.100\.1 ')

    def test_a_drained_candidate_takes_nothing_over(self):
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', {'chassis_name': cloud.OTHER}, priority=0,
            external_ids=ovsdb.ovsdb_dict({
                ownership.EXT_ID_DRAINED: 'maintenance',
                ownership.EXT_ID_EARLIER: '1'})))
        gateways, ports, _said = self.found()
        self.assertEqual({'maintenance': 1},
                         gateways[cloud.OTHER_HOSTNAME]['drained'])
        self.assertEqual('', ports['web']['next_owner'])

    def test_silent_and_gone(self):
        now = int(time.time() * 1000)
        self.reports(now - HOUR, now - 3 * HOUR)
        gateways, ports, _said = self.found()
        self.assertEqual(
            {cloud.HOSTNAME: 'up', cloud.OTHER_HOSTNAME: 'silent'},
            {name: each['state'] for name, each in gateways.items()})
        self.assertEqual('', ports['web']['next_owner'])
        self.cloud.move('lrp-db', None)
        self.sb.transact(ovsdb.delete('Chassis', {'name': cloud.OTHER}))
        gateways, ports, _said = self.found()
        self.assertEqual('gone', gateways[cloud.OTHER]['state'])
        self.assertEqual('no owner', ports['db']['state'])

    def test_a_number_that_was_raised_a_moment_ago(self):
        """A chassis that has not answered yet is not silent."""
        now = int(time.time() * 1000)
        self.reports(now, now - 3 * HOUR)
        self.sb.transact(ovsdb.update(
            'Chassis_Private', {'name': cloud.OTHER}, nb_cfg=6))
        gateways, _ports, _said = self.found()
        self.assertEqual('up', gateways[cloud.OTHER_HOSTNAME]['state'])

    def test_a_database_that_does_not_answer(self):
        self.nb.kill()
        gateways, ports, said = self.found(status=1)
        self.assertIn('OVN NB could not be asked', said['problems'][0])
        self.assertEqual({'lrp-web': cloud.HOSTNAME,
                          'lrp-db': cloud.OTHER_HOSTNAME},
                         {each['port']: each['owner']
                          for each in ports.values()})
        self.assertEqual(1, gateways[cloud.HOSTNAME]['serves'])
        self.sb.kill()
        self.assertIn('OVN SB could not be asked',
                      self.fleet(status=1).stderr)

    def test_without_ovn(self):
        self.path = self.config(
            '[port_forward]\nrules_file = /nowhere\n', remotes=False,
            drivers='port_forward')
        self.assertIn('no OVN', self.fleet(status=2).stderr)

    def test_names_that_try_to_be_markup(self):
        host = f'127.79.{os.getpid() >> 8 & 255:d}.{os.getpid() & 255:d}'
        image = f'" onload="1"><img src="{browser.elsewhere(self, host)}x">'
        self.cloud.add_router(SCRIPT, ('192.0.2.1/24',), cloud.CHASSIS,
                              port='third')
        self.sb.transact(ovsdb.update('Chassis', {'name': cloud.OTHER},
                                      hostname=image))
        page = os.path.join(self.directory, 'fleet.html')
        self.fleet('--html', page)
        found = browser.shown(self, 'file://' + page)
        for text in (SCRIPT, image, 'web', '203.0.113.1', cloud.HOSTNAME,
                     'Who takes over', 'not announced'):
            self.assertIn(text, found.text)
        self.assertIn('svg', found.tags)
        self.assertNotIn('owned', found.text.replace(SCRIPT, ''))
        found.harmless(self)

    def test_a_page_that_cannot_be_written(self):
        self.assertIn('No such file or directory', self.fleet(
            '--html', '/nowhere/fleet.html', status=1).stderr)
