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
"""Open vSwitch and ovn-controller on a gateway or compute node."""

import os

from lab import node as nodes
from lab import plan

# ovs-vswitchd 3.1 counts the processors at most once in 10 s of the monotonic
# clock, from 0.  Before, it finds no processor and loses every packet.
VSWITCHD_UPTIME = 10.2


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


def describe(node, mappings):
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
    with open('/proc/uptime', encoding='ascii') as opened:
        uptime = float(opened.read().split()[0])
    if uptime < VSWITCHD_UPTIME:
        nodes.wait_until('the machine has been up for '
                         f'{VSWITCHD_UPTIME} s', _old_enough)
    node.spawn('vswitchd', [
        'ovs-vswitchd', '-vconsole:warn',
        '--pidfile=/run/openvswitch/ovs-vswitchd.pid',
        'unix:/run/openvswitch/db.sock'])


def _old_enough():
    with open('/proc/uptime', encoding='ascii') as opened:
        return float(opened.read().split()[0]) >= VSWITCHD_UPTIME


def stop_controller(node, restart=False):
    """End ovn-controller in good order, and wait for its end.

    :param restart: whether its row in the Southbound database, tunnels and
        flows stay for the next ovn-controller
    """
    command = ['ovn-appctl', '-t', 'ovn-controller', 'exit']
    node.run([*command, '--restart'] if restart else command)
    node.services.pop('ovn-controller').wait(60)


def tunnels_up(node):
    """Whether BFD is up on all tunnels of a gateway, at both ends."""
    states = node.out('ovs-vsctl', '--bare', '--columns=bfd_status', 'find',
                      'Interface', 'bfd:enable=true').split('\n')
    found = [state for state in states if state]
    return bool(found) and all(
        ' state=up' in state and 'remote_state=up' in state
        for state in found)


def start_controller(node):
    """Start ovn-controller.

    In the lab, ovn-controller of OVN 23.03 crashes in one of twenty starts
    within its first seconds.  So it is restarted, as by Debian's service.
    """
    node.spawn('ovn-controller', [
        'ovn-controller', '-vconsole:warn',
        '--pidfile=/run/ovn/ovn-controller.pid',
        'unix:/run/openvswitch/db.sock'], restart=True)
