# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers with IPv6: with both families, and with IPv6 alone."""

import json
import time

from lab import dual
from lab import echo
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import explaining
from ovn_network_agent.tests.lab import faults
from ovn_network_agent.tests.lab import leaving
from ovn_network_agent.tests.lab import leftovers
from ovn_network_agent.tests.lab import unnumbered

KINDS = ('tcp', 'udp')
# All that concern BGP and the way out, for both families.
CHECKS = ('ipv6-routers', 'northbound-routes', 'bgp-sessions',
          'bgp-sessions-ipv6', 'bgp-redistribution', 'redistribution-ipv6',
          'bgp-filter', 'bgp-filter-ipv6', 'prefix-list', 'prefix-list-ipv6',
          'vrf-default-route', 'default-route-ipv6', 'outbound-filters',
          'outbound-ipv6')
_FAMILY = (f'router bgp {plan.GATEWAY_AS["gw1"]} vrf {plan.VRF}',
           'address-family ipv6 unicast')
_LOST = f'unreachable default table {base.VRF_TABLE} metric 5'


def _typed(*texts):
    """Commands, in which {fip} is the floating IP of IPv6."""
    return lambda case: case.typed(*(
        text.format(fip=case.fip6) for text in texts))


def _announced(case):
    case.cloud.wait_announced6(case.fip6, 'gw1', base.SETTLE)


# What no agent repairs, and so the operator has to learn of.
FAULTS = (
    faults.Fault('redistribute', 'does not redistribute .* of IPv6',
                 lambda case: case.vtysh(case.node, [
                     *_FAMILY, f'no redistribute {case.METHOD}']),
                 lambda case: case.vtysh(case.node, [
                     *_FAMILY, f'redistribute {case.METHOD}' + (
                         ' route-map PROVIDER-KERNEL6'
                         if case.METHOD == 'kernel' else '')]), _announced),
    faults.Fault('prefix-list-bgpd', 'seq 1 deny',
                 lambda case: case.vtysh(case.node, [
                     'ipv6 prefix-list ANNOUNCED-NETWORKS seq 1 deny '
                     f'{case.fip6}/128']), settles=_announced),
    faults.Fault('other-flows', 'drops ICMP to', _typed(
        f'ovs-ofctl add-flow {plan.BRIDGE} '
        'cookie=7,priority=60000,ipv6,ipv6_dst={fip},actions=drop')),
    faults.Fault('policy-rules', 'a rule of another program', _typed(
        'ip -6 rule add priority 100 to {fip}/128 blackhole')),
    faults.Fault('vrf-default', f'no route to {plan.CLIENT6}',
                 _typed(f'ip -6 route add {_LOST}'),
                 _typed(f'ip -6 route del {_LOST}')),
)


class Ipv6(explaining.Explaining):
    """The tests: router alpha has both families, beta has IPv6 alone.

    :cvar UNNUMBERED: whether one session over link-local addresses carries
        the routes of both families
    """

    UNNUMBERED = False

    @classmethod
    def build(cls):
        cloud = cls.cloud
        cloud.add_ipv6()
        if cls.UNNUMBERED:
            unnumbered.replace(cloud)
        echo.start(cloud['client'])
        cls.alpha, cls.beta = (cloud.add_router(name, ['gw1', 'gw2'])
                               for name in ('alpha', 'beta'))
        cls.dual = dual.Dual(cloud.neutron, cls.alpha, 1)
        cls.only = dual.Dual(cloud.neutron, cls.beta, 2, only=True)
        cls.dual.snat()
        cls.vm, cls.fip = cls.machine(cls.alpha)
        cls.inner, _none = cls.machine(cls.alpha, fip=False)
        cls.other, _none = cls.machine(cls.beta, fip=False)
        cls.hidden, _none = cls.machine(cls.beta, fip=False)
        cls.fip6 = cls.dual.floating_ip(cls.dual.machine(cls.vm))
        cls.dual.machine(cls.inner)
        cls.other6 = cls.only.floating_ip(cls.only.machine(cls.other))
        cls.only.machine(cls.hidden)

    def setUp(self):
        super().setUp()
        self.node, self.agent = self.cloud['gw1'], self.cloud.agents['gw1']
        for router, of in ((self.alpha, self.dual), (self.beta, self.only)):
            if self.cloud.neutron.owner(router) != 'gw1':
                self.cloud.move(router, 'gw1')
            self.cloud.wait_announced6(of.address, 'gw1', base.SETTLE)
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)

    # -- traffic ----------------------------------------------------------

    def test_from_the_client(self):
        for kind in KINDS:
            for address in (self.fip6, self.other6):
                self.reach(self.client, kind, address)
        self.reach(self.client, 'icmp', self.fip.address)

    def test_from_the_machines(self):
        """With a floating IP, and with the address of the router."""
        for vm in (self.vm, self.inner, self.other):
            for kind in KINDS:
                self.reach(vm.node, kind, plan.CLIENT6)
        self.reach(self.vm.node, 'icmp', plan.CLIENT)

    def test_what_is_announced(self):
        """Nothing but the addresses of routers and of NAT."""
        for address in (self.fip6, self.other6, self.dual.address,
                        self.only.address):
            self.cloud.wait_announced6(address, 'gw1', base.SETTLE)
        hosts = [line.split()[0] for line in self.cloud['spine'].out(
            'ip', '-6', 'route', 'show', 'root', '2000::/3',
            'proto', 'bgp').splitlines()]
        self.assertEqual(sorted((self.fip6, self.other6, self.dual.address,
                                 self.only.address)), sorted(hosts))

    # -- changes ----------------------------------------------------------


class TestIpv6Kernel(Ipv6, leftovers.LeavesNothing, base.LabTestCase):
    """With kernel routes; and what neither method nor session concerns."""

    METHOD = 'kernel'

    @classmethod
    def build(cls):
        cls.before = {name: cls.left(name) for name in cls.cloud.gateways}
        super().build()

    @classmethod
    def left(cls, name):
        """The objects of IPv6 of an agent on a gateway, and of FRR: lines."""
        found = []
        for argv in (('route', 'show', 'table', 'all', 'proto', '44'),
                     ('rule', 'show', 'proto', '44'),
                     ('addr', 'show', 'to', ownership.SEGMENT_LINK_LOCAL),
                     ('neigh', 'show', 'nud', 'permanent')):
            found += [line.strip() for line in cls.cloud[name].out(
                'ip', '-6', *argv).splitlines() if 'valid_lft' not in line]
        found += [line.strip() for line in cls.cloud[name].out(
            'vtysh', '-c', 'show running-config').splitlines()
            if line.strip().startswith(('ipv6 route ',
                                        'ipv6 prefix-list ANNOUNCED'))]
        return sorted(found)

    def test_between_routers_of_one_chassis(self):
        for kind in KINDS:
            self.reach(self.vm.node, kind, self.other6)
            self.reach(self.other.node, kind, self.fip6)

    def test_between_routers_of_two_chassis(self):
        """OVN does not ask on the bridge for an address that is elsewhere."""
        self.cloud.move(self.beta, 'gw2')
        self.cloud.wait_announced6(self.other6, 'gw2', base.SETTLE)
        for kind in KINDS:
            self.reach(self.vm.node, kind, self.other6)
            self.reach(self.other.node, kind, self.fip6)

    def test_untranslated(self):
        """What no row translates is dropped, and leaks nowhere."""
        self.assertTrue(probe.unreachable(self.hidden.node, 'udp',
                                          plan.CLIENT6))
        self.assertEqual(0, self.cloud.sink.untranslated())

    def test_broken_rows_disturb_nobody(self):
        """A malformed row, and an address in no provider network."""
        with (self.probing(self.fip.address) as four,
              self.probing(self.fip6, 'udp') as six):
            since = self.mark('gw1')
            for external in ('2001:db8:100::zz', '2001:db8:200::9'):
                self.dual.floating_ip(str(self.dual.tenant[0x98]), external)
                self.addCleanup(self.dual.remove, external)
            self.wait_said('gw1', '2001:db8:200::9', since)
            self.lossless(four)
            self.lossless(six)

    def test_a_device_without_ipv6(self):
        """Trap T64: IPv4 goes on, and IPv6 comes back."""
        node = self.cloud['gw1']
        path = f'net.ipv6.conf.{plan.BRIDGE}.disable_ipv6'
        with self.probing(self.fip.address) as four:
            since = self.mark('gw1')
            node.run(['sysctl', '-qw', f'{path}=1'])
            self.addCleanup(node.run, ['sysctl', '-qw', f'{path}=0'])
            self.wait_said('gw1', self.fip6, since)
            node.run(['sysctl', '-qw', f'{path}=0'])
            self.reach(self.client, 'udp', self.fip6)
            self.lossless(four)


class TestIpv6Static(Ipv6, base.LabTestCase):
    """With static routes of FRR, and over BGP unnumbered (RFC 8950)."""

    METHOD = 'static'
    UNNUMBERED = True

    def test_gateways_move(self):
        """Both families of alpha, and beta, go away and come back."""
        for name in ('gw2', 'gw1'):
            with (self.probing(self.fip.address) as four,
                  self.probing(self.fip6, 'udp') as six):
                for router in (self.alpha, self.beta):
                    self.cloud.move(router, name)
                for address in (self.fip6, self.other6):
                    self.cloud.wait_announced6(address, name, base.SETTLE)
                self.cloud.wait_announced(self.fip.address, name, base.SETTLE)
                for each in four, six:
                    each.wait_answered(base.SETTLE, after=time.monotonic())
                    each.halt()
                self.test_from_the_client()
                self.test_from_the_machines()
                report = six.stop()
                base.note(f'to {name}: {four.stop()}; {report}')
            self.assertLess(report.longest_gap_ms, leaving.DEATH_MS)

    def test_next_hops_of_ipv6(self):
        """Of both families, in both directions, and no address of IPv4."""
        spine, gw1 = self.cloud['spine'], self.cloud['gw1']
        self.assertRegex(
            spine.out('ip', '-4', 'route', 'show', self.fip.address),
            r'via inet6 fe80:\S+ dev to-gw1')
        self.assertRegex(
            spine.out('ip', '-6', 'route', 'show', self.fip6),
            r'via fe80:\S+ dev to-gw1')
        self.assertRegex(
            gw1.out('ip', '-4', 'route', 'show', 'table', base.VRF_TABLE,
                    'default'), r'via inet6 fe80:\S+ dev eth1')
        self.assertEqual('', gw1.out('ip', '-4', '-o', 'addr', 'show', 'dev',
                                     'eth1'))
        evidence = {one['check']: one['evidence'] for one in
                    self.explain(self.fip.address)[1]['findings']}
        self.assertIn('0.0.0.0/0 via inet6 fe80:', evidence['vrf-default'])
        self.assertEqual('to eth1', evidence['advertised'])

    def test_an_address_of_ipv4_comes_and_goes(self):
        fip = self.floating_ip(self.alpha, self.inner.port)
        self.cloud.wait_announced(fip.address, 'gw1', base.SETTLE)
        self.reach(self.client, 'icmp', fip.address)

    def test_without_the_session(self):
        """The node is no standby, says so, and the addresses come back."""
        device = 'eth1'
        node, since = self.cloud['gw2'], self.mark('gw2')
        self.vtysh(node, [_of('gw2'), f'neighbor {device} shutdown'])
        try:
            self.wait_said('gw2', 'no BGP neighbour', since)
        finally:
            self.vtysh(node, [_of('gw2'), f'no neighbor {device} shutdown'])
        self.wait_said('gw2', 'could announce a gateway: yes', since)

    def test_each_broken_layer_has_its_name(self):
        """Of IPv6, and with the command that mends it."""
        self.assertEqual({}, self.shown(self.fip6, FAULTS))
        self.reach(self.client, 'udp', self.fip6)

    def test_what_the_commands_say(self):
        """fips has the addresses, and explain finds nothing broken."""
        agent = self.cloud.agents['gw1']
        said = agent.ctl('fips', '--json', check=False).stdout
        states = {each['address']: each['state']
                  for each in json.loads(said)['addresses']}
        for address in (self.fip6, self.other6, self.dual.address,
                        self.fip.address):
            self.assertEqual('announced', states.get(address), said)
            _status, explained = self.explain(address)
            self.assertEqual([], [one for one in explained['findings']
                                  if one['verdict'] != 'OK'], explained)
        base.note(agent.ctl('explain', self.fip6, check=False).stdout)
        done = agent.ctl('doctor', *CHECKS, '--json', check=False)
        self.assertEqual(dict.fromkeys(CHECKS, 'PASS'), {
            one['check']: one['verdict']
            for one in json.loads(done.stdout)['findings']}, done.stdout)

    def test_an_address_comes_and_goes(self):
        address = self.dual.floating_ip(str(self.dual.tenant[0x99]))
        self.cloud.wait_announced6(address, 'gw1', base.SETTLE)
        self.dual.remove(address)
        nodes.wait_until(f'{address} is withdrawn', lambda:
                         not self.cloud.announcers6(address), base.SETTLE)

    def test_a_restart_of_the_agent(self):
        """No packet of either family is lost."""
        agent = self.cloud.agents['gw1']
        with self.probing(self.fip6, 'udp') as running:
            agent.kill()
            agent.start()
            agent.wait_ready()
            self.lossless(running)


def _of(name):
    """The line of FRR that begins the BGP instance of a gateway."""
    return f'router bgp {plan.GATEWAY_AS[name]} vrf {plan.VRF}'
