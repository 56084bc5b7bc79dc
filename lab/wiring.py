# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Links, addresses and sysctls of every node: two ``ip -batch`` each."""

import subprocess

from lab import plan

# Reverse path loose, forwarding on: what the installation guide asks for.
_GATEWAY_SYSCTLS = {
    'net__ipv4__ip_forward': 1, 'net__ipv4__conf__all__rp_filter': 2,
    'net__ipv4__conf__default__rp_filter': 2}


def machine(nodes, gateways):
    """Links between the nodes, made from outside.

    :param nodes: dict of name to Node
    :param gateways: names of the gateways
    """
    lines = ['link add mgmt type bridge forward_delay 0', 'link set mgmt up']
    for name in sorted(nodes.keys() & plan.HOSTS.keys()):
        lines += _management_cable(nodes[name])
    for name in gateways:
        lines.append(_uplink_cable(nodes[name], nodes['spine']))
    lines.append('link add eth0 netns %d type veth peer name to-client '
                 'netns %d' % (nodes['client'].pid, nodes['spine'].pid))
    subprocess.run(['ip', '-batch', '-'], input='\n'.join(lines) + '\n',
                   text=True, check=True)


def plug_gateway(node, spine):
    """Cables of a gateway that was switched on again."""
    lines = [*_management_cable(node), _uplink_cable(node, spine)]
    subprocess.run(['ip', '-batch', '-'], input='\n'.join(lines) + '\n',
                   text=True, check=True)
    spine.batch('\n'.join(_spine_uplink(node.name)) + '\n')


def unplug_gateway(node, spine):
    """Take the cables of a gateway that was switched off.

    The kernel would do it too, at its leisure.
    """
    subprocess.run(['ip', 'link', 'del', 'm-' + node.name], check=False,
                   stderr=subprocess.DEVNULL)
    spine.run(['ip', 'link', 'del', 'to-' + node.name], check=False)


def _management_cable(node):
    return ['link add m-%s type veth peer name eth0 netns %d' % (
                node.name, node.pid),
            'link set m-%s master mgmt up' % node.name]


def _uplink_cable(node, spine):
    return 'link add eth1 netns %d type veth peer name to-%s netns %d' % (
        node.pid, node.name, spine.pid)


def _spine_uplink(name):
    return ['link set to-%s up' % name,
            'addr add %s/30 dev to-%s' % (plan.UPLINKS[name][0], name)]


def management(node):
    """Lines for the management interface of a node."""
    return ['link set eth0 up',
            'addr add %s/24 dev eth0' % plan.HOSTS[node.name]]


def host(node):
    """A node with nothing but the management network."""
    lines = management(node)
    if node.name != 'sink':
        lines.append('route add default via %s' % plan.SINK)
    if node.name == 'backend':
        lines += ['addr add %s/24 dev eth0' % address
                  for address in plan.BACKENDS[1:]]
    node.batch('\n'.join(lines) + '\n')


def gateway(node):
    """VRF with uplink and loopback; the default route is the sink's."""
    address = plan.UPLINKS[node.name][1]
    lines = management(node) + [
        'route add default via %s' % plan.SINK,
        'link add %s type vrf table %d' % (plan.VRF, plan.VRF_TABLE),
        'link set %s up' % plan.VRF,
        # Without it a lookup that fails in the VRF goes on in main.
        'route add unreachable default metric 4278198272 table %d' %
        plan.VRF_TABLE,
        'link set eth1 master %s' % plan.VRF,
        'link set eth1 up',
        'addr add %s/30 dev eth1' % address,
        'link add loopback1 type dummy',
        'link set loopback1 master %s' % plan.VRF,
        'link set loopback1 up',
        'addr add %s/32 dev loopback1' % plan.LOOPBACKS[node.name]]
    node.sysctl(**_GATEWAY_SYSCTLS)
    node.batch('\n'.join(lines) + '\n')


def spine(node, gateways):
    """The spine: one /30 to each gateway, the clients behind it."""
    lines = ['link set to-client up',
             'addr add %s/24 dev to-client' % plan.CLIENT_GATEWAY,
             'route add %s via %s' % (plan.CROWD, plan.CLIENT)]
    for name in gateways:
        lines += _spine_uplink(name)
    node.sysctl(net__ipv4__ip_forward=1)
    node.batch('\n'.join(lines) + '\n')


def client(node):
    """The external client."""
    node.batch('link set eth0 up\naddr add %s/24 dev eth0\n'
               'route add default via %s\nroute add local %s dev lo\n' % (
                   plan.CLIENT, plan.CLIENT_GATEWAY, plan.CROWD))


def add_ipv6(nodes, gateways):
    """IPv6 on the management network, in the fabric, and at the client.

    The sink is the default gateway of the management network, as ever.

    :param nodes: dict of name to Node
    :param gateways: names of the gateways
    """
    sink = plan.host6('sink')
    for name in sorted(nodes.keys() & plan.HOSTS.keys()):
        lines = [_address6(plan.host6(name), 64, 'eth0')]
        if name == 'backend':
            lines += [_address6(plan.backend6(address), 64, 'eth0')
                      for address in plan.BACKENDS[1:]]
        if name != 'sink':
            lines.append('route add ::/0 via %s' % sink)
        if name in gateways:
            lines += [_address6(plan.uplink6(name)[1], 64, 'eth1'),
                      'route add unreachable ::/0 metric 4278198272 '
                      'table %d' % plan.VRF_TABLE]
            nodes[name].sysctl(net__ipv6__conf__all__forwarding=1)
        nodes[name].batch('\n'.join(lines) + '\n')
    nodes['spine'].sysctl(net__ipv6__conf__all__forwarding=1)
    nodes['spine'].batch('\n'.join([
        _address6(plan.CLIENT_GATEWAY6, 64, 'to-client'),
        *(_address6(plan.uplink6(name)[0], 64, 'to-' + name)
          for name in gateways)]) + '\n')
    nodes['client'].batch('%s\nroute add ::/0 via %s\n' % (
        _address6(plan.CLIENT6, 64, 'eth0'), plan.CLIENT_GATEWAY6))


def _address6(address, length, device):
    # Nobody else has it, and the search for such a one takes a second.
    return 'addr add %s/%d dev %s nodad' % (address, length, device)
