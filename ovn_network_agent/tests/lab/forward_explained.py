# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of a VIP: each broken layer has its name."""

import re

from lab import echo
from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import explaining
from ovn_network_agent.tests.lab import faults
from ovn_network_agent.tests.lab import forwarding as pf

_AT_LAST = 60
_TABLE = f'ip {ownership.NFT_TABLE}'
_SAVED = '/run/table.nft'
_DEVICE = 'dev loopback1'
_LIST = 'ANNOUNCED-NETWORKS'
_FAMILY = (f'router bgp {plan.GATEWAY_AS["gw1"]} vrf {plan.VRF}',
           'address-family ipv4 unicast')
_ORIGIN = 'redistribute connected'
# Not the prefix of the agent's entry: bgpd of FRR 8.4 would no longer find
# that one in its route map, once the entry here has gone.
_DENY = f'ip prefix-list {_LIST} seq 1 deny {pf.PLAIN}/31 le 32'
_CHECK = {'type': 'tcp', 'port': echo.PORT, 'interval': 0.2, 'rise': 1,
          'fall': 1}
# The responder of this address has another port.
_DEAD = [pf.rule('tcp', 80, pf.REMOTE,
                 health_check={**_CHECK, 'port': echo.PORT + 9})]
_HALF = [pf.rule('tcp', 80, *pf.SEVERAL[:2], health_check=_CHECK)]


def _nft(words):
    """Change the agent's table behind its back."""
    return faults.typed(f'nft {words.format(_TABLE)}')


def _restore(case):
    case.node.run(['nft', 'delete', 'table', *_TABLE.split()], check=False)
    case.node.write(_SAVED, case.saved)
    case.node.out('nft', '-f', _SAVED)


def _lose(kind, *show):
    """Remove the first line of a list of ip(8), and keep its words."""
    def lose(case):
        line = case.node.out('ip', kind, 'show', *show).splitlines()[0]
        # The list does not repeat the table that it is of.
        words = [*line.split(), *show] if kind == 'route' else re.sub(
            r'^(\d+):', r'priority \1', line).split()
        case.lost = [kind, words]
        case.node.out('ip', kind, 'del', *words)
    return lose


def _again(case):
    kind, words = case.lost
    case.node.out('ip', kind, 'add', *words)


def _announced(case):
    case.cloud.wait_announced(pf.PLAIN, 'gw1', _AT_LAST)


Fault = faults.Fault

# While no agent runs.  The agent repairs the first of them at its start.
FAULTS = (
    Fault('vip-address', 'has no address ' + pf.PLAIN,
          faults.typed(f'ip addr del {pf.PLAIN}/32 {_DEVICE}'),
          faults.typed(f'ip addr add {pf.PLAIN}/32 {_DEVICE}'), _announced),
    Fault('nft-rules', 'there is no table', _nft('delete table {}'),
          _restore),
    Fault('nft-rules', 'has changed the table',
          _nft('flush chain {} prerouting_dnat'), _restore),
    Fault('nft-rules', 'does not lead to',
          _nft(f'flush set {{}} {ownership.NFT_TARGETS}'), _restore),
    Fault('policy-rules', f'no rule {ownership.PRIORITY_FORWARD}: ',
          _lose('rule', 'priority', str(ownership.PRIORITY_FORWARD)),
          _again),
    Fault('policy-rules', f'no rule {ownership.PRIORITY_REPLY_GUARD}: from '
          'all fwmark 0x200/0x200 blackhole',
          _lose('rule', 'priority', str(ownership.PRIORITY_REPLY_GUARD)),
          _again),
    *(Fault('leak-table', f'table {table} has no default route',
            _lose('route', 'table', table), _again)
      for table in ('200', '201')),
    Fault('prefix-list-bgpd', 'seq 1 deny', faults.routing(_DENY),
          settles=_announced),
    Fault('redistribute', 'does not redistribute connected',
          faults.routing(*_FAMILY, 'no ' + _ORIGIN), faults.routing(
              *_FAMILY, _ORIGIN + ' route-map PROVIDER-LOOPBACK'),
          _announced),
    Fault('veth-pair', 'is down', faults.typed(
        f'ip link set {ownership.VETH_DEFAULT} down'),
        lambda case: case.restarted()),
    # As of a VPN; an answer has no packet mark behind the pair.
    *(Fault(check, 'dev eth0 table 220', faults.typed(
        f'ip route add {plan.CLIENT}/32 via {plan.SINK} dev eth0 table 220',
        f'ip rule add {rule} lookup 220'), faults.typed(
            f'ip rule del {rule} lookup 220', 'ip route flush table 220'))
      for check, rule in (('way-back', 'priority 100 fwmark 0x200'),
                          ('vrf-default', 'priority 220'))),
    # The operator makes the device, and its addresses go with it.
    Fault('vip-address', 'loopback1 is down',
          faults.typed('ip link set loopback1 down'), settles=_announced),
)


class Explained(explaining.Explaining):
    """Tests; see :mod:`ovn_network_agent.tests.lab.forwarding`."""

    def on_gw1(self):
        self.node, self.agent = self.cloud['gw1'], self.cloud.agents['gw1']

    def test_a_vip_is_explained(self):
        """All layers, the destinations, and the connections to them."""
        self.on_gw1()
        self.asked(pf.PLAIN, 80)
        self.asked(pf.PLAIN, 81)
        for address in (pf.PLAIN, pf.PLAIN6):
            status, said = self.explain(address)
            self.assertEqual((0, 'ok', 'VIP'), (
                status, said['outcome'], said['kind']), said)
            self.assertEqual(set(), {
                (one['check'], one['verdict']) for one in said['findings']
                if one['verdict'] != 'OK'}, said)
        base.note(self.agent.ctl('explain', pf.PLAIN, check=False).stdout)
        evidence = {one['check']: one['evidence'] for one
                    in self.explain(pf.PLAIN)[1]['findings']}
        self.assertIn(f'tcp/80 to {pf.LOCAL}', evidence['backends'])
        self.assertRegex(evidence['nft-rules'],
                         rf'[1-9]\d* connections at present: .*{pf.LOCAL}')
        self.assertIn(pf.REMOTE, evidence['nft-rules'])

    def test_destinations_of_a_vip_are_explained(self):
        """One of two dead is a warning, and all dead is broken."""
        self.on_gw1()
        first, second = pf.SEVERAL[:2]
        self.other_rules('gw1', [
            *pf.VIPS, pf.vip(pf.CHECKED, _HALF), pf.vip(pf.OTHER, _DEAD)])
        backend = self.cloud['backend']
        backend.stop('echo-' + first)
        self.addCleanup(echo.start, backend, name='echo-' + first,
                        address=first)
        found = nodes.wait_until('one is dead', lambda: [
            one for one in self.explain(pf.CHECKED)[1]['findings']
            if (one['check'], one['verdict']) == ('backends', 'WARN')],
            _AT_LAST)
        self.assertIn(first, found[0]['evidence'])
        self.assertNotIn(second, found[0]['evidence'])
        self.assertEqual({}, self.broken(pf.CHECKED))
        self.assertEqual('', self.alone(pf.OTHER, Fault(
            'backends', f'none is alive: {pf.REMOTE} ', None)))

    def test_each_broken_layer_of_a_vip_has_its_name(self):
        """While no agent repairs it."""
        self.on_gw1()
        self.saved = self.table()
        self.wait_settled()
        self.agent.kill()
        self.addCleanup(self.restarted)
        wrong = self.shown(pf.PLAIN, FAULTS)
        self.restarted()
        nodes.wait_until('all is well again', lambda: not (
            self.broken(pf.PLAIN) or self.broken(pf.PLAIN6)), _AT_LAST)
        # Without the table, nobody translates what backends send.
        self.untranslated_on_purpose()
        self.assertEqual({}, wrong)

    def restarted(self):
        """The agent has repaired all."""
        self.started()
        _announced(self)
