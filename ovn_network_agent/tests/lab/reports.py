# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a failure in the lab needs: logs, routes, rules and flows."""

from lab import node as nodes
from lab import plan

# Lines of an agent's log.
_TAIL = 60


def text(cloud):
    """All :func:`reports`, one text.

    :param cloud: :class:`lab.cloud.Cloud`
    """
    return '\n'.join(f'--- {about}\n{found}'
                     for about, found in reports(cloud))


def reports(cloud):
    """(title, text) of everything; nothing of it may fail.

    :param cloud: :class:`lab.cloud.Cloud`
    :returns: iterator
    """
    commands = [('spine', ('vtysh', '-c', 'show bgp ipv4 unicast')),
                ('central', ('ovn-sbctl', 'list', 'Port_Binding'))]
    for name in cloud.gateways:
        commands += [(name, argv) for argv in (
            ('ip', 'rule'), ('ip', 'route'), ('ip', '-6', 'rule'),
            ('ip', '-6', 'route'),
            ('ip', 'route', 'show', 'table', str(plan.VRF_TABLE)),
            ('ip', '-6', 'route', 'show', 'table', str(plan.VRF_TABLE)),
            ('ip', '-br', 'addr'),
            ('vtysh', '-c', 'show running-config'),
            ('vtysh', '-c', f'show bgp vrf {plan.VRF} ipv4 unicast'),
            ('ovs-ofctl', 'dump-flows', plan.BRIDGE))]
    for name, argv in commands:
        try:
            done = cloud[name].run(list(argv), check=False, timeout=10)
            yield f'{name}: {" ".join(argv)}', done.stdout + done.stderr
        except Exception as e:
            yield f'{name}: {" ".join(argv)}', str(e)
    for name, node in cloud.nodes.items():
        for service in node.services:
            if service != 'agent':
                said = _log(node, service)
                if said:
                    yield f'{name}: {service}', said
    for name, agent in cloud.agents.items():
        try:
            lines = agent.log().splitlines()[-_TAIL:]
        except (OSError, nodes.NodeError) as e:
            lines = [str(e)]
        yield f'agent of {name}', '\n'.join(lines)


def _log(node, service):
    """The end of what a service said; why not, when its node is off."""
    try:
        return node.log(service)[-1500:]
    except (OSError, nodes.NodeError) as e:
        return str(e)
