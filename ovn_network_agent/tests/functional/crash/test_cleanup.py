# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command cleanup on a node that an agent has filled and left by SIGKILL.
"""

import os

from ovn_network_agent import ownership
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.crash import base
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


@needs.needs(os.geteuid() == 0, 'makes network namespaces')
class CleanupTest(base.CrashTestCase):

    OPTIONS = 'shutdown_timeout = 10\n'

    def cleanup(self, *argv, status=0):
        ended = self.run_program('ctl', '--config-file', self.conf,
                                 'cleanup', *argv, inside=self.node.inside)
        self.assertEqual(status, ended.returncode,
                         ended.stdout + ended.stderr)
        return ended

    def killed(self):
        """What there was before an agent that has been killed."""
        before = self.everything()
        unit = base.Unit(self.starter)
        try:
            filled = self.settled()
            self.assertIn('another agent works in this network namespace',
                          self.cleanup(status=1).stderr)
            self.assertEqual(filled, self.everything())
        finally:
            unit.kill()
        return before, filled

    def test_nothing_of_the_agent_is_left(self):
        """And all objects of others are; a start takes long."""
        before, _filled = self.killed()
        self.nb.transact(ovsdb.update(
            'Gateway_Chassis', {'chassis_name': base.OTHER}, priority=0,
            external_ids=ovsdb.ovsdb_dict({
                'other': 'kept', ownership.EXT_ID_DRAINED: 'shutdown',
                ownership.EXT_ID_EARLIER: '7'})))
        before = self.without_order(before)
        filled = self.everything()
        said = self.cleanup('--dry-run').stdout
        for kind in ('kernel_route', 'flow', 'announcement', 'default_route',
                     'nft_table', 'relay_port', 'rule'):
            self.assertIn(f'\n- {kind} ', '\n' + said)
        self.assertEqual(filled, self.everything())
        self._priorities_stay_when_something_is_left()
        self.cleanup()
        found = self.without_order(self.everything())
        self.assertEqual(([], []), (sorted(found - before),
                                    sorted(before - found)))
        self.assertEqual([], sorted(self.bare - found))
        self.assertIn('0 to delete', self.cleanup('--dry-run').stdout)
        self._the_last_gateway_restores_priorities()

    def without_order(self, found):
        """What there is, but for the order of the candidates."""
        return {line for line in found if not line.startswith('order: ')}

    def _priorities_stay_when_something_is_left(self):
        """OVN would move gateway ports to a node that is half removed."""
        rundir = f'frr_run_dir = {self.host.rundir}'
        self.conf_with('frr_run_dir = /nowhere')
        self.addCleanup(self.host.restore_vtysh)
        self.host.write_vtysh('#!/bin/sh\nexit 1\n')
        said = self.cleanup('--last', status=1).stderr
        self.assertIn('left: the lowered priorities in OVN NB stay', said)
        self.assertEqual({0}, self.priorities())
        self.conf_with(rundir)
        self.host.restore_vtysh()

    def _the_last_gateway_restores_priorities(self):
        self.assertEqual({0}, self.priorities())
        self.assertIn(': 7', self.cleanup('--last', '--dry-run').stdout)
        self.assertEqual({0}, self.priorities())
        self.cleanup('--last')
        self.assertEqual({7}, self.priorities())
        self.assertEqual(
            {(('other', 'kept'),)},
            {tuple(map(tuple, row['external_ids'][1]))
             for row in self.nb.rows('Gateway_Chassis')
             if row['chassis_name'] == base.OTHER})

    def test_ovn_that_does_not_answer(self):
        """Addresses may still be in use here, so nothing goes unasked."""
        before, filled = self.killed()
        nowhere = 'tcp:127.0.0.1:1\novsdb_connection_timeout = 2'
        self.conf_with(f'ovn_nb_remote = {nowhere}')
        self.conf_with('ovn_sb_remote = tcp:127.0.0.1:1')
        for argv in ((), ('--last',)):
            self.assertIn('nothing was removed',
                          self.cleanup(*argv, status=1).stderr)
        self.assertEqual(filled, self.everything())
        self.cleanup('--last', '--without-ovn', status=2)
        said = self.cleanup('--without-ovn', '--dry-run', status=1).stdout
        for kind in ('kernel_route', 'flow', 'announcement', 'nft_table'):
            self.assertIn(f'\n- {kind} ', '\n' + said)
        self.assertEqual(filled, self.everything())
        said = self.cleanup('--without-ovn', status=1).stderr
        left = self.everything()
        self.assertEqual(self.rows(filled), self.rows(left))
        self.assertEqual(
            (set(), set()), (left - self.rows(left) - before,
                             before - self.rows(before) - left))
        # One line for all that is not reached, and one with the remedy.
        self.assertEqual(2, said.count('left: '), said)
        self.assertIn('left: OVN was not reached, so rows of this node may '
                      'be there', said)
        self.conf_with(f'ovn_nb_remote = {self.nb.remote}')
        self.conf_with(f'ovn_sb_remote = {self.sb.remote}')
        self.cleanup()
        self.assertEqual(set(), self.everything() - before)

    def rows(self, found):
        """Those in OVN of what there is."""
        return {line for line in found if line.startswith((
            'Logical_Router_Static_Route', 'Static_MAC_Binding', 'order'))}

    def priorities(self):
        """Those of the other chassis."""
        return {row['priority'] for row in self.nb.rows('Gateway_Chassis')
                if row['chassis_name'] == base.OTHER}

    def test_other_gateways_and_gateway_ports_here(self):
        self.nb.transact(
            ovsdb.insert('Logical_Router_Static_Route', 'route',
                         ip_prefix='0.0.0.0/0', nexthop='198.18.0.254',
                         external_ids=ovsdb.ovsdb_dict({
                             **ownership.marks(ownership.Owner(
                                 'gw2.example.org', base.OTHER)),
                             ownership.EXT_ID_ADVERTISED: 'gw2.example.org'})),
            ovsdb.mutate('Logical_Router', {'name': 'neutron-gamma'},
                         'static_routes', 'insert', ['named-uuid', 'route']))
        self.assertIn('other gateways announce routers: gw2.example.org',
                      self.cleanup('--last', status=1).stderr)
        # These would be attracted by nobody.
        self.conf_with('drain_on_shutdown = true')
        self.assertIn('gateway ports are on this chassis',
                      self.cleanup(status=1).stderr)

    def conf_with(self, line):
        """Replace a line of the configuration."""
        option = line.partition(' ')[0]
        with open(self.conf) as opened:
            lines = [line if each.startswith(option) else each
                     for each in opened.read().splitlines()]
        with open(self.conf, 'w') as opened:
            opened.write('\n'.join(lines) + '\n')
