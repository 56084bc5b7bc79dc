# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Links, addresses and sysctls of every node: two ``ip -batch`` each."""

import subprocess

from lab import plan

# The installation guide wants a loose reverse path check, and forwarding.
_GATEWAY_SYSCTLS = {
    'net__ipv4__ip_forward': 1, 'net__ipv4__conf__all__rp_filter': 2,
    'net__ipv4__conf__default__rp_filter': 2}


def machine(nodes: dict, gateways: list[str]):
    """Make the links between the nodes, from the machine."""
    lines = ['link add mgmt type bridge forward_delay 0', 'link set mgmt up']
    for name in sorted(nodes.keys() & plan.HOSTS.keys()):
        lines += _management_cable(nodes[name])
    for name in gateways:
        lines.append(_uplink_cable(nodes[name], nodes['spine']))
    lines.append(f'link add eth0 netns {nodes["client"].pid} type veth peer '
                 f'name to-client netns {nodes["spine"].pid}')
    subprocess.run(['ip', '-batch', '-'], input='\n'.join(lines) + '\n',
                   text=True, check=True)


def plug_gateway(node, spine):
    """Make the cables of a gateway that was switched on again."""
    lines = [*_management_cable(node), _uplink_cable(node, spine)]
    subprocess.run(['ip', '-batch', '-'], input='\n'.join(lines) + '\n',
                   text=True, check=True)
    spine.batch('\n'.join(_spine_uplink(node.name)) + '\n')


def unplug_gateway(node, spine):
    """Remove the cables of a gateway, as a power failure does."""
    subprocess.run(['ip', 'link', 'del', 'm-' + node.name], check=False,
                   stderr=subprocess.DEVNULL)
    spine.run(['ip', 'link', 'del', 'to-' + node.name], check=False)


def _management_cable(node):
    return [f'link add m-{node.name} type veth peer name eth0 netns '
            f'{node.pid}',
            f'link set m-{node.name} master mgmt up']


def _uplink_cable(node, spine):
    return (f'link add eth1 netns {node.pid} type veth peer name '
            f'to-{node.name} netns {spine.pid}')


def _spine_uplink(name):
    return [f'link set to-{name} up',
            f'addr add {plan.UPLINKS[name][0]}/30 dev to-{name}']


def management(node):
    """Lines for the management interface of a node."""
    return ['link set eth0 up',
            f'addr add {plan.HOSTS[node.name]}/24 dev eth0']


def host(node):
    """Set up a node that has only the management network."""
    lines = management(node)
    if node.name != 'sink':
        lines.append(f'route add default via {plan.SINK}')
    if node.name == 'backend':
        lines += [f'addr add {address}/24 dev eth0'
                  for address in plan.BACKENDS[1:]]
    node.batch('\n'.join(lines) + '\n')


def vrf(name):
    """Lines for the VRF of a gateway, whose uplink and loopback are there."""
    return [
        f'link add {plan.VRF} type vrf table {plan.VRF_TABLE:d}',
        f'link set {plan.VRF} up',
        # Without this route, a failed lookup in the VRF goes on in main.
        'route replace unreachable default metric 4278198272 table '
        f'{plan.VRF_TABLE:d}',
        f'link set eth1 master {plan.VRF}',
        'link set eth1 up',
        f'addr replace {plan.UPLINKS[name][1]}/30 dev eth1',
        f'link set loopback1 master {plan.VRF}',
        'link set loopback1 up',
        f'addr replace {plan.LOOPBACKS[name]}/32 dev loopback1']


def gateway(node):
    """Set up a gateway: VRF, uplink, loopback, default route to the sink."""
    lines = management(node) + [
        f'route add default via {plan.SINK}',
        'link add loopback1 type dummy',
        *vrf(node.name)]
    node.sysctl(**_GATEWAY_SYSCTLS)
    node.batch('\n'.join(lines) + '\n')


def spine(node, gateways):
    """Set up the spine: a /30 to each gateway, and the clients."""
    lines = ['link set to-client up',
             f'addr add {plan.CLIENT_GATEWAY}/24 dev to-client',
             f'route add {plan.CROWD} via {plan.CLIENT}']
    for name in gateways:
        lines += _spine_uplink(name)
    node.sysctl(net__ipv4__ip_forward=1)
    node.batch('\n'.join(lines) + '\n')


def client(node):
    """Set up the external client."""
    node.batch(f'link set eth0 up\naddr add {plan.CLIENT}/24 dev eth0\n'
               f'route add default via {plan.CLIENT_GATEWAY}\n'
               f'route add local {plan.CROWD} dev lo\n')


def add_ipv6(nodes: dict, gateways: list[str], vrf: bool = True):
    """Set up IPv6 on the management network, in the fabric, and at the client.

    The sink is the default gateway, as for IPv4.

    :param vrf: whether the gateways have a VRF; else their only default route
        comes from BGP
    """
    for name in sorted(nodes.keys() & plan.HOSTS.keys() - set(gateways)):
        nodes[name].batch('\n'.join(_host6(name)) + '\n')
    nodes['spine'].sysctl(net__ipv6__conf__all__forwarding=1)
    nodes['spine'].batch(
        _address6(plan.CLIENT_GATEWAY6, 64, 'to-client') + '\n')
    client6(nodes['client'])
    for name in gateways:
        gateway6(nodes[name], nodes['spine'], vrf)


def client6(node):
    """Set up IPv6 on an external client."""
    node.batch(f'{_address6(plan.CLIENT6, 64, "eth0")}\n'
               f'route add ::/0 via {plan.CLIENT_GATEWAY6}\n')


def gateway6(node, spine, vrf=True):
    """Set up IPv6 on a gateway, and on the spine's end of its link."""
    # A network service writes addresses again that go with the link.
    node.sysctl(net__ipv6__conf__all__forwarding=1,
                net__ipv6__conf__eth1__keep_addr_on_down=1)
    node.batch('\n'.join([*_host6(node.name), *vrf6(node.name)] if vrf else [
        _address6(plan.host6(node.name), 64, 'eth0'),
        _address6(plan.uplink6(node.name)[1], 64, 'eth1')]) + '\n')
    spine.batch(_address6(plan.uplink6(node.name)[0], 64,
                          'to-' + node.name) + '\n')


def vrf6(name):
    """Lines for IPv6 in the VRF of a gateway."""
    return [f'addr replace {plan.uplink6(name)[1]}/64 dev eth1 nodad',
            'route replace unreachable ::/0 metric 4278198272 '
            f'table {plan.VRF_TABLE:d}']


def _host6(name):
    lines = [_address6(plan.host6(name), 64, 'eth0')]
    if name == 'backend':
        lines += [_address6(plan.backend6(address), 64, 'eth0')
                  for address in plan.BACKENDS[1:]]
    if name != 'sink':
        lines.append(f'route add ::/0 via {plan.host6("sink")}')
    return lines


def _address6(address, length, device):
    # No other host has the address, and a check for one takes a second.
    return f'addr add {address}/{length:d} dev {device} nodad'
