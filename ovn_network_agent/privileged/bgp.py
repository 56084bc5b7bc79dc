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

"""Privileged entry points that read what zebra and bgpd made of our routes.

One process asks for many addresses, one command each: 0.1 ms an address with
FRR 8.4, whatever else is in the tables, against 25 ms for a process.
"""

import errno

from ovn_network_agent import privileged
from ovn_network_agent.frr import effect
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output
from ovn_network_agent.privileged import vtysh

# Addresses for one process: its answer is about 0.7 MB then.
_BATCH = 500


@privileged.frr.entrypoint
def read_effect(vrf, prefixes, bgp):
    """What zebra and bgpd say about some host routes.

    :param vrf: name, '' for the default VRF
    :param prefixes: list of '198.51.100.10/32'
    :param bgp: whether to ask bgpd, too
    :returns: [active, advertised]: dict of prefix to the list of protocols
        ('static', 'kernel') whose route zebra has selected and installed,
        without the prefixes that it has no such route for; dict of prefix
        to list of the neighbours that it is advertised to, without those
        that are not in bgpd's table
    :raises OSError: when it cannot be read in full
    """
    route, table = _of_vrf(vrf)
    wanted = [str(vtysh.checked(lines.check_network, prefix))
              for prefix in prefixes]
    found = effect.Found({}, {})
    for at in range(0, len(wanted), _BATCH):
        commands = []
        for prefix in wanted[at:at + _BATCH]:
            commands.append(f'show ip route {route}{prefix} json')
            if bgp:
                commands.append(f'show bgp {table}{prefix} json')
        result = vtysh.show(*commands)
        try:
            found.take(result.stdout)
        except output.Unreadable as error:
            raise vtysh.unreadable(error, result) from error
    return [found.active, found.advertised]


@privileged.frr.entrypoint
def read_sessions(vrf, daemons):
    """Whether FRR runs, and whom its BGP could tell something.

    :param vrf: name, '' for the default VRF
    :param daemons: names of daemons that have to run, bgpd among them
    :returns: [missing, neighbours, heard]: sorted list of those that do not;
        dict of each neighbour that is activated for IPv4 unicast to its state
        ('Established'); sorted list of those that have told a prefix; both
        empty when bgpd does not run
    :raises OSError: when it cannot be found out
    """
    _route, table = _of_vrf(vrf)
    try:
        running = vtysh.read_daemons()
    except ConnectionRefusedError:
        # None of them does.
        running = ()
    missing = sorted(set(daemons).difference(running))
    if 'bgpd' in missing:
        return [missing, {}, []]
    said = vtysh.ask('bgpd', f'show bgp {table}summary json')
    try:
        return [missing, effect.surroundings(said, True)['neighbours'],
                effect.heard(said)]
    except output.Unreadable as error:
        raise OSError(errno.EPROTO, str(error)) from error


@privileged.frr.entrypoint
def read_surroundings(vrf, bgp):
    """What announcing depends on.

    :param vrf: name, '' for the default VRF
    :param bgp: whether to ask bgpd, too
    :returns: the fields of :class:`frr.effect.Surroundings`, a dict
    :raises OSError: when it cannot be read in full, or a daemon of these
        does not run
    """
    route, table = _of_vrf(vrf)
    vtysh.require(vtysh.read_daemons(), 'zebra', *(['bgpd'] if bgp else []))
    commands = [f'show ip route {route}connected json']
    if bgp:
        commands.append(f'show bgp {table}summary json')
    result = vtysh.show(*commands)
    try:
        return effect.surroundings(result.stdout, bgp)
    except output.Unreadable as error:
        raise vtysh.unreadable(error, result) from error


def _of_vrf(vrf):
    """Words that name the VRF for zebra, and the table of bgpd."""
    name = vtysh.check_vrf(vrf)
    of_vrf = f'vrf {name} ' if name else ''
    return of_vrf, f'{of_vrf}ipv4 unicast '
