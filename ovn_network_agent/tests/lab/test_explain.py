# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What explain says of an address: each broken layer has its name."""

import contextlib
import json
import time
import unittest

from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

_LIST = 'ANNOUNCED-NETWORKS'
_NOTHING = 'NOTHING'
_AT_LAST = 60
# Exit statuses, see the reference of ovn-network-agent-ctl.
_BROKEN, _ELSEWHERE, _NOBODY = 1, 5, 6


class TestExplain(base.LabTestCase):
    """One layer after the other is broken, while no agent repairs it.

    The repair of a layer is seen when the next one is broken: only that one
    is called broken then.
    """

    GATEWAYS = 2
    METHOD = 'static'

    @classmethod
    def build(cls):
        # Only one candidate: nobody takes over while nothing works.
        cls.alpha = cls.cloud.add_router('alpha', ['gw1'])
        cls.vm, cls.fip = cls.machine(cls.alpha)

    def setUp(self):
        super().setUp()
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.node = self.cloud['gw1']
        self.agent = self.cloud.agents['gw1']
        self.prefix = f'{self.fip.address}/32'

    # -- what is said -----------------------------------------------------

    def explain(self, address, name='gw1'):
        """(exit status, what is said, a dict)."""
        done = self.cloud.agents[name].ctl(
            'explain', address, '--client', plan.CLIENT, '--json',
            check=False)
        self.assertEqual('', done.stderr)
        return done.returncode, json.loads(done.stdout)

    def verdicts(self):
        """dict of check to (verdict, evidence) of the floating IP."""
        _status, said = self.explain(self.fip.address)
        return {one['check']: (one['verdict'], one['evidence'])
                for one in said['findings']}

    def broken(self):
        """What is called broken, a set of checks."""
        return {check for check, (verdict, _evidence)
                in self.verdicts().items() if verdict == 'BROKEN'}

    # -- the tests --------------------------------------------------------

    def test_healthy(self):
        """Each kind of address, on the owner and on the standby."""
        self.reach(self.client, 'icmp', self.fip.address)
        router = self.alpha.address
        for address, kind in ((self.fip.address, 'floating IP'),
                              (router, 'SNAT address')):
            status, said = self.explain(address)
            self.assertEqual((0, 'ok', kind), (
                status, said['outcome'], said['kind']), said)
            self.assertEqual([], [one for one in said['findings']
                                  if one['verdict'] != 'OK'])
        status, said = self.explain(self.fip.address, 'gw2')
        self.assertEqual((_ELSEWHERE, 'elsewhere'),
                         (status, said['outcome']), said)
        self.assertIn('gw1', said['findings'][-1]['evidence'])
        status, said = self.explain(str(plan.PROVIDER[200]))
        self.assertEqual((_NOBODY, 'nobody'), (status, said['outcome']),
                         said)
        began = time.monotonic()
        done = self.agent.ctl('explain', self.fip.address, check=False)
        base.note(f'explain took {time.monotonic() - began:.1f} s:\n'
                  f'{done.stdout}')

    def test_each_broken_layer_has_its_name(self):
        with self.without_flows(ownership.COOKIE_HAIRPIN, frozen=True):
            self.assertEqual({'hairpin-flow'}, self.broken())
        self.agent.kill()
        self.addCleanup(self._started)
        wrong = {}
        for check, fault in self.faults():
            began = time.monotonic()
            with fault:
                found = self.waited(check)
            if found:
                wrong[check] = found
            base.note(f'{check}: {time.monotonic() - began:.1f} s '
                      f'{found or ""}')
        self.assertEqual({}, wrong)
        self.node.out('ip', 'link', 'set', ownership.VETH_DEFAULT, 'down')
        self.assertEqual(None, self.waited('veth-pair'))
        self._started()
        nodes.wait_until('the agent has repaired the rest',
                         lambda: not self.broken(), _AT_LAST)

    def _started(self):
        if not self.running('gw1'):
            self.agent.start()
            self.agent.wait_ready()

    def waited(self, check):
        """Wait until one layer alone is broken; why not, or None."""
        try:
            nodes.wait_until(f'{check} is broken',
                             lambda: self.broken() == {check}, _AT_LAST)
        except nodes.NodeError:
            return {name: found for name, found in self.verdicts().items()
                    if found[0] != 'OK'}
        return None

    # -- the faults -------------------------------------------------------

    def faults(self):
        """(check, context in which its layer is broken)."""
        yield 'mac-tweak-flow', self.without_flows(ownership.COOKIE_MAC_TWEAK)
        yield 'hairpin-flow', self.without_flows(ownership.COOKIE_HAIRPIN)
        yield from self._of_kernel()
        yield from self._of_frr()
        yield 'default-route', self.without_binding()
        yield 'nat-row', self.without_nat()

    def _of_kernel(self):
        mark = ownership.ROUTE_PROTOCOL
        route = (f'ip route add {self.prefix} dev {plan.BRIDGE} scope link '
                 f'proto {mark}')
        yield 'kernel-route', self.commands(
            f'ip route del {self.prefix} dev {plan.BRIDGE}', route)
        # With its last address, a device loses its routes.
        yield 'bridge-device', self.commands(
            f'ip addr del 169.254.169.254/32 dev {plan.BRIDGE}',
            f'ip addr add 169.254.169.254/32 dev {plan.BRIDGE}', route)
        rule = f'priority 2000 from {plan.PROVIDER} lookup 200'
        yield 'policy-rules', self.commands(
            f'ip rule del {rule}', f'ip rule add {rule} protocol {mark}')
        route = (f'default via 169.254.0.2 dev {ownership.VETH_DEFAULT} '
                 f'table 200 proto {mark}')
        yield 'leak-table', self.commands(f'ip route del {route}',
                                          f'ip route add {route}')
        to = (f'priority 1500 iif {ownership.VETH_DEFAULT} to {self.prefix} '
              'blackhole')
        yield 'kernel-lookup', self.commands(f'ip rule add {to}',
                                             f'ip rule del {to}')
        back = (f'priority 1500 iif {plan.BRIDGE} from {self.prefix} '
                'blackhole')
        yield 'way-back', self.commands(f'ip rule add {back}',
                                        f'ip rule del {back}')

    def _of_frr(self):
        bgp = f'router bgp {plan.GATEWAY_AS["gw1"]} vrf {plan.VRF}'
        family = (bgp, 'address-family ipv4 unicast')
        route = f'ip route {self.prefix} 169.254.0.1'
        yield 'frr-route', self.routing(
            [f'vrf {plan.VRF}', f'no {route}'], [f'vrf {plan.VRF}', route])
        # Not the prefix of the agent's entry: bgpd of FRR 8.4 would no longer
        # find that one in its route map, once the entry here has gone.
        deny = f'ip prefix-list {_LIST} seq 1 deny {self.prefix}'
        yield 'prefix-list-bgpd', self.routing([deny], [f'no {deny}'])
        yield 'redistribute', self.routing(
            [*family, 'no redistribute static'],
            [*family, 'redistribute static'])
        yield 'advertised', self.filtered()
        peer = plan.UPLINKS['gw1'][0]
        yield 'bgp-neighbours', self.routing(
            [bgp, f'neighbor {peer} shutdown'],
            [bgp, f'no neighbor {peer} shutdown'])
        self.wait_default()
        route = f'unreachable default table {base.VRF_TABLE} metric 5'
        yield 'vrf-default', self.commands(f'ip route add {route}',
                                           f'ip route del {route}')
        self.wait_default()

    @contextlib.contextmanager
    def commands(self, breaks, *repairs):
        self.node.out(*breaks.split())
        try:
            yield
        finally:
            for command in repairs:
                self.node.out(*command.split())

    @contextlib.contextmanager
    def without_flows(self, cookie, frozen=False):
        match = f'cookie={cookie:#x}/-1'
        if frozen:
            self.agent.freeze()
        flows = [line.strip() for line in self.node.out(
            'ovs-ofctl', '-O', 'OpenFlow13', '--no-stats', 'dump-flows',
            plan.BRIDGE, match).splitlines() if 'cookie=' in line]
        self.node.out('ovs-ofctl', 'del-flows', plan.BRIDGE, match)
        try:
            yield
        finally:
            for flow in flows:
                self.node.out('ovs-ofctl', '-O', 'OpenFlow13', 'add-flow',
                              plan.BRIDGE, flow)
            if frozen:
                self.agent.thaw()

    @contextlib.contextmanager
    def routing(self, breaks, repairs):
        self.vtysh(breaks)
        try:
            yield
        finally:
            self.vtysh(repairs)

    @contextlib.contextmanager
    def filtered(self):
        """Nothing passes the outbound filter, as after a mistyped list."""
        entry = f'ip prefix-list {_NOTHING} seq 5 deny any'
        bgp = (f'router bgp {plan.GATEWAY_AS["gw1"]} vrf {plan.VRF}',
               'address-family ipv4 unicast')
        filters = (f'neighbor {plan.UPLINKS["gw1"][0]} prefix-list '
                   f'{_NOTHING} out')
        with self.routing([entry, *bgp, filters],
                          [*bgp, f'no {filters}', 'exit', 'exit',
                           f'no {entry}']):
            self._filter_anew()
            yield
        self._filter_anew()
        self.cloud.wait_announced(self.fip.address, 'gw1', _AT_LAST)

    def _filter_anew(self):
        self.node.out('vtysh', '-c', f'clear bgp vrf {plan.VRF} * soft out')

    def vtysh(self, lines):
        self.node.out('vtysh', *(
            word for line in ['configure terminal', *lines]
            for word in ('-c', line)))

    def wait_default(self):
        """Wait until the VRF has the default route from BGP."""
        nodes.wait_until('the default route of BGP', lambda: self.node.out(
            'ip', '-4', 'route', 'show', 'table', base.VRF_TABLE,
            'proto', 'bgp', 'default').strip(), _AT_LAST)

    @contextlib.contextmanager
    def without_binding(self):
        """The virtual gateway of the router has no MAC in OVN."""
        gateway, mac = str(plan.PROVIDER[-2]), self.mac('gw1')
        nbctl = 'ovn-nbctl', f'--db={plan.NB}'
        self.node.out(*nbctl, 'static-mac-binding-del', self.alpha.lrp,
                      gateway)
        try:
            yield
        finally:
            self.node.out(*nbctl, 'static-mac-binding-add', self.alpha.lrp,
                          gateway, mac)

    @contextlib.contextmanager
    def without_nat(self):
        self.cloud.neutron.remove_fips(self.alpha, [self.fip])
        try:
            yield
        finally:
            type(self).fip = self.cloud.neutron.add_fip(
                self.alpha, self.vm.port, self.fip.address)


if __name__ == '__main__':
    unittest.main()
