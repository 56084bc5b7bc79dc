# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain, doctor, addresses and plan say of VNIs."""

import json

from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import evpn
from ovn_network_agent.tests.lab import evpn_cloud
from ovn_network_agent.tests.lab import explaining
from ovn_network_agent.tests.lab import faults

_AT_LAST = 60
_ELSEWHERE, _NOBODY = 5, 6
_BGP = f'router bgp {plan.GATEWAY_AS["gw1"]} vrf {plan.VRF}'
_EVPN = _BGP, 'address-family l2vpn evpn'
_PEER = plan.UPLINKS['gw1'][0]
_VRF = f'router bgp {plan.GATEWAY_AS["gw1"]} vrf vrf-1001'
_CHECKS = ('evpn-local', 'evpn-mtu', 'evpn-instance', 'evpn-sessions',
           'evpn-vnis', 'evpn-next-hops')
_OUT_AND_IN = ('ip link set br-1001 nomaster',
               'ip link set br-1001 master vrf-1001')
Fault, routing = faults.Fault, faults.routing


def _typed(*texts):
    """Commands, in which {veth}, {port} and {vm} are names, while it hangs."""
    def type_in(case):
        case.agent.freeze()
        case.typed(*(text.format(**case.words) for text in texts))
    return type_in


def _routing(*lines):
    """Lines of FRR, likewise."""
    def write(case):
        case.agent.freeze()
        case.vtysh(case.node, lines)
    return write


# Without a repair, the agent has to make it again, or the remedy.
OF_EXPLAIN = (
    Fault('evpn-sessions', 'no BGP neighbour is activated',
          routing(*_EVPN, f'no neighbor {_PEER} activate'),
          routing(*_EVPN, f'neighbor {_PEER} activate')),
    Fault('vni-next-hops', r'br-1001 sends to .* \(no neighbour\)',
          _typed(*_OUT_AND_IN)),
    Fault('vni-neighbour', 'no permanent neighbour',
          _typed('ip neigh del {vm} dev {veth}')),
    Fault('vni-route', 'vrf-1001 would use: ',
          _typed('ip route del {vm}/32 table {table}')),
    Fault('vni-rules', 'there is no rule 1100: from all iif br-1001',
          _typed('ip rule del priority 1100 iif br-1001')),
    Fault('vni-gateway', 'proxy_arp is 0 and not 1',
          _typed('sysctl -qw net.ipv4.conf.{veth}.proxy_arp=0')),
    Fault('vni-port', 'br-ex has no port',
          _typed('ovs-vsctl del-port {port}')),
    Fault('mac-tweak-flow', 'has no flow', _typed(
        f'ovs-ofctl del-flows {plan.BRIDGE} '
        f'cookie={ownership.COOKIE_MAC_TWEAK:#x}/-1')),
    Fault('vni-zebra', 'zebra has no VNI 1001',
          _routing('vrf vrf-1001', 'no vni 1001')),
    Fault('redistribute', 'does not redistribute kernel', _routing(
        _VRF, 'address-family ipv4 unicast', 'no redistribute kernel')),
)


class TestEvpnExplained(explaining.Explaining, evpn_cloud.EvpnTestCase):

    def setUp(self):
        super().setUp()
        self.node, self.agent = self.cloud['gw1'], self.cloud.agents['gw1']
        vm, veth = self.machines['red'][0], self.veth(self.red)
        self.address = vm.port.address
        self.words = {'vm': self.address, 'veth': veth,
                      'port': veth.replace('vrf', 'ovs'),
                      'table': ownership.EVPN_TABLES.start + self.red.vni}
        self.addCleanup(self.agent.thaw)

    def explain(self, address, name='gw1', *more):
        """(exit status, what is said of VNI 1001, or of all VNIs)."""
        done = self.cloud.agents[name].look(
            'explain', address, '--client',
            plan.CLIENT6 if ':' in address else plan.CLIENT, '--json',
            *(more or ('--vni', str(self.red.vni))))
        self.assertEqual('', done.stderr)
        return done.returncode, json.loads(done.stdout)

    def doctor(self, *checks, name='gw1'):
        """{check: [(verdict, evidence)]} of EVPN."""
        said = json.loads(self.cloud.agents[name].look(
            'doctor', '--json', *(checks or _CHECKS)).stdout)
        found = {}
        for one in said['findings']:
            found.setdefault(one['check'], []).append(
                (one['verdict'], one['evidence']))
        return found

    def wait_healthy(self):
        self.agent.thaw()
        nodes.wait_until(
            lambda: f'nothing is broken: {self.broken(self.address)}',
            lambda: not self.broken(self.address), _AT_LAST)

    def test_each_tenant_has_the_address(self):
        """Those of all VNIs, or of one; and where they are not."""
        for address in evpn.addresses(self.machines['red'][0]):
            for name, status, outcome in (('gw1', 0, 'ok'),
                                          ('gw2', _ELSEWHERE, 'elsewhere')):
                said, found = self.explain(address, name, '--trace')
                self.assertEqual((status, {
                    tenant.vni: outcome for tenant in self.tenants}), (said, {
                        each['vni']: each['outcome']
                        for each in (found, *found['others'])}), found)
            found = self.explain(address, 'gw1', '--trace')[1]
            self.assertIn('reaches OVN', found['trace_verdicts'][
                'Open vSwitch, way in'])
            self.assertIn(f'reaches the kernel through {self.words["port"]}',
                          found['trace_verdicts']['Open vSwitch, way back'])
        done = self.agent.ctl('explain', address, '--vni', '7', check=False)
        self.assertEqual(_NOBODY, done.returncode, done.stderr)

    def test_doctor(self):
        for name in self.cloud.gateways:
            found = self.doctor(name=name)
            self.assertEqual({*_CHECKS}, {*found})
            self.assertEqual({'PASS'}, {
                verdict for said in found.values()
                for verdict, _evidence in said}, found)
        self.assertIn('3 VNIs are up', found['evpn-vnis'][0][1])
        self.assertRegex(found['evpn-sessions'][0][1],
                         r'[1-9]\d* routes sent, [1-9]\d* received')

    def test_addresses_and_the_plan(self):
        said = json.loads(self.agent.ctl('addresses', '--json').stdout)
        self.assertEqual(
            {(tenant.vni, self.machines[tenant.name][0].port.address)
             for tenant in self.tenants},
            {(each['vni'], each['address']) for each in said['addresses']
             if ':' not in each['address'] and each['state'] == 'announced'
             and each['vni']})
        self.assertEqual([], json.loads(self.agent.ctl(
            'plan', '--json').stdout)['steps'])

    def test_each_layer_of_an_address(self):
        self.wait_healthy()
        wrong = {}
        for fault in OF_EXPLAIN:
            fault.breaks(self)
            try:
                why = self.alone(self.address, fault)
            finally:
                (fault.repairs or (lambda case: None))(self)
            base.note(f'{fault.check}: {why}')
            if why:
                wrong[fault.check] = why
            self.wait_healthy()
        self.assertEqual({}, wrong)
