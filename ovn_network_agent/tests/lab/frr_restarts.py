# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Restarts of FRR as a whole, also graceful ones."""

import json
import signal

from lab import families
from lab import frr
from lab import node as nodes
from lab import plan
from ovn_network_agent.tests.lab import base


class Restarts:
    """Mix-in for a LabTestCase."""

    def prepare_graceful(self, name):
        """Have graceful restart on a node, as a page has it, and saved.

        It has a VRF and the family IPv6.
        """
        peers = plan.UPLINKS[name][1], plan.uplink6(name)[1]
        # This saves the prefix list of the agent, too.
        frr.add(self.cloud[name],
                f'router bgp {plan.GATEWAY_AS[name]:d} vrf {plan.VRF}\n'
                ' bgp graceful-restart\n'
                ' bgp graceful-restart preserve-fw-state\n'
                ' coalesce-time 3000\nexit\n')
        # The sessions take it at their start.
        before = [self._sessions(peer) for peer in peers]
        self.cloud[name].run(['vtysh', '-c', f'clear bgp vrf {plan.VRF} *'])
        nodes.wait_until('the restart of the sessions is over', lambda: (
            all(self._sessions(peer) > count
                for peer, count in zip(peers, before, strict=True)) and
            'End-of-RIB received: Yes' in frr.ask(
                self.cloud['spine'], 'bgpd',
                f'show bgp ipv6 neighbors {peers[1]} graceful-restart')))

    def _sessions(self, peer):
        """How many sessions the spine has had with a peer."""
        return json.loads(frr.ask(
            self.cloud['spine'], 'bgpd', f'show bgp neighbors {peer} json'))[
                peer]['connectionsEstablished']

    def restart_frr(self, name, *addresses):
        """Kill the daemons, start them, and wait for their announcements."""
        node = self.cloud[name]
        frr.stop(node, signal.SIGKILL)
        frr.start(node, node.read('/etc/frr/frr.conf'), ('-K', '60'))
        for address in addresses:
            nodes.wait_until(f'{address} is learned anew',
                             lambda a=address: self.learned(a),
                             2 * base.SETTLE)

    def learned(self, address):
        """Whether the spine has a path, and none from before a restart."""
        family = families.of(address)
        paths = json.loads(frr.ask(
            self.cloud['spine'], 'bgpd', f'show bgp {family.afi} unicast '
            f'{family.prefix(address)} json')).get('paths', ())
        return bool(paths) and not any(path.get('stale') for path in paths)
