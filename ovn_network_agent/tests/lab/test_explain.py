# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of an address: each broken layer has its name."""

import ipaddress
import re
import time
import unittest

from lab import frr
from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import alpha
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import explaining
from ovn_network_agent.tests.lab import faults

_LIST = 'ANNOUNCED-NETWORKS'
_INTEGRATION = 'br-int'
_NOTHING = 'NOTHING'
_AT_LAST = 60
_ELSEWHERE, _NOBODY = 5, 6
_MARK = ownership.ROUTE_PROTOCOL
_BRIDGE_IP = f'169.254.169.254/32 dev {plan.BRIDGE}'
_RULE = f'priority 2000 from {plan.PROVIDER} lookup 200'
_LEAK = (f'default via 169.254.0.2 dev {ownership.VETH_DEFAULT} table 200 '
         f'proto {_MARK}')
_LOST = f'unreachable default table {base.VRF_TABLE} metric 5'
# zebra does not read the routes of this protocol.
# zebra of each version leaves routes of this protocol alone.
_HIDDEN = (f'unreachable {{fip}}/32 table {base.VRF_TABLE} metric 5 '
           'proto redirect')
_MAPPINGS = 'ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings='
_CONTROLLER = 'ovn-appctl -t ovn-controller debug/'
_BGP = f'router bgp {plan.GATEWAY_AS["gw1"]} vrf {plan.VRF}'
_FAMILY = _BGP, 'address-family ipv4 unicast'
_PEER = plan.UPLINKS['gw1'][0]
_FILTERS = f'neighbor {_PEER} prefix-list {_NOTHING} out'

Fault, routing, configured = faults.Fault, faults.routing, faults.configured


def _typed(*texts):
    """Commands, in which {fip} and {router} are addresses."""
    return lambda case: faults.typed(*(
        text.format(fip=case.fip.address, router=case.alpha.address)
        for text in texts))(case)


def _routing(*lines):
    """Lines of FRR, likewise."""
    return lambda case: case.vtysh(case.node, [
        line.format(fip=case.fip.address) for line in lines])


def _without(cookie):
    def remove(case):
        # A full comparison may be under way.
        if case.running('gw1'):
            case.agent.freeze()
        case.type_in([f'ovs-ofctl del-flows {plan.BRIDGE} '
                      f'cookie={cookie:#x}/-1'])
    return remove


# Of these objects, the agent makes a lost one again.  The route of the leak
# table is lost with the veth pair.
_OF_AGENT = ('mac-tweak-flow', 'hairpin-flow', 'policy-rules',
             'kernel-route', 'frr-route')


def _announced(case):
    case.cloud.wait_announced(case.fip.address, 'gw1', _AT_LAST)


def _session(case):
    case.wait_session()
    _announced(case)


_ROUTE = f'ip route add {{fip}}/32 dev {plan.BRIDGE} scope link proto {_MARK}'
_FLOWS = (('mac-tweak-flow', ownership.COOKIE_MAC_TWEAK),
          ('hairpin-flow', ownership.COOKIE_HAIRPIN))

# The agent hangs, until it gets the command of the remedy.
OF_SWITCH = tuple(Fault(check, f'has no flow cookie {cookie:#x}',
                        _without(cookie)) for check, cookie in _FLOWS)

OF_OVN = (
    Fault('segment', 'ovn-bridge-mappings', faults.typed(
        _CONTROLLER + 'pause', f'{_MAPPINGS}physnet9:{plan.BRIDGE}'),
        faults.typed(f'{_MAPPINGS}{plan.PHYSICAL_NETWORK}:{plan.BRIDGE}',
                     _CONTROLLER + 'resume')),
    Fault('gateway-port', 'follows only lrp-other', configured(
        'DEFAULT', gateway_port='lrp-other'), faults.usual),
    Fault('wanted', 'network_cidr = 192.0.2.0/24', configured(
        'DEFAULT', network_cidr='192.0.2.0/24'), faults.usual),
    Fault('default-route', 'no static MAC binding',
          lambda case: case.unbind(), lambda case: case.bind()),
    Fault('machine', 'which no port in .* has',
          lambda case: case.lead_astray(),
          lambda case: case._set_nat(f'logical_ip={case.vm.port.address}')),
    Fault('nat-row', 'no NAT row', lambda case: case.unassociate(),
          lambda case: case.associate()),
)

OF_KERNEL = (
    Fault('neighbour', 'nobody answers ARP', lambda case: case.silence(),
          lambda case: case.unsilence()),
    Fault('kernel-route', 'no route .* in table 254', _typed(
        f'ip route del {{fip}}/32 dev {plan.BRIDGE}'), _typed(_ROUTE)),
    # With its last address, a device loses its routes: that of the floating
    # IP, and that of the router.
    Fault('bridge-device', 'has no address 169.254.169.254/32',
          _typed(f'ip addr del {_BRIDGE_IP}'),
          _typed(f'ip addr add {_BRIDGE_IP}', _ROUTE,
                 _ROUTE.replace('fip', 'router'))),
    Fault('policy-rules', f'no rule 2000: from {plan.PROVIDER}',
          _typed(f'ip rule del {_RULE}'),
          _typed(f'ip rule add {_RULE} protocol {_MARK}')),
    Fault('leak-table', 'table 200 has no default route',
          _typed(f'ip route del {_LEAK}'), _typed(f'ip route add {_LEAK}')),
    *(Fault(check, evidence, _typed(f'ip rule add {rule}'),
            _typed(f'ip rule del {rule}')) for check, evidence, rule in (
        ('kernel-lookup', f'and not to {plan.BRIDGE}', 'priority 1500 iif '
         f'{ownership.VETH_DEFAULT} to {{fip}}/32 blackhole'),
        # Not a blackhole: Linux 7.3 then refuses the way in, too, because its
        # check of the source goes through the same rules.
        ('way-back', f'and not to {ownership.VETH_DEFAULT}', 'priority 1500 '
         f'iif {plan.BRIDGE} from {{fip}}/32 lookup {base.VRF_TABLE}'))),
    Fault('vrf-lookup', f'does not send .* to {ownership.VETH_PROVIDER}',
          _typed(f'ip route add {_HIDDEN}'), _typed(
              f'ip route del {_HIDDEN}')),
    Fault('vrf-default', f'no route to {plan.CLIENT}', _typed(
        f'ip route add {_LOST}'), _typed(f'ip route del {_LOST}')),
)

OF_FRR = (
    Fault('frr-route', 'zebra has no static route', _routing(
        f'vrf {plan.VRF}', 'no ip route {fip}/32 169.254.0.1'), _routing(
            f'vrf {plan.VRF}', 'ip route {fip}/32 169.254.0.1'), _announced),
    # Not the prefix of the agent's entry: bgpd of FRR 8.4 would no longer
    # find that one in its route map, once the entry here has gone.
    Fault('prefix-list-bgpd', 'seq 1 deny', _routing(
        f'ip prefix-list {_LIST} seq 1 deny {{fip}}/32'),
        settles=_announced),
    Fault('redistribute', 'does not redistribute static', routing(
        *_FAMILY, 'no redistribute static'), settles=_announced),
    Fault('advertised', f'to no neighbour .*{_NOTHING}',
          lambda case: case.filter(), lambda case: case.unfilter(),
          _announced),
    Fault('bgp-neighbours', f'{_PEER} Idle', routing(
        _BGP, f'neighbor {_PEER} shutdown'), settles=_session),
)

# What other programs and people do, and what the typed remedy ends.
OF_OTHERS = (
    Fault('other-flows', 'cookie 0x7 priority 2000 .*: drops TCP to',
          _typed(f'ovs-ofctl add-flow {plan.BRIDGE} cookie=7,priority=2000,'
                 'tcp,nw_dst={fip},actions=drop')),
    Fault('policy-rules', 'a rule of another program', _typed(
        'ip rule add priority 100 to {fip}/32 blackhole')),
    Fault('packet-filters', 'rule .* of the chain "inet guard transit" drops',
          _typed('nft add table inet guard',
                 "nft add chain inet guard transit '{{ type filter hook "
                 "forward priority -10; }}'",
                 'nft add rule inet guard transit ip daddr {fip} drop'),
          _typed('nft delete table inet guard')),
    Fault('gateway-port', 'is bound to no chassis',
          lambda case: case.distribute()),
)


class TestExplain(explaining.Explaining, alpha.AlphaTestCase):
    """One layer after the other is broken, while no agent repairs it.

    The repair of a layer is seen when the next one is broken: only that one
    is called broken then.
    """

    GATEWAYS = 2
    METHOD = 'static'
    # Only one candidate: nobody takes over while nothing works.
    CANDIDATES = ('gw1',)
    CONFIG = {'DEFAULT': {'reconcile_interval': '3600'}}

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
        self.wait_settled()
        wrong = self.shown(self.fip.address, OF_SWITCH)
        self.agent.kill()
        self.addCleanup(self.started)
        wrong |= self.shown(self.fip.address, (
            *OF_OVN, *OF_KERNEL, *OF_FRR, *OF_OTHERS))
        self.assertEqual({}, wrong)
        # What the agent has to repair, at once: the remedy is its start.
        self.node.out('ip', 'link', 'set', ownership.VETH_DEFAULT, 'down')
        self.assertEqual('', self.alone(self.fip.address, Fault(
            'veth-pair', 'is down', None)))
        for fault in (*OF_SWITCH, *OF_KERNEL, *OF_FRR):
            if fault.check in _OF_AGENT:
                fault.breaks(self)
        self.started()
        nodes.wait_until('the agent has repaired the rest', lambda: (
            not self.broken(self.fip.address)), _AT_LAST)

    def test_routes_that_another_program_takes_from_the_kernel(self):
        """By their nexthop objects, which zebra does not notice.

        Packets go to the address by the route of its network, and the answers
        find no way out.  FRR makes its routes again when it restarts.
        """
        self.wait_settled()
        self.addCleanup(_announced, self)
        self.addCleanup(self.wait_settled)
        self.addCleanup(frr.start, self.node, self.cloud.routing('gw1'))
        self.addCleanup(frr.stop, self.node)
        self.node.out('ip', 'nexthop', 'flush')
        self.agent.ctl('resync', check=False)
        nodes.wait_until('the agent is degraded', lambda: re.search(
            rf'0\.0\.0\.0/0, .*{self.fip.address}/32.*zebra reports the route '
            'as installed, and the kernel does not use it', self._status()),
            _AT_LAST)
        _status, said = self.explain(self.fip.address)
        found = {one['check']: one for one in said['findings']}
        self.assertEqual(('OK', 'WARN', 'BROKEN'), tuple(
            found[check]['verdict'] for check in (
                'frr-route', 'vrf-lookup', 'vrf-default')), said)
        self.assertIn(f'packets go to {ownership.VETH_PROVIDER} by a wider '
                      f'route: {plan.PROVIDER}', found['vrf-lookup'][
                          'evidence'])
        self.doCleanups()
        nodes.wait_until('the agent is no longer degraded', lambda: (
            'degraded: no\n' in self._status()), _AT_LAST)
        self.assertEqual({}, self.broken(self.fip.address))

    def _status(self):
        return self.agent.ctl('status', '--verbose', check=False).stdout

    # -- faults of several steps ------------------------------------------

    def silence(self):
        """OVN does not get what asks for the floating IP."""
        self.node.out('ovs-ofctl', 'add-flow', _INTEGRATION, self._dropping(
            'cookie=7,priority=60000,') + ',actions=drop')
        self.type_in([f'ip neigh flush to {self.fip.address} '
                      f'dev {plan.BRIDGE}'])
        # The kernel asks three times, once in a second.
        self.node.run(['ping', '-c', '1', '-W', '4', self.fip.address],
                      check=False)

    def _dropping(self, before):
        return f'{before}arp,arp_tpa={self.fip.address}'

    def unsilence(self):
        self.node.out('ovs-ofctl', '--strict', 'del-flows', _INTEGRATION,
                      self._dropping('priority=60000,'))
        self.type_in([f'ip neigh flush to {self.fip.address} '
                      f'dev {plan.BRIDGE}'])

    def filter(self):
        """Nothing passes the outbound filter, as after a mistyped list."""
        self.vtysh(self.node, [
            f'ip prefix-list {_NOTHING} seq 5 deny any', *_FAMILY, _FILTERS])
        self._filter_anew()

    def unfilter(self):
        self.vtysh(self.node, [
            *_FAMILY, f'no {_FILTERS}', 'exit', 'exit',
            f'no ip prefix-list {_NOTHING} seq 5 deny any'])
        self._filter_anew()

    def _filter_anew(self):
        self.node.out('vtysh', '-c', f'clear bgp vrf {plan.VRF} * soft out')

    def unbind(self):
        """The virtual gateway of the router has no MAC in OVN."""
        self._binding('del')

    def bind(self):
        self._binding('add', self.mac('gw1'))

    def _binding(self, verb, *mac):
        self.node.out('ovn-nbctl', f'--db={plan.NB}',
                      f'static-mac-binding-{verb}', self.alpha.lrp,
                      str(plan.PROVIDER[-2]), *mac)

    def distribute(self):
        """A machine that is nowhere would answer, and not the gateway."""
        self.addCleanup(self._set_nat, f'logical_port={self.vm.port.uuid}')
        self._set_nat('external_mac="fa:16:3e:00:00:77"', 'logical_port=gone')

    def lead_astray(self):
        """The port of the floating IP's inner address is gone."""
        inner = ipaddress.ip_interface(f'{self.vm.port.address}/24').network
        self._set_nat(f'logical_ip={inner[-2]}')

    def _set_nat(self, *columns):
        row = self.node.out(
            'ovn-nbctl', f'--db={plan.NB}', '--bare', '--columns=_uuid',
            'find', 'NAT', f'external_ip={self.fip.address}').strip()
        self.node.out('ovn-nbctl', f'--db={plan.NB}', 'set', 'NAT', row,
                      *columns)

    def unassociate(self):
        self.cloud.neutron.remove_fips(self.alpha, [self.fip])

    def associate(self):
        type(self).fip = self.cloud.neutron.add_fip(
            self.alpha, self.vm.port, self.fip.address)


if __name__ == '__main__':
    unittest.main()
