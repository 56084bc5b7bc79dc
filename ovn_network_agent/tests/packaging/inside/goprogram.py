# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A gateway of the lab as the original program, in Go, leaves one in place."""

import json

from lab import northbound
from lab import plan
from lab import routers
from ovn_network_agent.tests import original

YAML = '/etc/ovn-network-agent/config.yaml'
SETTINGS = f'''\
ovn_nb_remote: {plan.NB}
ovn_sb_remote: {plan.SB}
'''
_IN_PLACE = 'cleanup_on_shutdown: false\ndrain_on_shutdown: false\n'


def settle(cloud, name, router=None, fips=()):
    """Make the settings, and all that the original makes on a node.

    :param name: of the node
    :param router: its router, None on a standby
    :param fips: floating IPs of the router, as texts
    """
    node = cloud[name]
    node.write(YAML, SETTINGS + _IN_PLACE)
    mac = node.read(f'/sys/class/net/{plan.BRIDGE}/address').strip()
    layout = original.Layout(() if router is None else (original.Router(
        router.lrp, router.mac, f'{router.address}/{plan.PROVIDER.prefixlen}',
        tuple(fips)),), vrf=plan.VRF, vrf_table=plan.VRF_TABLE)
    for command in layout.kernel():
        node.run(['ip', *command.split()])
    for key, value in layout.sysctls():
        node.run(['sysctl', '-qw', f'{key}={value}'])
    _neighbours(node)
    for flow in layout.flows(_patch(cloud, node), mac):
        node.run(['ovs-ofctl', 'add-flow', plan.BRIDGE, flow])
    node.run(['vtysh', '-c', 'configure terminal', *(
        word for line in layout.frr() for word in ('-c', line))])
    for each in layout.routers:
        cloud.nb.transact(lambda txn, tables, each=each: _rows(
            txn, tables, router, each, layout.external_ids(name), mac))


def _patch(cloud, node):
    """Number of the patch port of the provider network."""
    switch = cloud.nb.find('Logical_Switch',
                           name=cloud.neutron.provider.switch)
    localnet, = (port.name for port in switch.ports
                 if port.type == 'localnet')
    return node.out('ovs-vsctl', 'get', 'Interface',
                    f'patch-{localnet}-to-br-int', 'ofport').strip()


def _neighbours(node):
    for end, peer, address in (
            ('veth-default', 'veth-provider', original.PROVIDER_IP),
            ('veth-provider', 'veth-default', original.NEXTHOP)):
        shown, = json.loads(node.out('ip', '-j', 'link', 'show', peer))
        node.run(['ip', 'neighbour', 'replace', address, 'lladdr',
                  shown['address'], 'dev', end, 'nud', 'permanent'])


def _rows(txn, tables, router, each, external_ids, mac):
    route = northbound.insert(
        txn, tables, 'Logical_Router_Static_Route', ip_prefix='0.0.0.0/0',
        nexthop=each.virtual_gateway, output_port=each.lrp,
        external_ids=external_ids)
    routers.find_one(tables, 'Logical_Router', name=router.row_name).addvalue(
        'static_routes', route.uuid)
    northbound.insert(txn, tables, 'Static_MAC_Binding', mac=mac,
                      logical_port=each.lrp, ip=each.virtual_gateway)
