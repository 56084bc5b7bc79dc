# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Who reaches whom: outside to floating IPs and back, and between them."""

from lab import echo
from lab import families
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

PROBES = 20


class Reach:
    """The tests, and the cloud that they share with others.

    Router alpha has a machine with a floating IP and one without, beta and
    gamma one each; alpha and beta are on gw1, gamma is on gw2.
    """

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cls.alpha = cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.beta = cloud.add_router('beta', ['gw1', 'gw2'])
        cls.gamma = cloud.add_router('gamma', ['gw2', 'gw1'])
        cls.vm, cls.fip = cls.machine(cls.alpha)
        cls.bare, _none = cls.machine(cls.alpha, fip=False)
        cls.vm_beta, cls.fip_beta = cls.machine(cls.beta)
        cls.vm_gamma, cls.fip_gamma = cls.machine(cls.gamma)
        echo.start(cloud['client'])

    # -- from outside -----------------------------------------------------

    def test_client_reaches_floating_ips(self):
        """By ICMP, TCP and UDP; the machine sees the client's address."""
        for fip in (self.fip, self.fip_beta, self.fip_gamma):
            for kind in probe.KINDS:
                report = self.reach(self.client, kind, fip.address)
                if kind != 'icmp':
                    self.assertEqual({self.family.client},
                                     report.seen_sources)

    def test_announced_by_bgp(self):
        """The spine knows each address from the gateway that has it."""
        for router, fip, name in ((self.alpha, self.fip, 'gw1'),
                                  (self.beta, self.fip_beta, 'gw1'),
                                  (self.gamma, self.fip_gamma, 'gw2')):
            for address in (router.address, fip.address):
                self.cloud.wait_announced(address, name, base.SETTLE)
                self.assertEqual([name], self.cloud.announcers(address))
                self.assert_served(name, address)

    def test_nothing_else_is_announced(self):
        """Only loopbacks, and the addresses of routers and machines."""
        wanted = {families.of(address).prefix(address) for address in (
            *(r.address for r in (self.alpha, self.beta, self.gamma)),
            *(f.address for f in (self.fip, self.fip_beta,
                                  self.fip_gamma)),
            *(plan.LOOPBACKS[name] for name in self.cloud.gateways))}
        wanted.add(str(plan.CLIENT_NET))
        wanted.add(str(self.family.client_net))

        def announced():
            return {prefix for version in {4, self.FAMILY}
                    for prefix in self.cloud.bgp_table(version)}

        nodes.wait_until(
            lambda: f'exactly {sorted(wanted)} is announced: '
                    f'{sorted(announced())}',
            lambda: wanted == announced(), base.SETTLE)

    def test_client_reaches_the_gateway_address(self):
        """The client pings the router itself."""
        for router in (self.alpha, self.gamma):
            self.reach(self.client, 'icmp', router.address)

    def test_nobody_has_a_free_address(self):
        """A provider address without owner does not answer (control)."""
        free = self.cloud.neutron.allocate()
        self.assertTrue(probe.unreachable(self.client, 'icmp', free, 3))

    # -- to the outside ---------------------------------------------------

    def test_machine_with_floating_ip_reaches_outside(self):
        """The client sees the floating IP."""
        for vm, fip in ((self.vm, self.fip),
                        (self.vm_gamma, self.fip_gamma)):
            for kind in ('tcp', 'udp'):
                report = self.reach(vm.node, kind, self.family.client)
                self.assertEqual({fip.address}, report.seen_sources)

    def test_machine_without_floating_ip_reaches_outside(self):
        """The client sees the address of the router."""
        for kind in ('tcp', 'udp'):
            report = self.reach(self.bare.node, kind, self.family.client)
            self.assertEqual({self.alpha.address}, report.seen_sources)
        self.reach(self.bare.node, 'icmp', self.family.client)

    # -- between floating IPs ---------------------------------------------

    def _force_hairpin(self):
        """Let both routers believe that the other's address is the bridge.

        OVN learns that by itself now and then, from gratuitous ARPs that
        the kernel answers; here it is certain.
        """
        mac = self.mac('gw1')
        rows = ((self.alpha.lrp, self.fip_beta.address),
                (self.beta.lrp, self.fip.address))

        def write(txn, tables):
            for port, address in rows:
                row = txn.insert(tables['Static_MAC_Binding'])
                row.logical_port, row.ip, row.mac = port, address, mac
                row.override_dynamic_mac = True

        def remove(_txn, tables):
            for row in list(tables['Static_MAC_Binding'].rows.values()):
                if (row.logical_port, row.ip) in rows:
                    row.delete()

        self.cloud.nb.transact(write)
        self.addCleanup(self.cloud.nb.transact, remove)

    def test_between_routers_of_one_chassis(self):
        """The hairpin flows reflect it, in both directions, and no loop.

        Trap T47: without both MACs rewritten it would be dropped.
        """
        self._force_hairpin()
        both = (self.fip.address, self.fip_beta.address)
        vm, target = self.vm.node, self.fip_beta.address
        # Once OVN has the bindings, the hairpin flows see every packet.
        nodes.wait_until('the hairpin is used', lambda: (
            probe.ping(vm, target, 1).received and
            all(self.hairpin('gw1', a)[0] for a in both)), base.SETTLE)
        before = [self.hairpin('gw1', a)[0] for a in both]
        sent = self.transmitted('gw1', ownership.VETH_DEFAULT)
        self.reach(vm, 'icmp', target, PROBES, patience=0)
        self.assertLessEqual(
            self.transmitted('gw1', ownership.VETH_DEFAULT) - sent,
            3 * PROBES)
        # The switch brings its counters up to date only now and then.
        for address, count in zip(both, before):
            nodes.wait_until(
                f'the hairpin flow for {address} has seen them all',
                lambda a=address, c=count: (
                    self.hairpin('gw1', a)[0] - c >= PROBES), base.SETTLE)
        for kind in ('tcp', 'udp'):
            report = self.reach(vm, kind, target)
            self.assertEqual({self.fip.address}, report.seen_sources)

    def test_across_two_chassis(self):
        """Through the fabric and with the floating IP as source, no loop.

        Trap T56: a packet that came out of the pair is not sent back into
        it, although its source is an address of a provider network.
        """
        vm, target = self.vm.node, self.fip_gamma.address
        self.reach(vm, 'icmp', target)
        sent = {name: self.transmitted(name, ownership.VETH_DEFAULT)
                for name in self.cloud.gateways}
        self.reach(vm, 'icmp', target, PROBES, patience=0)
        for name, before in sent.items():
            count = self.transmitted(name, ownership.VETH_DEFAULT) - before
            self.assertLessEqual(count, 3 * PROBES, name)
            # That it took this way at all.
            self.assertGreaterEqual(count, PROBES, name)
        for kind in ('tcp', 'udp'):
            report = self.reach(vm, kind, target)
            self.assertEqual({self.fip.address}, report.seen_sources)
        report = self.reach(self.vm_gamma.node, 'tcp', self.fip.address)
        self.assertEqual({self.fip_gamma.address}, report.seen_sources)
