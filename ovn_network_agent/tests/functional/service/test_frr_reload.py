# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Another prefix list at a reload, with a real FRR and real databases."""

import os
import shutil
import tempfile

from ovn_network_agent.tests import configs
from ovn_network_agent.tests.functional.frr import agents
from ovn_network_agent.tests.functional.frr import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

FIP = '198.51.100.10/32'
OLD, NEW = base.LIST, 'OTHER-NETWORKS'
HIS = f'ip prefix-list {OLD} seq 5 permit 192.0.2.0/24 ge 32 le 32'


class Both(base.Frr):
    """The neighbours get what either list permits."""

    bgp = 'bgp route-map delay-timer 1\n' + base.BGP.replace(
        f'prefix-list {base.LIST} out', 'route-map OUT out') + f'''
route-map OUT permit 10
 match ip address prefix-list {OLD}
route-map OUT permit 20
 match ip address prefix-list {NEW}
'''


class ReloadTestCase(agents.AnnouncingTestCase):
    """An agent with a file of its own, and a router with an address."""

    def setUp(self):
        super().setUp()
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        self.cloud.add_nat('r1', '198.51.100.10')
        self.frr.configure(HIS)
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        self.path = os.path.join(directory, 'agent.conf')

    def write(self, name=OLD, suffix='', refresh='on-removal'):
        nb, sb, ovs = self.remotes().values()
        with open(self.path + suffix, 'w') as opened:
            opened.write(
                f'[DEFAULT]\nbridge_dev = {cloud.BRIDGE}\n'
                'reconcile_interval = 600\ndrivers = fip_route\n'
                f'[frr]\nvrf_name =\nfrr_prefix_list = {name}\n'
                f'bgp_soft_refresh = {refresh}\n'
                '[fip_route]\nroute_table_id = 100\n'
                f'[ovn]\novn_nb_remote = {nb}\novn_sb_remote = {sb}\n'
                f'[ovs]\novsdb_connection = {ovs}\n')

    def running(self, suffix='', **options):
        """An agent with the former list, which announces.

        :param suffix: of the file that the privileged side reads
        :param options: see :meth:`write`
        """
        for each in {'', suffix}:
            self.write(suffix=each, **options)
        conf = configs.loaded('--config-file', self.path)
        self.fix_limits(configs.loaded('--config-file', self.path + suffix))
        made = self.service(conf, 'fip_route', self._backends(conf),
                            agents.observers(conf))
        base.wait_until(lambda: FIP in self.frr.learned(), 'announced',
                        ovsdb.DEADLINE)
        return made

    def reload(self, agent, *args, **kwargs):
        """Write the file anew, see :meth:`write`; gives the answer."""
        self.write(*args, **kwargs)
        return agent._loop.reloads.wait(
            agent._loop.reload(), ovsdb.DEADLINE)[0]


class RefreshTest(ReloadTestCase):

    def announce(self, address):
        """Add a floating IP; its route arrives at the neighbour."""
        self.cloud.add_nat('r1', address)
        base.wait_until(lambda: f'{address}/32' in self.frr.learned(),
                        'announced', ovsdb.DEADLINE)

    def test_from_never_to_always(self):
        agent = self.running(refresh='never')
        self.frr.log_commands()
        self.addCleanup(self.frr.forget_commands)
        self.announce('198.51.100.11')
        self.cloud.remove_nat('r1', '198.51.100.11')
        base.wait_until(lambda: '198.51.100.11/32' not in
                        self.frr.learned(), 'withdrawn', ovsdb.DEADLINE)
        # The pass of the withdrawal is over then.
        self.announce('198.51.100.12')
        self.assertEqual(0, self.frr.refreshes())
        self.assertEqual((), self.reload(agent, refresh='always').refused)
        # Only "always" has one after an addition.
        self.announce('198.51.100.13')
        base.wait_until(self.frr.refreshes, 'refreshed', ovsdb.DEADLINE)


class PrefixListTest(ReloadTestCase):

    make = Both

    def clear(self):
        super().clear()
        if any(NEW in line for line in self.frr.lines()
               if line.startswith('ip prefix-list')):
            self.frr.configure(f'no ip prefix-list {NEW}')

    def running(self, suffix='', **options):
        """As in the base class; keeps the line and the version of then."""
        made = super().running(suffix, **options)
        self.before = base.wait_until(lambda: self.frr.version(FIP),
                                      'in use')
        self.line, = self.entries(OLD)
        return made

    def entries(self, name):
        """The agent's lines of a list in bgpd, without the name."""
        head = f'ip prefix-list {name} '
        return [line.removeprefix(head) for line in self.frr.ask(
            'bgpd', 'show running-config').splitlines()
            if line.startswith(head) and line != HIS]

    def test_from_one_list_to_the_other_and_back(self):
        agent = self.running()
        for former, name in ((OLD, NEW), (NEW, OLD)):
            answer = self.reload(agent, name)
            self.assertEqual(((), ()), (answer.refused, answer.waiting))
            base.wait_until(lambda of=former: not self.entries(of),
                            'the former list is left', ovsdb.DEADLINE)
            self.assertEqual([self.line], self.entries(name))
        # What comes after all that has arrived, too.
        self.cloud.add_nat('r1', '198.51.100.11')
        base.wait_until(lambda: '198.51.100.11/32' in self.frr.learned(),
                        'announced', ovsdb.DEADLINE)
        self.assertEqual(self.before, self.frr.version(FIP))
        self.assertIn(HIS, self.frr.running())

    def test_the_former_list_stays_while_the_new_one_cannot_be_filled(self):
        agent = self.running()
        self.addCleanup(self.frr.restore_vtysh)
        # What a vtysh says that the agent reaches in a container.
        self.root_side(vtysh_wrapper='env')
        self.frr.write_vtysh(
            '#!/bin/sh\ncase " $* " in *" -f "*) exit 0; esac\n'
            f'exec {self.frr.real_vtysh} "$@"\n')
        self.assertEqual((), self.reload(agent, NEW).refused)
        base.wait_until(lambda: 'FRR rejected it' in str(
            agent.status.reasons), 'refused', ovsdb.DEADLINE)
        self.assertEqual([[], [self.line]],
                         [self.entries(NEW), self.entries(OLD)])
        self.frr.restore_vtysh()
        base.wait_until(lambda: not self.entries(OLD), 'left',
                        ovsdb.DEADLINE)
        self.assertEqual([self.line], self.entries(NEW))
        self.assertEqual(self.before, self.frr.version(FIP))
        # The stop leaves no line.
        agent.stop()
        self.assertTrue(agent.wait(ovsdb.DEADLINE))
        self.assertEqual([[], []], [self.entries(NEW), self.entries(OLD)])
        self.assertIn(HIS, self.frr.running())

    def test_the_privileged_side_reads_other_files(self):
        """The privileged side has the last word, and nothing changes."""
        agent = self.running('.other')
        answer = self.reload(agent, NEW)
        self.assertIn(f'the privileged side read the name {OLD}',
                      answer.refused[0])
        self.assertEqual((), answer.changed)
        self.assertEqual([[], [self.line]],
                         [self.entries(NEW), self.entries(OLD)])
