# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Machines on provider networks, announced by kernel routes."""

from lab import node as nodes
from lab import northbound
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import captured
from ovn_network_agent.tests.lab import frr_restarts
from ovn_network_agent.tests.lab import test_provider_port

# Longest seconds between two router advertisements of FRR, and a bit.
ADVERTISED = 35


class TestProviderPortKernel(
        frr_restarts.Restarts, test_provider_port.ProviderPorts,
        base.LabTestCase):
    """With kernel routes that FRR redistributes, and IPv6."""

    METHOD = 'kernel'
    FAMILY = 6

    @classmethod
    def build(cls):
        super().build()
        cls.cloud.nb.transact(lambda txn, tables: [
            northbound.insert(txn, tables, 'DHCP_Options', cidr=str(
                vm.port.network.cidr), options=options) for vm, options in (
                    (cls.far, {}),
                    (cls.tagged_far, {'dhcpv6_stateless': 'true'}))])

    def test_the_flags_of_dhcp_are_advertised(self):
        """M for addresses, O for other settings alone."""
        for vm, flags in (self.far, 0x80), (self.tagged_far, 0x40):
            with captured.Captured(vm.node, 'eth0') as taken:
                captured.solicit(vm.node, 'eth0')
                self.assertEqual({flags}, nodes.wait_until(
                    f'{vm.node.name} gets an advertisement',
                    lambda t=taken: captured.advertised(t.packets()),
                    ADVERTISED))

    def test_a_machine_learns_its_default_route(self):
        """From FRR, on each segment; and no network comes with it."""
        for vm in (self.far, self.tagged_far):
            learned = nodes.wait_until(
                f'{vm.node.name} has a router', lambda v=vm: v.node.run(
                    ['ip', '-6', 'route', 'show', 'proto', 'ra']).stdout,
                ADVERTISED)
            route, = learned.splitlines()
            self.assertIn(f'default via {ownership.SEGMENT_LINK_LOCAL} ',
                          route)

    def test_kill_and_restart_of_frr(self):
        """With graceful restart, nothing is lost, as the page has it."""
        self.prepare_graceful('gw2')
        self.settled()
        with self.nothing_lost(self.one, self.far, self.tagged_far):
            self.restart_frr('gw2', self.far.port.address,
                             self.tagged_far.port.address)
