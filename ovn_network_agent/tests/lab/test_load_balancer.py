# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Virtual IPs with members that die and come back."""

import contextlib
import ipaddress
import time
import types

from lab import echo
from lab import families
from lab import node as nodes
from lab import northbound
from lab import probe
from lab import routers
from ovn_network_agent.tests.lab import balancers
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import frr_restarts
from ovn_network_agent.tests.lab import test_tenant_network

DRIVERS = test_tenant_network.DRIVERS + ',load_balancer'


class BalancerTestCase(frr_restarts.Restarts,
                       test_tenant_network.TenantTestCase):
    """Router alpha with two members and a row of three virtual IPs.

    One is on the provider network, and two are in the tenant's.
    """

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha', ['gw1', 'gw2'])
        cls.inner = cls.behind()
        cls.members = [cls.machine(cls.inner, fip=False)[0] for _n in range(2)]
        cls.vips = [cls.cloud.neutron.allocate(),
                    *(str(cls.inner.internal.cidr[n]) for n in (200, 201))]
        cls.row = balancers.Balancer(
            cls.cloud, cls.inner, cls.vips, cls.members,
            source=str(cls.inner.internal.cidr[210]))
        echo.start(cls.cloud['client'])
        # What else the router announces.
        cls.fip = types.SimpleNamespace(address=cls.alpha.address)

    def setUp(self):
        super().setUp()
        self.have('gw1')
        self.wait_vips('gw1')

    def wait_vips(self, *names):
        for vip in self.vips:
            self.wait_paths(families.of(vip).prefix(vip), *names)

    def answered(self, *members):
        """Each virtual IP answers every connection, from these members.

        OVN takes a member that has come back at its next health check.
        """
        addresses = {each.port.address for each in members}
        for vip in self.vips:
            nodes.wait_until(f'{vip} leads to {addresses}', lambda vip=vip: (
                addresses == self.reach(self.client, 'tcp', vip, 40
                                        ).responders), base.SETTLE)

    def members_die(self):
        """One after the other, and one of them comes back."""
        one, two = self.members
        self.answered(one, two)
        two.node.stop(echo.NAME)
        try:
            self.answered(one)
            since = time.monotonic()
            one.node.stop(echo.NAME)
            try:
                self.wait_vips()
                base.note(f'{self.kind}: withdrawn after '
                          f'{time.monotonic() - since:.1f} s')
                self.withheld(self.vips[1], 'none of its backends is online')
            finally:
                since = time.monotonic()
                echo.start(one.node)
            self.wait_vips('gw1')
            base.note(f'{self.kind}: announced after '
                      f'{time.monotonic() - since:.1f} s')
            self.answered(one)
        finally:
            echo.start(two.node)
        self.answered(one, two)

    @contextlib.contextmanager
    def nothing_lost(self, *addresses):
        """TCP from the client to each address, by one connection."""
        with contextlib.ExitStack() as stack:
            running = [stack.enter_context(self.probing(each, 'stream'))
                       for each in addresses]
            yield
            for each in running:
                self.lossless(each)

    def withheld(self, vip, why):
        outcome, said = self.explained(vip)
        self.assertEqual('withheld', outcome)
        for text in (said['tenant-network'], self.cloud.agents['gw1'].ctl(
                'addresses', vip).stdout):
            self.assertIn(why, text)

    def gateway_moves(self):
        """Under datagrams, which Open vSwitch takes for one connection.

        Beside other work, it is late with a hundred new ones a second.
        """
        row = balancers.Balancer(self.cloud, self.inner, self.vips[:2],
                                 self.members, protocol='udp')
        self.addCleanup(row.remove)
        with contextlib.ExitStack() as stack:
            running = [stack.enter_context(self.probing(vip, 'udp'))
                       for vip in self.vips[:2]]
            self.have('gw2')
            self.wait_vips('gw2')
            for each in running:
                each.wait_answered(base.SETTLE, after=time.monotonic())
                report = each.stop()
                base.note(f'{self.kind}, moved: {report}')
                self.assert_gap(report)
            self.answered(*self.members)
        nodes.wait_until(
            lambda: f'gw1 has nothing left: {self.left("gw1", self.vips[1])}',
            lambda: not self.left('gw1', self.vips[1]), base.SETTLE)


class TestLoadBalancer(BalancerTestCase):
    """Behind SNAT, by static routes of FRR."""

    CONFIG = {'DEFAULT': {'drivers': DRIVERS},
              'load_balancer': {'vips_behind_snat': 'true'}}

    def test_members_die_and_come_back(self):
        self.members_die()

    def test_the_gateway_moves(self):
        self.gateway_moves()

    def test_kill_and_restart_of_the_agent(self):
        """Nothing is lost, and nothing changes."""
        agent, since = self.cloud.agents['gw1'], self.mark('gw1')
        with self.nothing_lost(self.vips[1]):
            agent.kill()
            agent.start()
            agent.wait_ready()
        self.assertEqual([], self.changes('gw1', since))

    def test_kill_and_restart_of_other_programs(self):
        """FRR of the standby, and ovn-controller here: nothing is lost."""
        with self.nothing_lost(*self.vips):
            self.restart_frr('gw2')
            self.replace_controller('gw1')

    def test_snat(self):
        """What a machine of the same network has not."""
        self.assertEqual([], self.paths(self.alpha.internal.cidr))
        self.assertEqual([], self.paths(
            f'{self.members[0].port.address}/32'))
        found = self.reach(self.members[0].node, 'tcp', self.family.client)
        self.assertEqual({self.alpha.address}, found.seen_sources)
        found = self.reach(self.client, 'tcp', self.vips[1])
        self.assertEqual({self.family.client}, found.seen_sources)

    def test_it_is_explained(self):
        vip = self.vips[1]
        self.assertEqual(('ok', {}), self.explained(vip))
        self.assertEqual('elsewhere', self.explained(vip, 'gw2')[0])
        self.assertRegex(self.cloud.agents['gw1'].ctl(
            'addresses', vip).stdout, f'{vip} +vip.* announced')

    def test_another_router_has_the_same_one(self):
        """The first one keeps it, and the other one has it afterwards."""
        vip, mark = self.vips[1], self.mark('gw1')
        beta = self.cloud.add_router('beta', ['gw1', 'gw2'])
        self.addCleanup(self.cloud.neutron.remove_router, beta)
        inner = self.around(beta, vip)
        theirs, _none = self.machine(inner, fip=False)
        row = balancers.Balancer(self.cloud, inner, [vip], [theirs])
        self.addCleanup(row.remove)
        for other in 'beta', 'alpha':
            self.wait_said('gw1', f'virtual IP {vip}/32 overlaps with '
                           f'{vip}/32 of router {other}', mark)
        self.answered(*self.members)
        self.row.have(self.vips[::2])
        self.addCleanup(self.row.have, self.vips)
        self.wait_said('gw1', 'No longer left out', mark)
        self.wait_paths(f'{vip}/32', 'gw1')
        found = self.reach(self.client, 'tcp', vip, 40)
        self.assertEqual({theirs.port.address}, found.responders)

    def around(self, router, address):
        """A further network of a router behind SNAT, with an address in it."""
        cidr = ipaddress.ip_network(f'{address}/23', strict=False)
        made = self.cloud.neutron.add_interface(router, cidr)
        self.addCleanup(self.cloud.neutron.remove_interface, made)
        self.cloud.nb.transact(lambda txn, tables: routers.find_one(
            tables, 'Logical_Router', name=router.row_name).addvalue(
                'nat', northbound.insert(
                    txn, tables, 'NAT', type='snat', logical_ip=str(cidr),
                    external_ip=router.address).uuid))
        return made

    def test_the_floating_ip_of_a_virtual_ip(self):
        """OVN balances it only if the row has it, too (Octavia adds it)."""
        fip = self.floating_ip(self.alpha, types.SimpleNamespace(
            uuid='vip', address=self.vips[1]))
        self.cloud.wait_alone(fip.address, 'gw1')
        self.assertTrue(probe.unreachable(self.client, 'tcp', fip.address))
        self.row.have([*self.vips, fip.address])
        self.addCleanup(self.row.have, self.vips)
        for address in (fip.address, self.vips[1]):
            self.reach(self.client, 'tcp', address)


class TestLoadBalancerHosts(BalancerTestCase):
    """Among machines of IPv6, by routes of the kernel."""

    METHOD = 'kernel'
    SEGMENT = 'vlan'
    FAMILY = 6
    CONFIG = {'DEFAULT': {'drivers': DRIVERS}, 'tenant_network': {
        'advertisement_method': 'host', 'expose_ipv6_gua': 'true'}}

    @classmethod
    def behind(cls):
        # The addresses of the lab's own networks are not global.
        return cls.cloud.neutron.add_interface(
            cls.alpha, ipaddress.ip_network('2001:db8:77::/64'))

    def test_members_die_and_come_back(self):
        self.members_die()

    def test_kill_and_restart_of_frr(self):
        """With graceful restart, nothing is lost, as the page has it."""
        self.prepare_graceful('gw1')
        self.have('gw1')
        self.wait_vips('gw1')
        # A member is announced by itself, too.
        addresses = *self.vips, self.members[0].port.address
        with self.nothing_lost(*addresses):
            self.restart_frr('gw1', *addresses)
        self.answered(*self.members)
