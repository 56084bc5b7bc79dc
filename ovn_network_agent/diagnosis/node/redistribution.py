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

"""The lines for FRR that redistribute the routes of a method.  Pure."""

# Words of FRR, name of the route map, and default route of each family.
_FAMILIES = {4: ('ip', 'KERNEL', '0.0.0.0/0'),
             6: ('ipv6', 'KERNEL6', '::/0')}


def lines(asn, vrf, method, families):
    """The lines for vtysh that redistribute the routes of a method.

    :param asn: AS number of the BGP instance, text
    :param vrf: name of the VRF, '' for the default VRF
    :param method: one of :data:`method.METHODS`
    :param families: iterable of 4 and 6
    :returns: tuple of str
    """
    made, mapped = ['configure terminal'], ''
    for family in families if method == 'kernel' else ():
        made += _filter(family)
    made.append(f'router bgp {asn}' + (f' vrf {vrf}' if vrf else ''))
    for family in families:
        if method == 'kernel':
            mapped = f' route-map {_FAMILIES[family][1]}'
        made += [f' address-family ipv{family:d} unicast',
                 f'  redistribute {method}{mapped}', ' exit-address-family']
    return (*made, 'end')


def _filter(family):
    """Lines of a route map that keeps back the default route of the kernel.

    A VRF has an "unreachable" default route.  As a route of bgpd, it would
    hide the default route of the neighbours.
    """
    word, name, default = _FAMILIES[family]
    return (f'{word} prefix-list DEFAULT-ROUTE seq 5 permit {default}',
            f'route-map {name} deny 10',
            f' match {word} address prefix-list DEFAULT-ROUTE', 'exit',
            f'route-map {name} permit 20', 'exit')
