# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Two gateways that reach each other, each with an Open vSwitch of its own.

User-space data paths in network namespaces: br-ex, the provider bridge, with
a patch to br-int as ovn-controller makes it; a tunnel of OVN on br-int; and
br-phy with the address of the tunnels.
"""

import subprocess

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.backends import switch_ports
from ovn_network_agent.common import trigger
from ovn_network_agent.ovn import events
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.openflow import base
from ovn_network_agent.tests.unit import world

BRIDGE = base.BRIDGE
PATCH = 'patch-provnet'
# OVN's tunnel to the other gateway.
OVN = 'ovn-other-0'


def address(number):
    """Address of the tunnels of a gateway."""
    return f'192.0.2.{number}'


class Gateway(base.OpenVSwitch):
    """One gateway.

    :param number: 1 or 2
    """

    def __init__(self, number):
        super().__init__()
        self.number = number
        # The kernel's own packets would be counted.
        self.netns('sysctl', '-q', 'net.ipv6.conf.all.disable_ipv6=1')
        other = address(3 - number)
        self.vsctl(
            '--no-wait',
            '--', 'add-br', 'br-int', '--', 'set', 'bridge', 'br-int',
            'datapath_type=netdev', 'fail_mode=secure',
            '--', 'add-br', 'br-phy', '--', 'set', 'bridge', 'br-phy',
            'datapath_type=netdev',
            '--', 'add-port', BRIDGE, PATCH, '--', 'set', 'interface', PATCH,
            'type=patch', 'options:peer=patch-br-int',
            '--', 'add-port', 'br-int', 'patch-br-int',
            '--', 'set', 'interface', 'patch-br-int', 'type=patch',
            'options:peer=' + PATCH,
            '--', 'add-port', 'br-int', OVN, '--', 'set', 'interface', OVN,
            'type=geneve', 'options:remote_ip=' + other, 'options:key=flow',
            'options:csum=true')

    def connect(self, other):
        """A cable to the other gateway."""
        here, there = f'eth{self.number:d}', f'eth{other.number:d}'
        self.netns('ip', 'link', 'add', here, 'type', 'veth', 'peer', 'name',
                   there, 'netns', str(other.pid))
        for gateway, name in ((self, here), (other, there)):
            gateway.netns('ip', 'link', 'set', name, 'up')
            gateway.vsctl('add-port', 'br-phy', name)
            gateway.netns('ip', 'link', 'set', 'br-phy', 'up')
            gateway.netns('ip', 'address', 'add',
                          address(gateway.number) + '/24', 'dev', 'br-phy')
            gateway.netns('ip', 'link', 'set', BRIDGE, 'up')

    def netns(self, *argv):
        """Run a program in the network namespace."""
        return subprocess.run(
            namespaces.inside(self.pid, *argv), check=True,
            capture_output=True, text=True).stdout

    def port(self, name):
        """OpenFlow port number, 0 when there is none."""
        found = self.vsctl('--if-exists', 'get', 'interface', name,
                           'ofport').strip()
        return int(found) if found.isdigit() else 0

    def send(self, bridge, in_port, packet, actions='TABLE'):
        """A packet that comes in at a port of a bridge."""
        self.ofctl(
            'packet-out', bridge,
            f'in_port={in_port},packet={packet.hex()},actions={actions}')

    def sent(self, bridge, port):
        """Number of packets that left a bridge through a port."""
        return self._counted(bridge, port, 'tx')

    def received(self, bridge, port):
        """Number of packets that came into a bridge through a port."""
        return self._counted(bridge, port, 'rx')

    def _counted(self, bridge, port, which):
        # What flows of the data path have seen is added up by this.
        self.appctl('revalidator/purge')
        shown = self.ofctl('dump-ports', bridge, port)
        return int(shown.partition(which + ' pkts=')[2].partition(',')[0])


class LocalDatabase:
    """The agent's connection to the database of an Open vSwitch."""

    def __init__(self, remote):
        self.trigger = trigger.Trigger(0)
        self._handler = replica.Handler()
        self.database = connection.Database('ovs', remote, self._handler, 10,
                                            60000)
        for watch in events.VIEW:
            if watch.database == 'ovs':
                self.database.require(watch.table, watch.columns)
                self._handler.watch_event(events.WakeEvent(
                    'view', watch, self.trigger))
        for name, table, clauses in events.CONDITIONS:
            if name == 'ovs':
                self.database.only(table, clauses)
        self.database.start()

    def stop(self):
        self.database.stop()
        self._handler.stop()

    def wiring(self):
        """:class:`model.node.Wiring` as it is now."""
        with self.database.rows() as ovs:
            return wiring.read(ovs, ())

    def has_bridge(self, name):
        """Whether the replica has a bridge, a moment after its server."""
        with self.database.rows() as ovs:
            return any(row.name == name for row in ovs['Bridge'].values())

    def backend(self, timeout=10):
        """A relay_port backend that works on it."""
        made = switch_ports.RelayPortBackend(world.conf(
            bridge_dev=BRIDGE, ovn__transaction_timeout=timeout))
        made.attach(backends.Context({'ovs': self.database}, lambda: 'gw1'))
        return made


def relay(remote=address(2), encap='geneve', bridge=BRIDGE, name=None):
    """A relay as it is wanted."""
    return resources.RelayPort(bridge, name or ownership.relay_name(remote),
                               remote, encap)

