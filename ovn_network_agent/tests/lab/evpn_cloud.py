# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The cloud of test_evpn.py: tenants with the same addresses, and a PE.

The responders of a tenant have a port of their own, and so an answer shows
that a packet came to the right one of those with its address.
"""

import contextlib
import itertools
import json

from lab import dump
from lab import families
from lab import frr
from lab import node as nodes
from lab import plan
from lab import probe
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import evpn

DRIVERS = 'fip_route,veth_leak,gateway_drain,port_forward,evpn'
# Seconds until all of a VNI is gone, or what somebody deleted is back.  Up to
# 1.7 s were measured, and 2.9 s on a busy processor.
SOON = 6
# Probes at a time.  Each program takes long to start; but on a busy machine
# the first ones leave no time for the last one of too many.
AT_ONCE = 8
# Machines that come and go, and the rule that the kernel makes with the first
# VRF of a node, and keeps.
_NOT_OURS = ('ip -br link: -tap', 'ip -br link: +tap',
             *(f'{command}: +1000:\tfrom all lookup [l3mdev-table]'
               for command in ('ip rule', 'ip -6 rule')))
# By name: VNI, physical network, VLAN.
TENANTS = {'red': (1001, plan.PHYSICAL_NETWORK, 201),
           'blue': (1002, plan.PHYSICAL_NETWORK, 202),
           'green': (1003, plan.FURTHER_NETWORK, 0)}


class EvpnTestCase(base.LabTestCase):
    """Each tenant has a machine on each node, and a host behind the PE."""

    FURTHER = True
    AGENTS = False
    CONFIG = {
        'DEFAULT': {
            'drivers': DRIVERS,
            'further_bridges': plan.FURTHER_BRIDGE,
            # Events alone have to do.
            'reconcile_interval': 3600},
        # What stays behind is tested, and not the drain.
        'gateway_drain': {'drain_on_shutdown': 'false'}}

    @classmethod
    def build(cls):
        cloud = cls.cloud
        evpn.connect(cloud)
        cls.tenants = evpn.add_tenants(cloud, TENANTS)
        cls.red, cls.blue, cls.green = cls.tenants
        # The node of each machine.
        cls.homes = {}
        cls.machines = {}
        for tenant in cls.tenants:
            pair = [evpn.add_machine(cloud, tenant, name)
                    for name in cloud.gateways]
            cls.machines[tenant.name] = pair
            cls.homes.update(zip(pair, cloud.gateways))
        cls.add_more()
        cls.before = cls.state('gw1')
        cls.frr_before = cls.running('gw1')
        for name in cloud.gateways:
            # Both ways to say where the tunnels come from.
            cloud.agent(name, {**cls.configuration(), 'evpn': {
                'local_device': 'loopback1'} if name == 'gw2' else {
                'local_ip': plan.LOOPBACKS[name]}})
        cloud.start_agents()

    @classmethod
    def add_more(cls):
        """Add what a class has beside machines, before the agents start."""

    def setUp(self):
        super().setUp()
        self.settled()

    def settled(self):
        """Wait until the PE has each machine at its node."""
        for tenant, vm in self.each():
            for address in evpn.addresses(vm):
                self.wait_served(tenant.vni, address, self.homes[vm])

    def each(self, *names):
        """(tenant, machine) of all machines, or of those tenants."""
        return [(tenant, vm) for tenant in self.tenants
                if not names or tenant.name in names
                for vm in self.machines[tenant.name]]

    # -- what FRR and the kernel have -------------------------------------

    @classmethod
    def running(cls, name, daemons=('zebra', 'bgpd')):
        """The running configuration of a node, text."""
        return ''.join(frr.ask(cls.cloud[name], daemon, 'show running-config')
                       for daemon in daemons)

    def served(self, vni, address):
        """Names of the nodes from which the PE has an address, sorted."""
        return self.paths(vni, families.of(address).prefix(address))

    def paths(self, vni, prefix):
        """Likewise of a prefix."""
        afi = families.of(prefix.partition('/')[0]).afi
        found = json.loads(frr.ask(
            self.cloud['spine'], 'bgpd',
            f'show bgp vrf vrf-{vni} {afi} unicast {prefix} json'))
        return sorted(path['peer']['hostname']
                      for path in found.get('paths', ()))

    def wait_served(self, vni, address, *names):
        nodes.wait_until(
            lambda: f'VNI {vni} has {address} from {names}: '
                    f'{self.served(vni, address)}',
            lambda: self.served(vni, address) == list(names), base.SETTLE)

    def left(self, name, vni, network=None):
        """What a node has of a VNI: devices, rules, and lines of FRR."""
        wanted = {evpn_names.vrf(vni), evpn_names.bridge(vni),
                  evpn_names.vxlan(vni)}
        if network is not None:
            uuid = self.uuid(network)
            wanted |= {evpn_names.vrf_end(uuid), evpn_names.bridge_end(
                evpn_names.vrf_end(uuid))}
        # /proc/PID/net is that of the process.
        with open(f'/proc/{self.cloud[name].pid}/net/dev',
                  encoding='ascii') as opened:
            devices = {line.partition(':')[0].strip() for line in opened}
        selected = {rule.iif for rule in self.cloud[name].call(rules.read_all)}
        return sorted(devices & wanted) + [
            f'rule of {device}' for device in sorted(selected & wanted)] + [
            line for line in self.running(name).splitlines()
            if set(line.split()) & wanted]

    def uuid(self, network):
        """UUID of the row of a network, text."""
        return str(self.cloud.nb.find('Logical_Switch',
                                      name=network.switch).uuid)

    def wait_none_left(self, name, vni, network=None, within=base.SETTLE):
        """Wait until a node has nothing of a VNI."""
        nodes.wait_until(
            lambda: f'{name} has nothing of VNI {vni}: '
                    f'{self.left(name, vni, network)}',
            lambda: not self.left(name, vni, network), within)

    @contextlib.contextmanager
    def stopped(self):
        """While the agent of gw1 does not run, and has left nothing.

        It starts with the configuration that it has then.
        """
        agent = self.cloud.agents['gw1']
        try:
            self.assertEqual(0, agent.stop())
            self.assertEqual([], [
                line for line in dump.difference(self.before,
                                                 self.state('gw1'))
                if not line.startswith(_NOT_OURS)])
            self.assertEqual(self.frr_before, self.running('gw1'))
            yield agent
        finally:
            agent.start()
            agent.wait_ready()

    def veth(self, tenant):
        """Name of the device of a tenant's network in its VRF."""
        return evpn_names.vrf_end(self.uuid(tenant.network))

    # -- traffic ----------------------------------------------------------

    def reach_hosts(self, *pairs):
        """Machines and their tenants' hosts reach each other, both families.

        :param pairs: (tenant, machine), all by default
        """
        self._reach([
            (*ends, tenant.port) for tenant, vm in pairs or self.each()
            for address, outside in zip(evpn.addresses(vm),
                                        (plan.CLIENT, plan.CLIENT6))
            for ends in ((tenant.host, outside, address),
                         (vm.node, address, outside))])

    def reach_far_machines(self):
        """The machines of each tenant reach each other, both families."""
        self._reach([
            (one.node, source, target, tenant.port)
            for tenant in self.tenants
            for one, other in itertools.permutations(
                self.machines[tenant.name])
            for source, target in zip(evpn.addresses(one),
                                      evpn.addresses(other))])

    def _reach(self, ways):
        """Probe in each of some ways.

        :param ways: list of (Node, its address, target, port)
        """
        for first in range(0, len(ways), AT_ONCE):
            self._reach_at_once(ways[first:first + AT_ONCE])

    def _reach_at_once(self, ways):
        with contextlib.ExitStack() as stack:
            running = [(source, stack.enter_context(probe.Probe(
                node, 'tcp', target, 0.05, port)))
                for node, source, target, port in ways]
            for _source, each in running:
                each.wait_answered(base.SETTLE, steady=probe.STEADY)
                each.halt()
            for source, each in running:
                self.assertEqual({source}, each.stop().seen_sources)

    @contextlib.contextmanager
    def nothing_lost(self, *pairs):
        """Probes from the hosts to machines: none may be lost.

        :param pairs: (tenant, machine), by default red on gw1; a busy
            processor makes all slower that is measured beside
        """
        pairs = pairs or ((self.red, self.machines['red'][0]),)
        with contextlib.ExitStack() as stack:
            running = [
                stack.enter_context(self.probing(
                    address, 'udp', tenant.host, tenant.port))
                for tenant, vm in pairs for address in evpn.addresses(vm)]
            yield
            for each in running:
                self.lossless(each)

    def probing(self, target, kind='icmp', node=None, port=0):
        return probe.Probe(node, kind, target, 0.02, port,
                           patience=base.SETTLE)

    # -- doing things ---------------------------------------------

    def set_vnis(self, *chosen):
        """VNIs of tenants' networks, until the end of the test.

        :param chosen: (tenant, VNI or 0)
        """
        neutron = self.cloud.neutron
        self.addCleanup(evpn.set_vnis, neutron, [
            (tenant.network, tenant.vni) for tenant in self.tenants])
        evpn.set_vnis(neutron, [(tenant.network, vni)
                                for tenant, vni in chosen])
