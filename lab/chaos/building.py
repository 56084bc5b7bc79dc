# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a run has before its first action: FRR as in service, VIPs, agents."""

import concurrent.futures
import os

import yaml

from lab import echo
from lab import flat
from lab import frr
from lab import node as nodes
from lab import plan

RULES = '/etc/ovn-network-agent/forwards.yaml'
# watchfrr waits a minute between two restarts of a daemon; the first restart
# is as with these options.
WATCHFRR = '--min-restart-interval 1 --max-restart-interval 1'
_SETTLE = 90
# On a machine with one processor the default of BFD, three times 300 ms,
# takes a busy moment for a dead neighbour.
_SLOWER = 'slower'
_PROFILE = (f'bfd\n profile {_SLOWER}\n  receive-interval 1000\n'
            '  transmit-interval 1000\n exit\nexit\n')


def routing(cloud, profile, lines: str):
    """FRR of all gateways as in service, and BFD at both ends.

    Each vtysh takes a second in the machine, so one of them gets all lines.
    """
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        work = [pool.submit(gateway_routing, cloud, profile, name, lines)
                for name in cloud.gateways]
        if profile.bfd:
            work.append(pool.submit(_spine, cloud))
        for one in work:
            one.result()


def _spine(cloud):
    node = cloud['spine']
    frr.start_daemon(node, 'bfdd')
    frr.wait_for(node, 'bfdd')
    frr.add(node, _PROFILE + ''.join(
        _timed(frr.bfd_config(name, spine=True))
        for name in cloud.gateways))


def gateway_routing(cloud, profile, name, lines: str):
    """FRR of one gateway under watchfrr, as its unit starts it."""
    node = cloud[name]
    if profile.bfd:
        frr.start_daemon(node, 'bfdd')
        frr.wait_for(node, 'bfdd')
        bfd = _timed(frr.bfd_config(name))
        lines += _PROFILE + (bfd if profile.vrf else flat.without_vrf(bfd))
    frr.add(node, lines)
    if profile.bfd:
        # watchfrr starts its own.
        node.stop('bfdd')
    frr.stop(node)
    frr.supervise(node, WATCHFRR)


def _timed(config):
    """The lines of a session for BFD with our timers.

    :mod:`lab.frr` recognises BFD by the word alone.
    """
    return config + config.replace(' bfd\n', f' bfd profile {_SLOWER}\n')


def wait_fabric(cloud, profile):
    """Wait until the spine and all gateways that are on know each other.

    The spine believes in a dead session until BFD tells otherwise.  The
    default route of a gateway goes with its session at once.
    """
    table = str(plan.VRF_TABLE) if profile.vrf else 'main'

    def missing():
        return [name for name in cloud.gateways if cloud[name].pid and (
            cloud.route(plan.LOOPBACKS[name]) is None or
            'default' not in cloud[name].out(
                'ip', '-4', 'route', 'show', 'table', table, 'proto',
                'bgp'))]

    nodes.wait_until(lambda: (
        f'the spine and {missing()} know each other:\n' +
        frr.ask(cloud['spine'], 'bgpd', 'show bgp summary') + ''.join(
            frr.ask(cloud[name], 'bgpd', 'show running-config')
            for name in missing())), lambda: not missing(), _SETTLE)


def start_backends(cloud):
    """A responder at each address of the backend, and on each gateway."""
    for address in plan.BACKENDS:
        echo.start(cloud['backend'], name='echo-' + address, address=address)


def rules_of(vip):
    """The entry of a values.Vip in the file of rules, dict."""
    return {'vip': vip.address, 'manage_vip': True, 'rules': [
        {'proto': proto, 'port': vip.port, 'dest_addr': vip.backend,
         'dest_port': vip.dest_port, 'masquerade': True}
        for proto in ('udp', 'tcp')]}


def put_rules(node, vips):
    """Put a file of rules in place at once, as a deployment does."""
    text = yaml.safe_dump({'port_forwards': [rules_of(vip) for vip in vips]},
                          sort_keys=False)
    node.write(RULES + '.new', text)
    os.rename(node.path(RULES + '.new'), node.path(RULES))


def configuration(profile, name):
    """The configuration of the agent of a gateway: dict of dicts of text."""
    config = {'DEFAULT': {'debug': 'false'}}
    if profile.ovn:
        number = int(name.removeprefix('gw')) - 1
        config['fip_route'] = {'announce_method': profile.methods[number]}
    else:
        config['ovn'] = {'ovn_nb_remote': '', 'ovn_sb_remote': ''}
    if not profile.vrf:
        config['frr'] = {'vrf_name': ''}
    if profile.forwards:
        config['port_forward'] = {
            'rules_file': RULES, 'vip_announce': profile.announce}
        if profile.vrf:
            config['port_forward']['port_forward_l3mdev_accept'] = 'true'
    return config
