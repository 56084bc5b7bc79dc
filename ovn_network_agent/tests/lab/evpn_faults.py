# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""EVPN when programs die and objects are deleted; of test_evpn.py."""

import signal
import time

from lab import frr
from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import vni_neighbours
from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import evpn_cloud

# Seconds until a black hole is seen for sure, and mended.
_HOLE = 60
# One more address of a node, which the fabric has no route to.
OTHER = '192.0.2.99'


class Faults:
    """Mix-in for :class:`evpn_cloud.EvpnTestCase`."""

    # -- programs that die ------------------------------------------------

    def test_kill_and_restart_of_the_agent(self):
        """What changed meanwhile is taken in, and nothing is lost."""
        agent, vm = self.cloud.agents['gw1'], self.machines['green'][0]
        with self.nothing_lost(*self.each('red', 'blue')):
            agent.kill()
            self.cloud.unplug(vm, 'gw1')
            since = self.mark('gw1')
            agent.start()
            agent.wait_ready()
            self.wait_none_left('gw1', self.green.vni, self.green.network)
            changes = self.changes('gw1', since)
            self.cloud.replug(vm, 'gw1')
            self.settled()
        green = (str(self.green.vni), self.veth(self.green),
                 plan.FURTHER_BRIDGE)
        self.assertEqual([], [change for change in changes
                              if not any(word in change for word in green)])

    def test_kill_and_restart_of_frr(self):
        """It starts without the agent's lines; the other node goes on."""
        node, (here, there) = self.cloud['gw2'], self.machines['red']
        with self.nothing_lost((self.red, here)):
            frr.stop(node, signal.SIGKILL)
            self.wait_served(self.red.vni, there.port.address)
            frr.start(node, node.read('/etc/frr/frr.conf'))
            self.settled()
        self.reach_hosts()

    def test_a_black_hole(self):
        """It arose while the agent was dead, or hung."""
        agent = self.cloud.agents['gw1']
        for tenant, leave, back in ((self.red, agent.kill, self.restart),
                                    (self.blue, agent.freeze, agent.thaw)):
            vni, since = tenant.vni, self.mark('gw1')
            bridge, vrf = evpn_names.bridge(vni), evpn_names.vrf(vni)
            leave()
            self.cloud['gw1'].batch(f'link set {bridge} nomaster\n'
                                    f'link set {bridge} master {vrf}\n')
            nodes.wait_until('no neighbour is left', lambda: any(
                hop.lacks for hop in self.hops(vni)), base.SETTLE)
            back()
            began = time.monotonic()
            self.wait_said('gw1', f'VNI {vni:d} has routes to', since, _HOLE)
            nodes.wait_until('all neighbours are there', lambda: (
                (found := self.hops(vni)) and
                not any(hop.lacks for hop in found)), _HOLE)
            base.note(f'mended after {time.monotonic() - began:.1f} s')
            self.settled()
            self.reach_hosts()
            self.reach_far_machines()

    def restart(self):
        agent = self.cloud.agents['gw1']
        agent.start()
        agent.wait_ready()

    def hops(self, vni, name='gw1'):
        """The next hops of a VNI on a node, a list."""
        return [hop for hop in self.cloud[name].call(vni_neighbours.read_all)
                if hop.vni == vni]

    # -- the address of the tunnels ---------------------------------------

    def test_the_address_of_the_tunnels(self):
        """Without one, all stays as it is; another one counts."""
        node, vni = self.cloud['gw2'], self.red.vni
        first, whole = plan.LOOPBACKS['gw2'], self.running('gw2')

        def tunnel():
            return node.out('ip', '-d', 'link', 'show', evpn_names.vxlan(vni))

        self.addCleanup(node.batch,
                        f'addr replace {first}/32 dev loopback1\n')
        index, since = tunnel().partition(':')[0], self.mark('gw2')
        node.batch(f'addr del {first}/32 dev loopback1\n')
        self.cloud.agents['gw2'].ctl('resync')
        self.assertEqual(index, tunnel().partition(':')[0])
        self.assertEqual([], self.changes('gw2', since))
        node.batch(f'addr add {OTHER}/32 dev loopback1\n')
        nodes.wait_until('the tunnels come from the new address', lambda: (
            f'local {OTHER} ' in tunnel() and
            f'rd {OTHER}:{vni}' in self.running('gw2')), base.SETTLE)
        node.batch(f'addr del {OTHER}/32 dev loopback1\n'
                   f'addr add {first}/32 dev loopback1\n')
        nodes.wait_until('all is as before', lambda: (
            self.running('gw2') == whole), base.SETTLE)
        self.settled()
        self.reach_hosts()
        self.reach_far_machines()

    # -- what somebody deletes or has -------------------------------------

    def test_deleted_objects(self):
        """They are back at once, and so is the traffic."""
        tenant, vm = self.red, self.machines['red'][0]
        vni, node, veth = tenant.vni, self.cloud['gw1'], self.veth(tenant)
        vxlan, port = evpn_names.vxlan(vni), evpn_names.bridge_end(veth)
        instance = f'router bgp {plan.GATEWAY_AS["gw1"]} vrf vrf-{vni}'
        whole = self.running('gw1')
        for argv, there in (
                (['ip', 'link', 'del', vxlan],
                 lambda: vxlan in self.left('gw1', vni)),
                (['ip', 'link', 'del', veth],
                 lambda: veth in self.left('gw1', vni, tenant.network)),
                (['ovs-vsctl', 'del-port', port], lambda: node.run(
                    ['ovs-vsctl', 'port-to-br', port],
                    check=False).stdout.strip() == plan.BRIDGE),
                (vtysh(f'vrf vrf-{vni}', f'no vni {vni}'),
                 lambda: self.running('gw1') == whole),
                (vtysh(instance, 'address-family l2vpn evpn',
                       'no advertise ipv4 unicast'),
                 lambda: self.running('gw1') == whole)):
            self.assertTrue(there(), argv)
            node.run(argv)
            began = time.monotonic()
            nodes.wait_until(f'{argv} is undone', there, evpn_cloud.SOON)
            base.note(f'{" ".join(argv)}: undone after '
                      f'{time.monotonic() - began:.2f} s')
            self.settled()
            self.reach_hosts((tenant, vm))

    def test_a_device_of_the_operator(self):
        """It has the name of ours: it stays, and is named."""
        tenant, node = self.green, self.cloud['gw1']
        vm, other = self.machines['green']
        name = evpn_names.vxlan(tenant.vni)
        with self.nothing_lost():
            self.set_vnis((tenant, 0))
            self.wait_none_left('gw1', tenant.vni, tenant.network)
            node.batch(f'link add {name} type dummy\n')
            before = node.out('ip', '-d', 'link', 'show', name)
            since = self.mark('gw1')
            self.set_vnis((tenant, tenant.vni))
            self.wait_said('gw1', name, since)
            self.wait_served(tenant.vni, other.port.address, 'gw2')
            self.assertEqual(before,
                             node.out('ip', '-d', 'link', 'show', name))
            node.batch(f'link del {name}\n')
            self.settled()
        self.reach_hosts((tenant, vm))

    def test_a_stop_leaves_nothing(self):
        """No object, and the running configuration as before; all comes back.
        """
        with self.stopped():
            pass
        self.settled()
        self.reach_hosts()

    def test_another_configuration_after_a_kill(self):
        """The tables of another range are empty; without the driver, all is.
        """
        agent, node = self.cloud.agents['gw1'], self.cloud['gw1']
        former, drivers = dict(agent.config['evpn']), agent.config[
            'DEFAULT']['drivers']
        table = evpn_names.table(ownership.EVPN_TABLES.start, self.red.vni)
        agent.kill()
        try:
            agent.config['evpn']['table_base'] = '20000000'
            self.restart()
            self.settled()
            self.reach_hosts()
            for family in '-4', '-6':
                self.assertNotIn(f'table {table:d} ', node.out(
                    'ip', family, 'route', 'show', 'table', 'all') + ' ')
            agent.kill()
            # Others would have the routers in the underlay.
            agent.config['DEFAULT']['drivers'] = 'gateway_drain,port_forward'
            self.restart()
            for tenant in self.tenants:
                self.wait_none_left('gw1', tenant.vni, tenant.network)
            self.assertEqual(self.frr_before, self.running('gw1'))
        finally:
            agent.stop()
            agent.config['evpn'] = former
            agent.config['DEFAULT']['drivers'] = drivers
            self.restart()
        self.settled()
        self.reach_hosts()


def vtysh(*lines):
    """argv that gives FRR lines of configuration."""
    return ['vtysh', *(word for line in ('configure terminal', *lines)
                       for word in ('-c', line))]
