# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers in VNIs: two tenants have the same addresses behind them, too."""

import contextlib
import dataclasses
import ipaddress
import itertools
import json
import time

from lab import dual
from lab import echo
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent.tests.lab import balancers
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import evpn

# Of both tenants.
_INSIDE = ipaddress.ip_network('10.99.0.0/24')
_INSIDE6 = ipaddress.ip_network('2001:db8:99::/64')
# The addresses of their routers.
_OUTSIDE, _FLOATING, _VIRTUAL, _DISTRIBUTED = (
    str(evpn.CIDR[n]) for n in (200, 201, 202, 203))
_OUTSIDE6, _FLOATING6 = (str(evpn.CIDR6[n]) for n in (200, 201))
# A virtual IP in the tenant's network.
_BALANCED = str(_INSIDE[202])
# The node of the machine with the distributed floating IP.
_HOME = 'gw2'
# Of both routers, and where their gateway port is.
_WITH_THE_PORT = (
    *(f'{each}/32' for each in (_OUTSIDE, _FLOATING, _VIRTUAL)),
    f'{_OUTSIDE6}/128', f'{_FLOATING6}/128', str(_INSIDE), str(_INSIDE6))
_MOVE_MS = 1500


@dataclasses.dataclass
class Routed:
    """What a tenant has behind a router.

    :ivar tenant: :class:`evpn.Tenant`
    :ivar router: :class:`routers.Router`
    :ivar floating: :class:`cloud.Vm` with a floating IP
    :ivar plain: one without, also a member of a balancer
    :ivar resident: one with a distributed floating IP
    :ivar plain6: IPv6 address of the one without, text
    :ivar behind: virtual IP in a network that is not announced, text
    """

    tenant: evpn.Tenant
    router: object
    floating: object
    plain: object
    resident: object
    plain6: str
    behind: str


def build(cloud, tenants):
    """A router for each tenant, with floating IPs and virtual IPs."""
    return [_routed(cloud, tenant) for tenant in tenants]


def _routed(cloud, tenant):
    neutron = cloud.neutron
    # Its first network is behind SNAT.
    first = cloud.add_router(f'router-{tenant.name}', ['gw1', 'gw2'],
                             address=_OUTSIDE, provider=tenant.network)
    router, behind = (neutron.add_interface(first, _INSIDE),
                      str(first.internal.cidr[202]))
    both = dual.Dual(neutron, router, 200, outside=evpn.CIDR6,
                     inside=_INSIDE6)
    floating, plain, resident = machines = [
        cloud.add_vm(router, host) for host in ('cmp1', 'cmp1', _HOME)]
    for each in machines:
        echo.start(each.node, tenant.port)
    neutron.add_fip(router, floating.port, _FLOATING)
    neutron.set_distributed(
        neutron.add_fip(router, resident.port, _DISTRIBUTED), True)
    both.floating_ip(both.machine(floating), _FLOATING6)
    balancers.Balancer(cloud, router, [_VIRTUAL, _BALANCED, behind], [plain],
                       port=tenant.port)
    return Routed(tenant, router, *machines, both.machine(plain), behind)


class Routers:
    """Mix-in for :class:`evpn_cloud.EvpnTestCase`."""

    def outside(self, routed):
        """The addresses behind a router that answer at the tenant's port."""
        return (_FLOATING, _VIRTUAL, _BALANCED, _DISTRIBUTED, _FLOATING6,
                routed.plain.port.address, routed.plain6, routed.behind)

    def wait_routed(self, routed, name):
        """Wait until the PE has all of a router from a node."""
        for prefix, node in (
                *((each, name) for each in _WITH_THE_PORT),
                (f'{routed.behind}/32', name), (f'{_DISTRIBUTED}/32', _HOME)):
            nodes.wait_until(
                lambda p=prefix, n=node: f'{routed.tenant.name} has {p} from '
                f'{n}: {self.paths(routed.tenant.vni, p)}',
                lambda p=prefix, n=node: self.paths(
                    routed.tenant.vni, p) == [n], base.SETTLE)

    def reach_routed(self):
        """Hosts and machines behind routers, in both directions."""
        self._reach([
            (*ends, each.tenant.port) for each in self.routed for ends in (
                *((each.tenant.host, _client(target), target)
                  for target in self.outside(each)),
                *((vm.node, source, _client(source)) for vm, source in (
                    (each.floating, _FLOATING), (each.floating, _FLOATING6),
                    (each.resident, _DISTRIBUTED),
                    (each.plain, each.plain.port.address),
                    (each.plain, each.plain6))))])

    def test_routers(self):
        """Floating and virtual IPs and prefixes, each from its own host."""
        self.assertEqual(*({machine.port.address
                            for machine in (each.floating, each.plain)}
                           for each in self.routed))
        for each in self.routed:
            self.wait_routed(each, 'gw1')
        self.reach_routed()
        for one, other in itertools.permutations(self.routed):
            for target in self.outside(one):
                report = probe.ping(one.tenant.host, target, 2, 0.02, 'tcp',
                                    port=other.tenant.port)
                self.assertEqual((0, 2), (report.received, report.lost),
                                 str(report))
        for name in self.cloud.gateways:
            # A dispute of drivers would be among these.
            self.assertFalse(json.loads(self.cloud.agents[name].ctl(
                'status', '--json').stdout)['degraded'])

    def test_what_is_said_of_routers(self):
        """explain and addresses tell the tenants apart by their VNI."""
        of_gw1 = (_OUTSIDE, _FLOATING, _FLOATING6, _VIRTUAL, str(_INSIDE))
        for each in self.routed:
            self.wait_routed(each, 'gw1')
            for asked, home in (*((one, 'gw1') for one in of_gw1),
                                (each.behind, 'gw1'), (_DISTRIBUTED, _HOME)):
                for name in self.cloud.gateways:
                    self._explained(each.tenant.vni, asked, name, home)
        said = json.loads(self.cloud.agents['gw1'].ctl(
            'addresses', '--json').stdout)['addresses']
        self.assertLessEqual(
            {(each.tenant.vni, one) for each in self.routed
             for one in (*of_gw1, each.behind)},
            {(each['vni'], each['address']) for each in said
             if each['state'] == 'announced'})

    def _explained(self, vni, asked, name, home):
        """What explain says on a node of an address that is at home on one."""
        found = json.loads(self.cloud.agents[name].look(
            'explain', asked, '--client', _client(asked), '--json',
            '--vni', str(vni)).stdout)
        self.assertEqual(('ok' if name == home else 'elsewhere', vni, []), (
            found['outcome'], found['vni'], [
                one for one in found['findings'] if name == home and
                one['verdict'] in ('WARN', 'BROKEN')]), found)

    def test_a_gateway_that_moves(self):
        """By a drain, without a relay or a proof, and one by one back.

        The addresses follow, in their VNI; the other tenant's stay.
        """
        agent, reports = self.cloud.agents['gw1'], []
        with self._probed(*self.routed, plain=False) as running:
            began = time.monotonic()
            self.addCleanup(agent.ctl, 'undrain')
            agent.ctl('drain')
            base.note(f'drained in {time.monotonic() - began:.1f} s')
            for each in self.routed:
                self.wait_routed(each, 'gw2')
            reports += self._answered(running)
        agent.ctl('undrain', '--wait')
        for moved, other in itertools.permutations(self.routed):
            with self._probed(moved) as running, self._probed(other) as kept:
                self.cloud.move(moved.router, 'gw1')
                self.wait_routed(moved, 'gw1')
                reports += self._answered(running)
                for each in kept:
                    self.lossless(each)
        self.reach_routed()
        base.note(f'gateways in VNIs move: {"; ".join(map(str, reports))}')
        for report in reports:
            self.assertLessEqual(report.longest_gap_ms, _MOVE_MS)

    @contextlib.contextmanager
    def _probed(self, *routed, plain=True):
        """Probes from the hosts to a floating IP, and a machine, of each."""
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(self.probing(
                target, 'udp', each.tenant.host, each.tenant.port))
                for each in routed
                for target in (_FLOATING, each.plain.port.address)[:1 + plain]]

    def _answered(self, running):
        """End probes that are answered again; gives their reports."""
        for each in running:
            each.wait_answered(base.SETTLE, after=time.monotonic())
        return [each.stop() for each in running]


def _client(address):
    """The address of the host outside that talks to one, text."""
    return plan.CLIENT6 if ':' in address else plan.CLIENT
