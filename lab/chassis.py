# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Open vSwitch and ovn-controller on a gateway or compute node."""

import contextlib
import json
import os
import socket

from lab import node as nodes
from lab import plan

# ovs-vswitchd 3.1 counts the processors at most once in 10 s of the monotonic
# clock, from 0.  Before, it finds no processor and loses every packet.
VSWITCHD_UPTIME = 10.2
# Seconds for an answer of the local database.
_ANSWER = 10


def start_database(node):
    """Start the local database, which is created on a new node."""
    if not node.exists('/etc/openvswitch/conf.db'):
        node.run(['ovsdb-tool', 'create', '/etc/openvswitch/conf.db',
                  '/usr/share/openvswitch/vswitch.ovsschema'])
    node.write('/etc/openvswitch/system-id.conf',
               plan.system_id(node.name) + '\n')
    node.spawn('ovsdb', [
        'ovsdb-server', '-vconsole:warn',
        '--remote=punix:/run/openvswitch/db.sock',
        '--remote=db:Open_vSwitch,Open_vSwitch,manager_options',
        '--pidfile=/run/openvswitch/ovsdb-server.pid',
        '/etc/openvswitch/conf.db'])


def describe(node, mappings: dict):
    """Write external_ids as a deployment does.

    :param mappings: dict of physical network to bridge, empty for a node that
        is no gateway
    """
    nodes.wait_until(f'{node.name} serves its database', lambda:
                     os.path.exists(node.path('/run/openvswitch/db.sock')))
    ids = {'system-id': plan.system_id(node.name), 'hostname': node.name,
           'ovn-remote': plan.SB, 'ovn-encap-type': 'geneve',
           'ovn-encap-ip': plan.HOSTS[node.name],
           'ovn-remote-probe-interval': '60000',
           'ovn-openflow-probe-interval': '60'}
    if mappings:
        ids['ovn-bridge-mappings'] = ','.join(
            f'{network}:{bridge}' for network, bridge in mappings.items())
        ids['ovn-cms-options'] = 'enable-chassis-as-gw'
    command = ['ovs-vsctl', '--no-wait', 'init', '--', 'set', 'Open_vSwitch',
               '.']
    command += [f'external_ids:{key}="{value}"' for key, value in ids.items()]
    command += ['--', '--may-exist', 'add-br', 'br-int', '--', 'set',
                'Bridge', 'br-int', 'fail-mode=secure']
    for bridge in mappings.values():
        command += ['--', '--may-exist', 'add-br', bridge]
    node.run(command)


def start_vswitchd(node):
    """Start the switch, when the machine is up for long enough."""
    nodes.wait_until(f'the machine has been up for {VSWITCHD_UPTIME} s',
                     _old_enough)
    node.spawn('vswitchd', [
        'ovs-vswitchd', '-vconsole:warn',
        '--pidfile=/run/openvswitch/ovs-vswitchd.pid',
        'unix:/run/openvswitch/db.sock'])


def _old_enough():
    with open('/proc/uptime', encoding='ascii') as opened:
        return float(opened.read().split()[0]) >= VSWITCHD_UPTIME


def stop_controller(node):
    """End ovn-controller in good order, and wait for its end."""
    node.run(['ovn-appctl', '-t', 'ovn-controller', 'exit'])
    node.services.pop('ovn-controller').wait(60)


def tunnels_up(node):
    """Whether BFD is up on all tunnels of a gateway, at both ends."""
    found = [dict(row['bfd_status'][1]) for row in _select(
        node, 'Interface', ['bfd', 'includes', ['map', [['enable', 'true']]]],
        'bfd_status')]
    return bool(found) and all(
        (state.get('state'), state.get('remote_state')) == ('up', 'up')
        for state in found)


def _select(node, table, where, *columns) -> list[dict]:
    """Rows of the local database; tests that wait ask again and again.

    In the machine, an ovs-vsctl takes 0.06 s of the one processor.
    """
    request = {'method': 'transact', 'id': 0, 'params': ['Open_vSwitch', {
        'op': 'select', 'table': table, 'where': [where],
        'columns': columns}]}
    answer = b''
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_ANSWER)
        try:
            asking.connect(node.path('/run/openvswitch/db.sock'))
            asking.sendall(json.dumps(request).encode())
            while data := asking.recv(65536):
                answer += data
                with contextlib.suppress(ValueError):
                    return json.loads(answer)['result'][0]['rows']
        except OSError:
            # The server may start just now.
            pass
    return []


def start_controller(node):
    """Start ovn-controller.

    In the lab, ovn-controller of OVN 23.03 crashes in one of twenty starts
    within its first seconds.  So it is restarted, as by Debian's service.
    """
    node.spawn('ovn-controller', [
        'ovn-controller', '-vconsole:warn',
        '--pidfile=/run/ovn/ovn-controller.pid',
        'unix:/run/openvswitch/db.sock'], restart=True)
