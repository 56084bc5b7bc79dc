# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The doctor: a healthy node is healthy, and each fault has its name."""

import json
import re
import time
import unittest

from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import alpha
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import faults
from ovn_network_agent.tests.lab import forwarding as pf

_AT_LAST = 30
# What doctor looks at only where a network or a VIP has IPv6.
_OF_IPV6 = {f'{name}-ipv6' for name in (
    'redistribution', 'bgp-filter', 'prefix-list', 'bgp-sessions', 'outbound',
    'default-route')}
# What doctor looks at only with the driver evpn.
_OF_EVPN = {f'evpn-{name}' for name in (
    'local', 'mtu', 'instance', 'sessions', 'vnis', 'next-hops')}
_SYSCTL = 'net.ipv4.conf.'
_LIST = 'ANNOUNCED-NETWORKS'
_BGP = f'router bgp {plan.GATEWAY_AS["gw2"]} vrf {plan.VRF}'
_FAMILY = _BGP, 'address-family ipv4 unicast'
_PEER = plan.UPLINKS['gw2'][0]
_NOBODY = f'tcp:{plan.HOSTS["central"]}:1'
_MAPPINGS = 'ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings='
# The agent would set the sysctls at its start.
_ACCEPTS = {'port_forward_l3mdev_accept': 'true'}
_LOSE_FLOWS = (f'ovs-ofctl del-flows {plan.BRIDGE} '
               f'cookie={ownership.COOKIE_HAIRPIN:#x}/-1')
# A fight that has lasted this long leaves the time for a diagnosis.
_PAUSED = 'the next repair waits for 16 s'
_LOCAL = pf.vip(pf.PLAIN, [pf.rule('tcp', 80, plan.HOSTS['gw2'], health_check={
    'type': 'tcp', 'port': 1})])


def _sysctls(**values):
    """Values below net.ipv4.conf; a dot in a name is two underscores."""
    return faults.typed(*(
        f'sysctl -w {_SYSCTL}{name.replace("__", ".")}={value}'
        for name, value in values.items()))


def _first(*functions):
    """One function after the other."""
    def all_of(case):
        for function in functions:
            function(case)
    return all_of


def _of_fip(text, frr=False):
    """A command, or a line of FRR, with the floating IP for {fip}."""
    def type_in(case):
        line = text.format(fip=case.fip.address)
        if frr:
            case.vtysh(case.node, [line])
        else:
            case.type_in([line])
    return type_in


def _of_bgpd(line):
    """Configure bgpd alone, as a start before zebra does."""
    return lambda case: case.node.out(
        'vtysh', '-d', 'bgpd', '-c', 'configure terminal', '-c', line)


def _on_spine(words):
    """Whether the fabric sends a default route to gw2."""
    there = not words
    lines = (f'router bgp {plan.SPINE_AS}', 'address-family ipv4 unicast',
             f'{words}neighbor {plan.UPLINKS["gw2"][1]} default-originate')
    return _first(lambda case: case.vtysh(case.cloud['spine'], lines),
                  lambda case: case.wait_default(there))


def _forwarding(**options):
    """The agent would forward ports, among them one to this node itself."""
    return _first(lambda case: pf.put(case.node, [_LOCAL]),
                  faults.configured('port_forward', rules_file=pf.RULES,
                                    **options))


_session = faults.Faults.wait_session
_usual = faults.usual
Fault = faults.Fault

OF_AGENT = (
    Fault('agent', 'an agent runs, and', lambda case: case.agent.freeze(),
          lambda case: case.agent.thaw(), lambda case: case.wait_agent()),
    Fault('prerequisites', 'no-device', _forwarding(
        port_forward_dev='no-device', **_ACCEPTS), _usual),
    Fault('objects', 'missing: flow', lambda case: case.fight(),
          node='gw1'),
)

OF_KERNEL = (
    Fault('rp-filter', 'is strict', _sysctls(
        **{'all__rp_filter': 1, f'{plan.BRIDGE}__rp_filter': 1}),
        settles=_sysctls(**{f'{plan.BRIDGE}__rp_filter': 2})),
    Fault('ip-forward', f'{plan.VRF}: forwarding of IPv4 is off',
          _sysctls(**{f'{plan.VRF}__forwarding': 0})),
    Fault('l3mdev-rule', 'is missing', faults.typed('ip rule del pref 1000'),
          settles=_session),
    Fault('vrf', 'is down', faults.typed(f'ip link set {plan.VRF} down'),
          settles=_session),
    Fault('uplink', 'eth1 .*down', faults.typed('ip link set eth1 down'),
          settles=_session),
)

OF_OVN = (
    Fault('tls-files', '/nowhere.pem', faults.configured(
        'ovn', ovn_nb_remote=_NOBODY.replace('tcp', 'ssl'),
        ovn_ssl_ca='/nowhere.pem'), _usual),
    Fault('ovn-controller', 'is paused', faults.typed(
        'ovn-appctl -t ovn-controller debug/pause')),
    Fault('gateway-chassis', 'without enable-chassis-as-gw', faults.typed(
        'ovs-vsctl remove Open_vSwitch . external_ids ovn-cms-options')),
    Fault('bridge-mappings', 'takes the space', faults.typed(
        f'{_MAPPINGS}\'"{plan.PHYSICAL_NETWORK}: {plan.BRIDGE}"\'')),
)

OF_FRR = (
    Fault('bgp-redistribution', 'does not redistribute static',
          faults.routing(*_FAMILY, 'no redistribute static')),
    Fault('bgp-filter', f'no neighbour .* by the prefix list {_LIST}',
          faults.routing(*_FAMILY, f'no neighbor {_PEER} route-map '
                                   'PROVIDER-FILTER-OUT out'),
          faults.routing(*_FAMILY, f'neighbor {_PEER} route-map '
                                   'PROVIDER-FILTER-OUT out')),
    Fault('prefix-list', 'only bgpd has',
          _of_bgpd(f'ip prefix-list {_LIST} seq 7 permit 10.0.0.0/8')),
    Fault('bgp-sessions', f'no neighbour is established: {_PEER}',
          faults.routing(_BGP, f'neighbor {_PEER} shutdown'),
          faults.routing(_BGP, f'no neighbor {_PEER} shutdown'), _session),
    Fault('vrf-default-route', 'no default route', _on_spine('no '),
          _on_spine('')),
)

# What other programs have put in the way of a floating IP.
OF_OTHERS = (
    Fault('outbound-filters', f'{_LIST}: seq 1 deny .* from all neighbours',
          _of_fip(f'ip prefix-list {_LIST} seq 1 deny {{fip}}/32', True),
          warns=True),
    Fault('rule-order', 'priority 1500 from .* blackhole', _of_fip(
        'ip rule add priority 1500 from {fip} blackhole'), warns=True),
    Fault('dropping-flows', 'cookie 0x7 .* drops packets of', _of_fip(
        f'ovs-ofctl add-flow {plan.BRIDGE} '
        'cookie=7,priority=1000,ip,nw_src={fip},actions=drop'), warns=True),
    Fault('mtu', 'eth1 has an MTU of 1280 bytes',
          lambda case: case.typed('ip link set eth1 mtu 1280'), warns=True),
)


class TestDoctor(faults.Faults, alpha.AlphaTestCase):
    """One layer after the other is broken on a standby and repaired.

    The repair of a layer is seen when the next one is broken: only the
    failures of that one are left then.  The functional tests break what needs
    no VRF and no cloud (tests/functional/diagnosis).
    """

    GATEWAYS = 2
    METHOD = 'static'
    NODE = 'gw2'
    # The standby loses and gets back what it announces with, and no periodic
    # comparison repairs anything.
    CONFIG = {'gateway_drain': {'standby_needs_bgp': 'false'},
              'DEFAULT': {'reconcile_interval': '3600'}}

    def setUp(self):
        super().setUp()
        self.took = []
        self.addCleanup(self.note_times)

    def note_times(self):
        if self.took:
            base.note(f'doctor took {min(self.took):.1f} to '
                      f'{max(self.took):.1f} s, {len(self.took):d} times')

    def doctor(self, name):
        """What does not pass, a dict of check to list of findings."""
        begin = time.monotonic()
        done = self.cloud.agents[name].look('doctor', '--json')
        self.took.append(time.monotonic() - begin)
        said = json.loads(done.stdout)
        self.assertEqual(1 if said['failed'] else 0, done.returncode,
                         done.stderr)
        found = {}
        for one in said['findings']:
            if one['verdict'] != 'PASS':
                found.setdefault(one['check'], []).append(one)
        return found

    def failed(self, name, *more):
        """The part of :meth:`doctor` that fails.

        :param more: further verdicts that count
        """
        return {check: those for check, those in self.doctor(name).items()
                if {one['verdict'] for one in those} & {'FAIL', *more}}

    def test_all_is_well(self):
        """The owner and the standby; no check is left out by a failure."""
        for name in self.cloud.gateways:
            found = self.doctor(name)
            self.assertEqual(
                {'tls-files', 'file-access', 'helper-commands',
                 'network-managers', 'neighbour-tables',
                 'local-destinations', 'ct-zone', 'provider-machines',
                 'tenant-networks', 'peerings', 'egress', 'egress-probe',
                 *_OF_IPV6, *_OF_EVPN},
                set(found), found)
            self.assertEqual({'NOT CHECKED'}, {
                one['verdict'] for those in found.values() for one in those})

    def test_each_fault_has_its_name(self):
        known = (*OF_AGENT, *OF_KERNEL, *OF_OVN, *OF_FRR, *OF_OTHERS)
        wrong, before = {}, 'nothing'
        self.wait_settled()
        for fault in known:
            began = time.monotonic()
            why = self.shown(fault, before)
            base.note(f'{fault.check}: {time.monotonic() - began:.1f} s '
                      f'{why}')
            if why:
                wrong[fault.check] = why
            before = fault.check
        self.assertEqual({}, wrong)
        self.assertLessEqual(20, len({fault.check for fault in known}))
        for name in self.cloud.gateways:
            self.assertEqual({}, self.failed(name), f'at last, on {name}')

    def shown(self, fault, before):
        """Break and repair a layer.

        :param fault: :class:`faults.Fault`
        :param before: name of the fault before this one, for the message
        :returns: what is wrong with the diagnosis, '' if it is right
        """
        name = fault.node or self.NODE
        self.node, self.agent = self.cloud[name], self.cloud.agents[name]
        with self.while_broken(fault):
            found = self.failed(name, *(('WARN',) if fault.warns else ()))
            lines = [line for one in found.get(fault.check, ())
                     for line in faults.commands(one['remedy'])]
            for line in lines:
                self.type_in(line)
        of_check = found.get(fault.check, ())
        said = ' '.join(one['evidence'] for one in of_check)
        verdicts = {one['verdict'] for one in of_check}
        if (set(found) == {fault.check} and re.search(fault.evidence, said)
                and fault.warns == ('FAIL' not in verdicts)
                and bool(lines) == (fault.repairs is None)):
            return ''
        return f'after the repair of {before}: {found}'

    # -- faults of several steps ------------------------------------------

    def fight(self):
        """Delete flows after each repair, until the repairs have pauses."""
        def is_paused():
            self.type_in([_LOSE_FLOWS])
            return self.agent.log().count(_PAUSED) > before
        before = self.agent.log().count(_PAUSED)
        nodes.wait_until('the repairs of flows have pauses', is_paused,
                         _AT_LAST)
        # The line in the log follows a repair.
        self.type_in([_LOSE_FLOWS])

    def wait_agent(self):
        """Wait until the agent answers, connected to all databases."""
        nodes.wait_until('the agent is in sync', lambda: not json.loads(
            self.agent.ctl('status', '--json').stdout)['degraded'], _AT_LAST)


if __name__ == '__main__':
    unittest.main()
