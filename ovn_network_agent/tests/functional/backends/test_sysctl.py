# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend sysctl on the real kernel."""

import concurrent.futures
import subprocess
import tempfile

from lab import syscalls
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.tests.functional.netlink import base


class SysctlTest(base.KernelTestCase):

    def setUp(self):
        super().setUp()
        self.backend = link.SysctlBackend(self.conf)

    def test_all_that_drivers_set(self):
        wanted = [resources.Sysctl(path, value) for path, value in (
            ('net/ipv4/conf/br-ex/proxy_arp', '1'),
            ('net/ipv4/conf/br-ex/forwarding', '1'),
            ('net/ipv4/conf/br-ex/accept_local', '1'),
            ('net/ipv4/neigh/br-ex/proxy_delay', '0'),
            ('net/ipv4/conf/br-ex/promote_secondaries', '1'))]
        self.assertCountEqual(wanted, self.create(self.backend, *wanted))
        for resource in wanted:
            self.assertEqual(resource.value, self.sysctl(resource.path))

    def test_device_with_a_dot(self):
        self.ip('link add v.10 type veth peer name v.11')
        wanted = resources.Sysctl('net/ipv4/conf/v.10/proxy_arp', '1')
        self.assertEqual([wanted], self.create(self.backend, wanted))

    def test_change_behind_our_back_is_seen(self):
        wanted = resources.Sysctl('net/ipv4/conf/br-ex/proxy_arp', '1')
        self.create(self.backend, wanted)
        self.set_sysctl(wanted.path, '0')
        found, = self.backend.read(frozenset([wanted.ref]))
        self.assertEqual('0', found.value)

    def test_only_the_paths_and_values_of_the_list(self):
        bad = [resources.Sysctl(path, value) for path, value in (
            ('kernel/core_pattern', '1'),
            ('net/ipv4/conf/../../../kernel/panic', '1'),
            ('net/ipv4/conf/../proxy_arp', '1'),
            ('net/ipv4/conf/br-ex/proxy_arp\n', '1'),
            ('net/ipv4/conf/br-ex/send_redirects', '1'),
            ('net/ipv4/conf/br-ex/rp_filter', '0'),
            ('net/ipv4/ip_forward', '0'),
            ('net/ipv4/tcp_l3mdev_accept', '1'),
            ('net/ipv4/conf/br-ex/proxy_arp', '|/bin/sh'),
            ('net/ipv4/conf/absent/proxy_arp', '1'))]
        for resource in bad:
            failed = self.backend.apply(backends.Delta(create=(resource,)))
            self.assertEqual([resource.ref], list(failed))
        self.assertEqual('0', self.sysctl('net/ipv4/conf/br-ex/proxy_arp'))

    def test_read_only_as_in_a_container(self):
        """The reason has the line for the host, and the line works there."""
        wanted = resources.Sysctl('net/ipv4/conf/br-ex/proxy_arp', '1')
        # Only this thread gets the mounts, and ends with them.
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            failed = executor.submit(self.apply_read_only, wanted).result()
        reason = failed.pop(wanted.ref)
        self.assertEqual({}, failed)
        self.assertIn('/etc/sysctl.d/', reason)
        self.assertEqual('0', self.sysctl(wanted.path))
        with open(self.enterContext(tempfile.TemporaryDirectory()) +
                  '/host.conf', 'w') as opened:
            opened.write(reason.split('"')[1])
        subprocess.run(['sysctl', '--load', opened.name], check=True,
                       capture_output=True)
        self.assertEqual('1', self.sysctl(wanted.path))

    def apply_read_only(self, wanted):
        syscalls.unshare(syscalls.CLONE_NEWNS)
        for options in (['--make-rprivate', '/'],
                        ['--bind', '/proc/sys', '/proc/sys'],
                        ['-o', 'remount,bind,ro', '/proc/sys']):
            subprocess.run(['mount', *options], check=True)
        return self.backend.apply(backends.Delta(create=(wanted,)))
