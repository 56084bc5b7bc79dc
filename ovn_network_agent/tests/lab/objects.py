# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What tests of the lab see of an agent: its node, the spine and NB."""

import re

from lab import families
from lab import frr
from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership

# Seconds in which OVN, the agent and BGP have to agree again.
SETTLE = 20
VRF_TABLE = str(plan.VRF_TABLE)
_FLOW = re.compile(r'cookie=(\w+), duration=([\d.]+)s, .*?n_packets=(\d+)')


class Objects:
    """Mix-in for a test case with ``cloud`` and ``family``."""

    # -- what is on a node ------------------------------------------------

    def flows(self, name, cookie=None):
        """Flows of the agent's cookies on the provider bridge.

        :returns: dict of the flow's text to (packets, seconds old)
        """
        cookies = [cookie] if cookie else ownership.FLOW_COOKIES
        found = {}
        for line in self.cloud[name].out(
                'ovs-ofctl', 'dump-flows', plan.BRIDGE).splitlines():
            match = _FLOW.search(line)
            if match and int(match[1], 16) in cookies:
                text = re.search(r'priority=.*', line)[0]
                found[text] = (int(match[3]), float(match[2]))
        return found

    def hairpin(self, name, address):
        """(packets, seconds old) of the hairpin flow, or None."""
        return _of_address(self.flows(name, ownership.COOKIE_HAIRPIN),
                           address)

    def kernel_routes(self, name, table='main'):
        """Destinations of the routes of our protocol, a set."""
        out = self.cloud[name].out(
            'ip', self.family.option, 'route', 'show', 'table', table,
            'proto', str(ownership.ROUTE_PROTOCOL))
        return {line.split()[0] for line in out.splitlines()}

    def statics(self, name):
        """Static routes in the configuration of FRR, a set of lines."""
        out = frr.ask(self.cloud[name], frr.STATIC, 'show running-config')
        return {line.strip() for line in out.splitlines()
                if line.strip().startswith(f'{self.family.frr} route ')}

    def methods(self, name, address):
        """Announce methods by which a gateway has an address: a set."""
        words = f'{self.family.frr} route {self.family.prefix(address)} '
        return {method for method, there in (
            ('static', any(line.startswith(words)
                           for line in self.statics(name))),
            ('kernel', address in self.kernel_routes(name, VRF_TABLE)))
            if there}

    def traces(self, name, *addresses):
        """Every place on a gateway where addresses are ours.

        :returns: dict of address to set of 'route', 'flow', 'announced'
        """
        routes = self.kernel_routes(name)
        flows = self.flows(name, ownership.COOKIE_HAIRPIN)
        announced = (self.kernel_routes(name, VRF_TABLE)
                     if self.cloud.VRF else routes)
        statics = self.statics(name)
        return {address: {place for place, there in (
            ('route', address in routes),
            ('flow', _of_address(flows, address)),
            ('announced', address in announced or any(
                line.startswith(f'{self.family.frr} route '
                                f'{self.family.prefix(address)} ')
                for line in statics)))
            if there} for address in addresses}

    def assert_served(self, name, *addresses):
        """All of our objects for the addresses are there, at once."""
        self.assertEqual(
            {a: {'route', 'flow', 'announced'} for a in addresses},
            self.traces(name, *addresses), name)

    def wait_gone(self, name, *addresses):
        """Wait until nothing for the addresses is on a gateway."""
        nodes.wait_until(
            lambda: f'{name} has nothing of them any more: '
                    f'{self.traces(name, *addresses)}',
            lambda: not any(self.traces(name, *addresses).values()),
            SETTLE)

    def hops(self, address):
        """Next hops that the spine's BGP has for an IPv4 address."""
        return self.cloud.bgp_table().get(f'{address}/32', [])

    def transmitted(self, name, device):
        """Packets that a device of a node has sent so far."""
        # /proc/PID/net is that of the process.
        with open(f'/proc/{self.cloud[name].pid}/net/dev',
                  encoding='ascii') as opened:
            for line in opened:
                if line.strip().startswith(device + ':'):
                    return int(line.partition(':')[2].split()[9])
        raise LookupError(device)

    def mac(self, name, device=plan.BRIDGE):
        """MAC of a device of a node."""
        return self.cloud[name].out(
            'cat', f'/sys/class/net/{device}/address').strip()

    # -- what is in NB ----------------------------------------------------

    def default_route(self, router):
        """(chassis tag, next hop) of our default route, or None."""
        return self.tagged_route(router, lambda row: row.nexthop)

    def tagged_route(self, router, read):
        """(name of the node in the mark, value) of our default route, or None.

        :param read: function(row) that returns the value
        """
        default = families.of(router.address).default
        with self.cloud.nb.connection.lock:
            for row in self.cloud.nb.idl.tables[
                    'Logical_Router_Static_Route'].rows.values():
                if (row.output_port == [router.lrp] and
                        row.ip_prefix == default and
                        ownership.is_managed(row.external_ids)):
                    owner = ownership.owner(row.external_ids)
                    # An earlier agent writes the host name alone.
                    name = (plan.node_of(owner.chassis) if owner.chassis
                            else owner.hostname)
                    return name, read(row)
        return None

    def mac_binding(self, router):
        """MAC that the virtual gateway of a router has in NB, or None."""
        row = self.cloud.nb.find('Static_MAC_Binding',
                                 logical_port=router.lrp,
                                 ip=families.of(
                                     router.address).virtual_gateway)
        return row.mac if row else None


def _of_address(flows, address):
    """The values of the flow to an address, or None."""
    for text, values in flows.items():
        if f'{families.of(address).field}={address} ' in text:
            return values
    return None
