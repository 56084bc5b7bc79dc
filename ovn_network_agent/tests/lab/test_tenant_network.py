# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Networks of tenants without NAT: machines by their own addresses."""

import ipaddress
import signal
import types

from lab import bothways
from lab import echo
from lab import node as nodes
from lab import probe
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import explaining
from ovn_network_agent.tests.lab import leaving

DRIVERS = 'fip_route,veth_leak,gateway_drain,port_forward,tenant_network'
SCOPE, ELSE = (f'{digit * 8}-2222-4333-8444-555555555555' for digit in '34')
KINDS = ('tcp', 'udp', 'icmp')


class TenantTestCase(explaining.Explaining, leaving.LeavingTestCase):
    """Router alpha without SNAT, and a machine without a floating IP."""

    GATEWAYS = 2
    METHOD = 'static'
    CONFIG = {'DEFAULT': {'drivers': DRIVERS}}

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha', ['gw1', 'gw2'], snat=False)
        cls.inner = cls.behind()
        cls.vm, _none = cls.machine(cls.inner, fip=False)
        cls.address = cls.vm.port.address
        echo.start(cls.cloud['client'])
        # What else the router announces.
        cls.fip = types.SimpleNamespace(address=cls.alpha.address)

    @classmethod
    def behind(cls):
        """Router alpha, with the network that the machine is in."""
        return cls.alpha

    def both_ways(self):
        return bothways.BothWays(self.client, self.vm, self.address)

    def paths(self, prefix):
        """Names of the gateways that announce a prefix, sorted."""
        return self.cloud.announcers(str(prefix))

    def wait_paths(self, prefix, *names):
        nodes.wait_until(
            lambda: f'{prefix} is announced by {names}: '
                    f'{self.paths(prefix)}',
            lambda: self.paths(prefix) == sorted(names), base.SETTLE)

    def configure(self, name, **values):
        """Other values of [tenant_network], until the end of the test."""
        agent = self.cloud.agents[name]
        before = agent.config.get('tenant_network', {})
        self._reload(name, {**before, **values})
        self.addCleanup(self._reload, name, before)

    def _reload(self, name, values):
        agent = self.cloud.agents[name]
        agent.config['tenant_network'] = dict(values)
        agent.write_config()
        mark = self.mark(name)
        agent.process.send_signal(signal.SIGHUP)
        self.wait_said(name, 'onfiguration', mark)

    def reachable(self, vm):
        """In both directions, with the machine's own address."""
        for kind in KINDS:
            self.reach(self.client, kind, vm.port.address)
        found = self.reach(vm.node, 'tcp', self.family.client)
        self.assertEqual({vm.port.address}, found.seen_sources)

    def explained(self, asked, name='gw1'):
        """(outcome, dict of what is not as it should be to the evidence)."""
        _status, said = self.explain(str(asked), name)
        return said['outcome'], {
            one['check']: one['evidence'] for one in said['findings']
            if one['verdict'] in ('BROKEN', 'WARN')}

    def moved_and_stopped(self, prefix):
        """The gateway moves away, and comes back as its node stops."""
        with self.both_ways() as running:
            self.have('gw2')
            self.wait_paths(prefix, 'gw2')
            report = self.finished(running)
        base.note(f'{self.kind}, moved: {report}')
        self.assert_gap(report)
        stopped = self.stopped('gw2')
        base.note(f'{self.kind}, stopped: {stopped.report}')
        self.assertEqual(('gw1', 0), (stopped.to, stopped.report.lost))
        self.assertEqual([], self.left('gw2', prefix))
        self.start('gw2')

    def left(self, name, prefix):
        """Lines about a prefix that an agent has left on a node."""
        node = self.cloud[name]
        return [line for text in (
            node.out('ip', 'route', 'show', 'table', 'all', 'proto', '44'),
            node.out('ip', 'rule', 'show'),
            node.out('vtysh', '-c', 'show running-config'))
            for line in text.splitlines() if str(prefix) in line]


class TestTenantNetwork(TenantTestCase):
    """Subnets, by static routes of FRR."""

    CONFIG = {**TenantTestCase.CONFIG,
              'tenant_network': {'extra_routes': 'true'}}

    @classmethod
    def build(cls):
        super().build()
        cls.beta = cls.cloud.add_router('beta', ['gw1', 'gw2'])
        cls.theirs, _none = cls.machine(cls.beta, fip=False)

    def setUp(self):
        super().setUp()
        self.have('gw1')
        self.prefix = self.alpha.internal.cidr
        self.wait_paths(self.prefix, 'gw1')

    def test_both_directions(self):
        self.reachable(self.vm)

    def test_each_command_knows_it(self):
        """By the prefix, and by an address in it."""
        ctl = self.cloud.agents['gw1'].ctl
        for asked in str(self.prefix), self.address:
            self.assertEqual(('ok', {}), self.explained(asked))
            self.assertEqual('elsewhere', self.explained(asked, 'gw2')[0])
            self.assertRegex(ctl('addresses', asked).stdout,
                             f'{self.prefix} +tenant .* announced')
        base.note(ctl('explain', str(self.prefix)).stdout)
        theirs = self.beta.internal.cidr
        outcome, said = self.explained(theirs)
        self.assertEqual('withheld', outcome)
        self.assertIn('(SNAT)', said['tenant-network'])
        self.assertIn('(SNAT)', ctl('addresses', str(theirs)).stdout)
        self.assertIn('(SNAT)', ctl('doctor', 'withheld-addresses',
                                    check=False).stdout)

    def test_the_gateway_moves_and_the_agent_stops(self):
        self.moved_and_stopped(self.prefix)

    def test_an_extra_route(self):
        """A network behind a machine, and what is not behind one."""
        neutron, port = self.cloud.neutron, self.vm.port
        behind = ipaddress.ip_network('10.99.0.0/24')
        neutron.set_addresses(port, port.address, pairs=[str(behind)])
        self.vm.node.batch(f'addr add {behind[1]}/32 dev eth0\n')
        neutron.add_extra_route(self.alpha, '10.98.0.0/24',
                                self.alpha.address)
        neutron.add_extra_route(self.alpha, behind, port.address)
        self.wait_paths(behind, 'gw1')
        for kind in KINDS:
            self.reach(self.client, kind, str(behind[1]))
        self.reach(self.vm.node, 'udp', self.family.client,
                   source=str(behind[1]))
        self.assertEqual([], self.paths('10.98.0.0/24'))
        neutron.remove_extra_route(self.alpha, behind)
        self.wait_paths(behind)
        nodes.wait_until('gw1 has nothing of it', lambda: not self.left(
            'gw1', behind), base.SETTLE)

    def test_kill_and_restart_of_the_agent(self):
        """Nothing is lost, and nothing changes."""
        agent, since = self.cloud.agents['gw1'], self.mark('gw1')
        with self.both_ways() as running:
            agent.kill()
            agent.start()
            agent.wait_ready()
            self.assertEqual(0, self.finished(running).lost)
        self.assertEqual([], self.changes('gw1', since))

    def test_snat(self):
        """A ping does not show that the answers come from another address."""
        prefix, target = self.beta.internal.cidr, self.theirs.port.address
        self.assertEqual([], self.paths(prefix))
        self.configure('gw1', require_snat_disabled='false')
        self.wait_paths(prefix, 'gw1')
        found = probe.ping(self.client, target, 5, 0.02, 'tcp', limit=1)
        self.assertEqual((5, 0), (found.lost, found.received), str(found))
        self.configure('gw1', require_snat_disabled='true')
        self.wait_paths(prefix)

    def test_address_scopes(self):
        network = self.alpha.internal
        self.configure('gw1', address_scopes=SCOPE)
        self.wait_paths(self.prefix)
        self.cloud.neutron.set_address_scope(network, ELSE)
        self.addCleanup(self.cloud.neutron.set_address_scope, network, '')
        self.assertEqual([], self.paths(self.prefix))
        self.cloud.neutron.set_address_scope(network, SCOPE)
        self.wait_paths(self.prefix, 'gw1')
        self.reach(self.client, 'tcp', self.address)

    def test_a_new_subnet_and_an_overlap(self):
        """The running router announces both; who comes later does not."""
        neutron = self.cloud.neutron
        cidr = ipaddress.ip_network('192.168.77.0/24')
        mark = self.mark('gw1')
        made = neutron.add_interface(self.alpha, cidr)
        self.wait_paths(cidr, 'gw1')
        gamma = self.cloud.add_router('gamma', ['gw1', 'gw2'], snat=False)
        self.addCleanup(neutron.remove_router, gamma)
        self.wait_paths(gamma.internal.cidr, 'gw1')
        taken = next(self.prefix.subnets())
        late = neutron.add_interface(gamma, taken)
        for text in (
                f'{self.prefix} of network {self.alpha.internal.name} '
                f'overlaps with {taken} of router gamma',
                f'{taken} of network {late.internal.name} overlaps with '
                f'{self.prefix} of router alpha'):
            self.wait_said('gw1', text, mark)
        self.assertEqual((['gw1'], []), (self.paths(self.prefix),
                                         self.paths(taken)))
        self.overlap_is_explained(taken)
        neutron.remove_interface(late)
        self.wait_said('gw1', 'No longer left out', mark)
        neutron.remove_interface(made)
        self.wait_paths(cidr)


    def overlap_is_explained(self, taken):
        outcome, said = self.explained(taken)
        self.assertEqual('broken', outcome)
        self.assertIn(f'overlaps with {self.prefix} of router alpha',
                      said['wanted'])
        outcome, said = self.explained(self.prefix)
        self.assertEqual('ok', outcome)
        self.assertIn('it stays announced', said['tenant-network'])
        self.assertIn(f'overlaps with {self.prefix}', self.cloud.agents[
            'gw1'].ctl('doctor', 'tenant-networks', check=False).stdout)


class TestTenantHosts(TenantTestCase):
    """The addresses of machines of IPv6, by routes of the kernel."""

    METHOD = 'kernel'
    VRF = False
    SEGMENT = 'vlan'
    FAMILY = 6
    CONFIG = {**TenantTestCase.CONFIG, 'tenant_network': {
        'advertisement_method': 'host', 'expose_ipv6_gua': 'true'}}

    @classmethod
    def behind(cls):
        # The addresses of the lab's own networks are not global.
        return cls.cloud.neutron.add_interface(
            cls.alpha, ipaddress.ip_network('2001:db8:77::/64'))

    def test_it_moves_and_stops(self):
        prefix = f'{self.address}/128'
        self.wait_paths(prefix, self.settled())
        self.assertEqual([], self.paths(self.inner.internal.cidr))
        self.reachable(self.vm)
        owner = self.settled()
        self.assertEqual(('ok', {}), self.explained(self.address, owner))
        self.assertEqual('withheld', self.explained(
            self.inner.internal.cidr, owner)[0])
        self.moved_and_stopped(prefix)

    def test_a_machine_comes_and_gets_a_floating_ip(self):
        vm, _none = self.machine(self.inner, fip=False)
        prefix = f'{vm.port.address}/128'
        self.wait_paths(prefix, self.settled())
        self.reachable(vm)
        self.floating_ip(self.alpha, vm.port)
        self.wait_paths(prefix)
