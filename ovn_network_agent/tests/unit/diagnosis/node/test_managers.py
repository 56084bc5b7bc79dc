# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is said of network managers that remove what others have made."""

import os

import fixtures

from ovn_network_agent.diagnosis.node.kernel import managers
from ovn_network_agent.tests.unit.diagnosis.node import base

ALL = {'ManageForeignRoutes': True, 'ManageForeignRoutingPolicyRules': True,
       'ManageForeignNextHops': True}
NONE = dict.fromkeys(ALL, False)
OFF = '[Network]\n' + ''.join(f'{option}=no\n' for option in ALL)
Managers = managers.Managers


class ForeignTest(base.JudgeTestCase):
    """The files of systemd-networkd, in the order of systemd."""

    def setUp(self):
        super().setUp()
        self.root = self.useFixture(fixtures.TempDir()).path

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as opened:
            opened.write(text)

    def routes(self):
        return managers.foreign(self.root)['ManageForeignRoutes']

    def test_all_are_switched_off(self):
        """Without files everything is removed."""
        self.assertEqual(ALL, managers.foreign(self.root))
        self.write('etc/systemd/networkd.conf.d/agent.conf', OFF)
        self.assertEqual(NONE, managers.foreign(self.root))

    def test_the_first_main_file_counts_alone(self):
        self.write('usr/lib/systemd/networkd.conf', OFF)
        self.assertEqual(NONE, managers.foreign(self.root))
        self.write('etc/systemd/networkd.conf', '[Network]\n#Speed=no\n')
        self.assertEqual(ALL, managers.foreign(self.root))

    def test_drop_ins_go_by_name_and_after_the_main_file(self):
        routes = '[Network]\nManageForeignRoutes'
        for path, text, removed in (
                ('etc/systemd/networkd.conf', f'{routes}=yes\n', True),
                ('usr/lib/systemd/networkd.conf.d/20-a.conf',
                 f'{routes} = off\n', False),
                ('etc/systemd/networkd.conf.d/10-b.conf', f'{routes}=yes\n',
                 False),
                ('run/systemd/networkd.conf.d/30-c.conf', f'{routes}=true\n',
                 True),
                # In the place of the one of this name in another directory.
                ('etc/systemd/networkd.conf.d/30-c.conf', '', False)):
            self.write(path, text)
            self.assertEqual(removed, self.routes(), path)
        os.symlink(os.devnull, os.path.join(
            self.root, 'etc/systemd/networkd.conf.d/20-a.conf'))
        self.assertTrue(self.routes())

    def test_what_systemd_ignores(self):
        for text in ('ManageForeignRoutes=no', '[DHCPv4]\n'
                     'ManageForeignRoutes=no', '[Network]\n'
                     ';ManageForeignRoutes=no', '[Network]\n'
                     'ManageForeignRoutes=maybe', '[Network]\n'
                     'manageforeignroutes=no', '[Network]\n=\n[\n'):
            self.write('etc/systemd/networkd.conf.d/a.conf', text)
            self.assertTrue(self.routes(), text)
        self.write('etc/systemd/networkd.conf.d/a.txt', OFF)
        self.assertTrue(self.routes())


class JudgeTest(base.JudgeTestCase):

    def test_managers(self):
        """What is seen counts in a container, too."""
        hops = Managers({**NONE, 'ManageForeignNextHops': True})
        self.judged_each(
            managers.judge_managers,
            (Managers(ALL), base.WARN, 'routes and policy rules and next hops',
             *(f'"{option}=no"' for option in ALL)),
            (hops, base.WARN, 'removes next hops of FRR that'),
            (Managers(NONE), base.OK), (Managers(NONE, hidden=True), base.OK),
            (Managers(managed=('br-ex', 'vrf-provider')), base.WARN,
             'unmanaged-devices+=interface-name:br-ex;'
             'interface-name:vrf-provider'),
            (Managers(managed=()), base.OK), (Managers(), base.OK),
            (Managers(hidden=True), base.NOT_CHECKED, 'from this container'),
            (Managers(failure='denied'), base.NOT_CHECKED))
        self.assertNotIn('ManageForeignRoutes', self.judged(
            managers.judge_managers, hops, base.WARN))

    def test_what_nmcli_says(self):
        directory = self.useFixture(fixtures.TempDir()).path
        path = os.path.join(directory, 'nmcli')
        self.useFixture(fixtures.EnvironmentVariable(
            'PATH', f'{directory}:{os.environ["PATH"]}'))
        for said, status, wanted in (
                ('br-ex:connected\neth0:connecting (getting IP '
                 'configuration)\nveth-default:unmanaged\nloopback1:connected '
                 '(externally)\neth1:disconnected\n', 0, {'br-ex', 'eth0'}),
                ('Error: NetworkManager is not running.\n', 8, None)):
            with open(path, 'w', encoding='ascii') as opened:
                opened.write(f"#!/bin/sh\nprintf '{said}'\nexit {status}\n")
            os.chmod(path, 0o700)
            if wanted is None:
                self.assertIn('not running', str(self.assertRaises(
                    OSError, managers._ask_nmcli)))
            else:
                self.assertEqual(wanted, managers._ask_nmcli())
