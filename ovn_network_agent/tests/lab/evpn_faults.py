# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""EVPN when programs die and objects are deleted; of test_evpn.py."""

import signal

from lab import frr
from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.model import evpn_names
from ovn_network_agent.netlink.objects import vni_links
from ovn_network_agent.tests.lab import base

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

    def restart(self):
        agent = self.cloud.agents['gw1']
        agent.start()
        agent.wait_ready()

    def hops(self, vni, name='gw1'):
        """The next hops of a VNI on a node, a list."""
        return [hop for hop in self.cloud[name].call(vni_links.read_next_hops)
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

    # -- what somebody deletes or has -------------------------------------


def vtysh(*lines):
    """argv that gives FRR lines of configuration."""
    return ['vtysh', *(word for line in ('configure terminal', *lines)
                       for word in ('-c', line))]
