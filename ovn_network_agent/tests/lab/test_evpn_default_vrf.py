# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""EVPN with the tunnels and the operator's BGP in the default VRF."""

import json
import re

from lab import echo
from lab import frr
from lab import node as nodes
from lab import plan
from ovn_network_agent.model import evpn_names
from ovn_network_agent.tests import http_get
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import dry_runs
from ovn_network_agent.tests.lab import evpn
from ovn_network_agent.tests.lab import evpn_cloud
from ovn_network_agent.tests.lab import evpn_faults
from ovn_network_agent.tests.lab import evpn_tenants

PORT = 9132
# Kinds of resources that a VNI has, and no other driver here.
OF_A_VNI = {'vni_devices', 'vni_port', 'vni_rule', 'vni_route',
            'evpn_instance', 'router_advertisement'}
_GAUGE = re.compile(
    r'^ovn_network_agent_vnis_(desired|installed)\{part="(\w+)"\} (\d+)',
    re.MULTILINE)


class TestEvpnDefaultVrf(evpn_tenants.Tenants, dry_runs.DryRuns,
                         evpn_cloud.EvpnTestCase):
    """Tenant red has a second network, with a machine on gw2."""

    VRF = False
    CONFIG = {**evpn_cloud.EvpnTestCase.CONFIG,
              'metrics': {'listen': f'127.0.0.1:{PORT:d}'}}

    @classmethod
    def add_more(cls):
        cls.second = evpn.add_network(
            cls.cloud, cls.red, 'red2', evpn.FURTHER, plan.PHYSICAL_NETWORK,
            203)
        cls.further = cls.cloud.add_vm(cls.second.network, 'gw2')
        echo.start(cls.further.node, cls.red.port)

    def test_two_networks_of_a_vni(self):
        """In one VRF: reached from outside, from the same and another node."""
        address, port = self.further.port.address, self.red.port
        self._reach([
            (self.red.host, plan.CLIENT, address, port),
            (self.further.node, address, plan.CLIENT, port),
            *(ends for vm in self.machines['red'] for ends in (
                (vm.node, vm.port.address, address, port),
                (self.further.node, address, vm.port.address, port)))])

    def test_a_stop_leaves_nothing(self):
        """So a dry run has all of a VNI to make, and makes nothing."""
        with self.stopped():
            steps = self.dry_run('gw1')
        self.assertEqual(set(), OF_A_VNI - {
            kind for verb, kind, *_more in map(str.split, steps)
            if verb == 'created'})
        for tenant in self.tenants:
            self.assertTrue(any(
                evpn_names.vrf(tenant.vni) in step for step in steps), steps)
        self.settled()
        self.reach_hosts()

    def test_a_dry_run_beside_the_agent(self):
        """All is there, which the metrics say, too."""
        self.assertEqual([], self.dry_run('gw1'))
        self.assertEqual({
            (kind, part): len(self.tenants)
            for kind in ('desired', 'installed')
            for part in ('devices', 'frr')}, self.gauges())

    def gauges(self):
        """(kind, part) of the metrics about VNIs: number, a dict."""
        _status, text = self.cloud['gw1'].call(
            http_get.get, '127.0.0.1', PORT, '/metrics')
        return {(kind, part): int(number)
                for kind, part, number in _GAUGE.findall(text)}

    def test_the_operator_writes_frr(self):
        """With manage_frr = false: nothing is announced in other VNIs."""
        node, tenant, vm = self.cloud['gw1'], self.red, self.machines['red'][0]
        asn, vni = plan.GATEWAY_AS['gw1'], tenant.vni
        with self.stopped() as agent:
            agent.config['evpn']['manage_frr'] = 'false'
        try:
            self.assertNotIn('vrf-', self.running('gw1'))
            frr.load(node, evpn.instance(vni, asn, plan.LOOPBACKS['gw1'],
                                         'kernel'))
            for address in evpn.addresses(vm):
                self.wait_served(vni, address, 'gw1')
            self.reach_hosts((tenant, vm))
            self.assertEqual([], json.loads(agent.ctl(
                'plan', '--json').stdout)['steps'])
            self.assertEqual(
                [], self.served(self.blue.vni, vm.port.address))
            self.assertEqual({('desired', 'devices'): len(self.tenants),
                              ('installed', 'devices'): len(self.tenants)}, {
                                  key: number for key, number
                                  in self.gauges().items() if number})
        finally:
            node.run(evpn_faults.vtysh(f'vrf vrf-{vni}', f'no vni {vni}'))
            # FRR 10 refuses it for a while.
            nodes.wait_until('the instance is gone', lambda: not node.run(
                evpn_faults.vtysh(f'no router bgp {asn} vrf vrf-{vni}'),
                check=False).returncode, base.SETTLE)
            agent.stop()
            del agent.config['evpn']['manage_frr']
            agent.start()
            agent.wait_ready()
        self.settled()
        self.reach_hosts()
