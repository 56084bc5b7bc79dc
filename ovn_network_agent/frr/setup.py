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

"""What FRR has to be configured with beforehand, and what of it is missing.

Pure.  The agent writes static routes and one prefix list; BGP, its
neighbours and what it redistributes are the operator's.
"""

import typing

from ovn_network_agent.frr import output

_BGP = 'router bgp '


class Setup(typing.NamedTuple):
    """What matters of the configuration of FRR.

    :ivar vrf: whether zebra has the VRF, and its device
    :ivar asn: AS number of the BGP instance of the VRF, '' without one
    :ivar redistributes: sources of routes, like 'static', of IPv4 unicast
    :ivar neighbours: whether the instance has neighbours
    :ivar filters: whether a filter uses the prefix list
    :ivar described: whether the prefix list has a description
    """

    vrf: bool
    asn: str
    redistributes: tuple
    neighbours: bool
    filters: bool
    described: bool = False


def read(text, vrf, prefix_list):
    """Parse the output of 'show vrf' and 'show running-config'.

    :param vrf: name of the VRF, '' for the default
    :param prefix_list: its name, '' when none is managed
    :returns: :class:`Setup`
    :raises frr.output.Unreadable: when the configuration is not complete
    """
    before, lines = output.parts(text)
    asn, section = _instance(lines, vrf)
    words = [line.split() for line in section]
    return Setup(
        not vrf or any(line.startswith('vrf %s ' % vrf) and
                       'inactive' not in line for line in before),
        asn,
        tuple(sorted({line[1] for line in _unicast(words)
                      if line[0] == 'redistribute'})),
        any(line[0] == 'neighbor' or line[:2] == ['bgp', 'listen']
            for line in words),
        any(line.split()[-2:] == ['prefix-list', prefix_list] and
            line.strip().startswith('match ip address') for line in lines)
        or any(line[0] == 'neighbor' and line[-3:] == [
            'prefix-list', prefix_list, 'out'] for line in words),
        any(line.startswith('ip prefix-list %s description ' % prefix_list)
            for line in lines))


def _instance(lines, vrf):
    """AS number and lines of the BGP instance of a VRF."""
    asn, section, inside = '', [], False
    of_vrf = ['vrf', vrf] if vrf else []
    for line in lines:
        if not line.startswith(' '):
            words = line.split()
            # FRR 9 and later may add "as-notation dot".
            inside = line.startswith(_BGP) and words[3:] in (
                of_vrf, [*of_vrf, 'as-notation', words[-1]])
            asn = words[2] if inside else asn
        elif inside and line.strip():
            section.append(line)
    return asn, section


def _unicast(words):
    """The lines of the address family IPv4 unicast."""
    inside = False
    for line in words:
        if line[0] == 'address-family':
            inside = line[1:3] == ['ipv4', 'unicast']
        elif line[0] == 'exit-address-family':
            inside = False
        elif inside:
            yield line


def lacks(setup, vrf, method, prefix_list):
    """What is missing, each with the lines that add it.

    :param setup: :class:`Setup`
    :param vrf: name of the VRF, '' for the default
    :param method: 'static' or 'kernel', what has to be redistributed
    :param prefix_list: its name, '' when none is managed
    :returns: list of str
    """
    where = 'VRF %s' % vrf if vrf else 'the default VRF'
    instance = '%s%s%s' % (_BGP, setup.asn or 'ASN',
                           ' vrf ' + vrf if vrf else '')
    family = '" / "address-family ipv4 unicast" / "'
    found = []
    if not setup.vrf:
        found.append('zebra does not know %s, so it takes no routes for it; '
                     'run FRR in the network namespace of this device and '
                     'restart zebra' % where)
    if not setup.asn:
        found.append('there is no BGP instance for %s, so nothing is '
                     'announced; add "%s" with its neighbours'
                     % (where, instance))
    elif not setup.neighbours:
        found.append('the BGP instance of %s has no neighbours, so nobody '
                     'learns anything; add "%s" / "neighbor ADDRESS '
                     'remote-as ASN"' % (where, instance))
    if method not in setup.redistributes:
        found.append('BGP of %s does not redistribute %s routes, so nothing '
                     'is announced; add "%s%sredistribute %s"'
                     % (where, method, instance, family, method))
    if prefix_list and setup.asn and not setup.filters:
        found.append('no neighbour in %s is filtered by the prefix list %s, '
                     'so it may learn more than the floating IPs; add "%s%s'
                     'neighbor ADDRESS prefix-list %s out", or set [frr] '
                     'frr_prefix_list to nothing'
                     % (where, prefix_list, instance, family, prefix_list))
    if setup.described:
        found.append('the prefix list %s has a description, and FRR lets '
                     'everything pass such a list as long as it has no '
                     'entry, which is so on a node without routers; remove '
                     'it with "no ip prefix-list %s description"'
                     % (prefix_list, prefix_list))
    return ['FRR: ' + text for text in found]
