# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers



"""Sysctls that others change, on the real kernel."""

from ovn_network_agent import resources
from ovn_network_agent.common import notices
from ovn_network_agent.engine import tracking
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.watches import kernel

#: Of these, the kernel reports only the first.
PATHS = ('net/ipv4/conf/br-ex/proxy_arp', 'net/ipv4/conf/br-ex/accept_local',
         'net/ipv4/conf/br-ex/promote_secondaries',
         'net/ipv4/neigh/br-ex/proxy_delay')


class TestSysctls(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.told = []
        self.watch = kernel.Sysctls(self, None)
        self.tracker = tracking.Tracker()

    def notice(self, word, by):
        self.told.append((word, by))

    def write(self, path, value):
        self.set_sysctl(path, value)

    def want(self, path, found=True):
        wanted = resources.Sysctl(path, self.sysctl(path))
        self.tracker.want(wanted)
        if found:
            self.tracker.found(wanted)
        self.watch.after_pass(None, self.tracker, False)

    def test_changes(self):
        for path in PATHS:
            with self.subTest(path):
                self.want(path)
                before = self.sysctl(path)
                self.watch.look()
                self.assertEqual([], self.told)
                self.write(path, '1' if before == '0' else '0')
                self.watch.look()
                self.assertEqual(
                    [(notices.kernel('sysctl'), f'sysctl {path} was set to '
                      f'{self.sysctl(path)}')], self.told)
                self.write(path, before)
                self.told.clear()

    def test_one_that_the_agent_has_still_to_set(self):
        path = PATHS[0]
        self.want(path, found=False)
        self.write(path, '1')
        self.watch.look()
        self.assertEqual([], self.told)

    def test_a_device_that_has_gone(self):
        self.want(PATHS[0])
        self.ip('link del br-ex')
        self.watch.look()
        self.assertEqual([], self.told)
