# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A link that joins the client to the provider bridge of every gateway.

Each packet that OVN sends to the provider network on any gateway reaches the
client.  Each packet of the client reaches OVN on every gateway.  A move
changes nothing on this link: there is no agent, no route and no BGP.
"""

import subprocess

from lab import node as nodes
from lab import northbound
from lab import plan

ADDRESS = '198.51.100.200'
MAC = '02:00:00:00:00:99'
_PORT = 'everywhere'


def connect(cloud, router):
    """Connect the link, and let a router know the client."""
    client = cloud['client']
    client.batch(f'link add hub address {MAC} type bridge forward_delay 0\n'
                 'link set hub up\n'
                 f'addr add {ADDRESS}/{plan.PROVIDER.prefixlen:d} dev hub\n')
    for name in cloud.gateways:
        subprocess.run(
            ['ip', 'link', 'add', 'to-' + name, 'netns', str(client.pid),
             'type', 'veth', 'peer', 'name', _PORT, 'netns',
             str(cloud[name].pid)], check=True)
        client.batch(f'link set to-{name} master hub\nlink set to-{name} up\n')
        # Frames go to all gateways, but not from one gateway to another.
        client.run(['bridge', 'link', 'set', 'dev', 'to-' + name, 'learning',
                    'off', 'isolated', 'on'])
        cloud[name].batch(f'link set {_PORT} up\n')
        _join(cloud[name])
    cloud.nb.transact(lambda txn, tables: northbound.insert(
        txn, tables, 'Static_MAC_Binding', logical_port=router.lrp,
        ip=ADDRESS, mac=MAC, override_dynamic_mac=True))


def know(cloud, router, address):
    """Set the MAC of a router's address on the client, without ARP."""
    cloud['client'].batch(f'neigh replace {address} lladdr {router.mac} '
                          'dev hub\n')


def _join(node):
    """Join only the link and OVN on the provider bridge."""
    node.run(['ovs-vsctl', 'add-port', plan.BRIDGE, _PORT])
    ports = [nodes.wait_until(f'{node.name}: {what}', find) for
             what, find in (('the wire', lambda: _number(node, _PORT)),
                            ('OVN', lambda: _number(node, _patch(node))))]
    node.run(['ovs-ofctl', 'del-flows', plan.BRIDGE])
    for here, there in (ports, ports[::-1]):
        node.run(['ovs-ofctl', 'add-flow', plan.BRIDGE,
                  f'in_port={here:d},actions=output:{there:d}'])


def _patch(node):
    return next((name for name in node.out(
        'ovs-vsctl', 'list-ports', plan.BRIDGE).split()
        if name.startswith('patch-')), '')


def _number(node, name):
    """OpenFlow port number, 0 while there is none."""
    found = node.out('ovs-vsctl', '--if-exists', 'get', 'interface', name,
                     'ofport').strip() if name else ''
    return int(found) if found.isdigit() else 0
