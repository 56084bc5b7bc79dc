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

"""The doctor: a healthy node is healthy, and each fault has its name."""

import contextlib
import json
import time
import unittest

from lab import agent as agents
from lab import frr
from lab import node as nodes
from lab import plan
from ovn_network_agent.tests.lab import base

_AT_LAST = 30
_CONF = '/proc/sys/net/ipv4/conf/'


class TestDoctor(base.LabTestCase):
    """One layer after the other is broken on a standby and repaired.

    The repair of a layer is seen when the next one is broken: only the
    failures of that one are left then.  The functional tests break more, where
    no VRF and no cloud is needed (tests/functional/diagnosis).
    """

    GATEWAYS = 2
    METHOD = 'static'
    # The standby loses and gets back what it announces with.
    CONFIG = {'gateway_drain': {'standby_needs_bgp': 'false'}}

    @classmethod
    def build(cls):
        cls.alpha = cls.cloud.add_router('alpha')
        cls.vm, cls.fip = cls.machine(cls.alpha)

    def setUp(self):
        super().setUp()
        self.cloud.wait_announced(self.fip.address, 'gw1', base.SETTLE)
        self.name = 'gw2'
        self.node = self.cloud[self.name]
        self.took = []
        self.addCleanup(self.note_times)
        self.agent = self.cloud.agents[self.name]

    def note_times(self):
        if self.took:
            base.note(f'doctor took {min(self.took):.1f} to '
                      f'{max(self.took):.1f} s, {len(self.took):d} times')

    def doctor(self, name=None):
        """dict of check to (verdict, evidence) without those that pass."""
        begin = time.monotonic()
        done = self.cloud.agents[name or self.name].ctl(
            'doctor', '--json', check=False)
        self.took.append(time.monotonic() - begin)
        said = json.loads(done.stdout)
        self.assertEqual(1 if said['failed'] else 0, done.returncode,
                         done.stderr)
        return {one['check']: (one['verdict'], one['evidence'])
                for one in said['findings'] if one['verdict'] != 'PASS'}

    def failed(self):
        """dict of the checks that fail to their evidence."""
        return {name: evidence for name, (verdict, evidence)
                in self.doctor().items() if verdict == 'FAIL'}

    def test_all_is_well(self):
        """The owner and the standby; no check is left out by a failure."""
        for name in self.cloud.gateways:
            found = self.doctor(name)
            self.assertEqual(
                {'tls-files', 'file-access', 'helper-commands',
                 'local-destinations', 'ct-zone'}, set(found), found)
            self.assertEqual({'NOT CHECKED'},
                             {verdict for verdict, _why in found.values()})

    def test_each_fault_has_its_name(self):
        wrong = {}
        for check, fault in self.faults():
            with fault:
                found = self.failed()
            if set(found) != {check}:
                wrong[check] = found
                base.note(f'{check}: {found}')
        self.assertEqual({}, wrong)
        nodes.wait_until('everything passes again',
                         lambda: not self.failed(), _AT_LAST)

    # -- the faults -------------------------------------------------------

    def faults(self):
        """(name of the check, context in which its layer is broken)."""
        yield 'rp-filter', self.sysctls(
            **{'all/rp_filter': 1, f'{plan.BRIDGE}/rp_filter': 1})
        yield 'ip-forward', self.sysctls(**{f'{plan.VRF}/forwarding': 0})
        yield 'l3mdev-rule', self.without_rule()
        yield 'routing-tables', self.commands(
            'ip route add unreachable default table 200 metric 5000',
            'ip route del unreachable default table 200 metric 5000')
        yield 'single-agent', self.second()
        yield 'agent', self.frozen()
        yield 'configuration', self.configured('DEFAULT', 'drivers', 'nobody')
        yield 'nb-database', self.configured(
            'ovn', 'ovn_nb_remote', f'tcp:{plan.HOSTS["central"]}:1')
        yield from self._of_ovn()
        yield from self._of_frr()

    def _of_ovn(self):
        yield 'ovn-controller', self.commands(
            'ovn-appctl -t ovn-controller debug/pause',
            'ovn-appctl -t ovn-controller debug/resume')
        options = 'external_ids:ovn-cms-options'
        yield 'gateway-chassis', self.commands(
            f'ovs-vsctl set Open_vSwitch . {options}=none',
            f'ovs-vsctl set Open_vSwitch . {options}=enable-chassis-as-gw')

    def _of_frr(self):
        bgp = (f'router bgp {plan.GATEWAY_AS[self.name]} vrf {plan.VRF}',
               'address-family ipv4 unicast')
        yield 'bgp-redistribution', self.routing(
            [*bgp, 'no redistribute static'], [*bgp, 'redistribute static'])
        yield 'frr-daemons', self.without('staticd')
        yield 'vrf-default-route', self.without_default()

    @contextlib.contextmanager
    def commands(self, breaks, repairs):
        self.node.out(*breaks.split())
        try:
            yield
        finally:
            self.node.out(*repairs.split())

    @contextlib.contextmanager
    def sysctls(self, **values):
        """Other values of net.ipv4.conf, by their path there."""
        before = {path: self.node.out('cat', _CONF + path).strip()
                  for path in values}
        self.write(values)
        try:
            yield
        finally:
            self.write(before)

    def write(self, values):
        for path, value in values.items():
            self.node.out('sh', '-c', f'echo {value} > {_CONF}{path}')

    @contextlib.contextmanager
    def second(self):
        """A process that looks like another agent, as the original does."""
        process = self.node.popen(
            ['bash', '-c', 'exec -a ovn-network-agent sleep 600'])
        try:
            nodes.wait_until('it has its name', lambda: self.named(process),
                             base.SETTLE)
            yield
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def named(process):
        with open(f'/proc/{process.pid}/cmdline', 'rb') as opened:
            return opened.read().startswith(b'ovn-network-agent\0')

    @contextlib.contextmanager
    def frozen(self):
        self.agent.freeze()
        try:
            yield
        finally:
            self.agent.thaw()

    @contextlib.contextmanager
    def configured(self, group, option, value):
        """Another value in the file, which the running agent has read."""
        before = self.node.read(agents.CONFIG)
        self.node.write(agents.CONFIG, before +
                        f'\n[{group}]\n{option} = {value}\n')
        try:
            yield
        finally:
            self.node.write(agents.CONFIG, before)

    @staticmethod
    def vtysh(node, lines):
        node.out('vtysh', *(
            word for line in ['configure terminal', *lines]
            for word in ('-c', line)))

    @contextlib.contextmanager
    def routing(self, breaks, repairs, node=None):
        """Lines of FRR's configuration, on gw2 or another node."""
        self.vtysh(node or self.node, breaks)
        try:
            yield
        finally:
            self.vtysh(node or self.node, repairs)

    @contextlib.contextmanager
    def without(self, daemon):
        self.node.stop(daemon)
        try:
            yield
        finally:
            frr.start_daemon(self.node, daemon)
            frr.wait_for(self.node, daemon)

    @contextlib.contextmanager
    def without_default(self):
        """The fabric sends no default route any more."""
        default = f'neighbor {plan.UPLINKS[self.name][1]} default-originate'
        bgp = f'router bgp {plan.SPINE_AS}', 'address-family ipv4 unicast'
        with self.routing([*bgp, 'no ' + default], [*bgp, default],
                          node=self.cloud['spine']):
            self.wait_default(False)
            yield
        self.wait_default(True)

    @contextlib.contextmanager
    def without_rule(self):
        """BGP loses its way to the neighbour, and comes back."""
        with self.commands('ip rule del pref 1000',
                           'ip rule add pref 1000 l3mdev protocol kernel'):
            yield
        self.wait_session()

    def wait_session(self):
        nodes.wait_until('BGP is up', lambda: 'Established' in self.node.out(
            'vtysh', '-c', f'show bgp vrf {plan.VRF} neighbors'), _AT_LAST)

    def wait_default(self, there):
        """Wait until the VRF has a default route, or none, from BGP."""
        nodes.wait_until(
            f'a default route: {there}', lambda: there == bool(self.node.out(
                'ip', '-4', 'route', 'show', 'table', base.VRF_TABLE,
                'proto', 'bgp', 'default').strip()), _AT_LAST)


if __name__ == '__main__':
    unittest.main()
