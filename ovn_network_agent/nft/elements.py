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

"""Elements of the sets of our table, as values and as nft reads them.

A set of intervals takes no two that overlap, unless nft may merge them, and
what was merged cannot be taken out again one by one.  So the networks are
kept as they were given in a set without intervals, a pair of address and
length each, and the set that rules look at gets those that lie in no other.
"""

import re

from ovn_network_agent import iptext
from ovn_network_agent import ownership

FAMILIES = {'ip': 4, 'ip6': 6}
PROTOCOLS = {'tcp': 6, 'udp': 17}

# What each set is declared as, in the table and in the rules that use it.
ADDRESS_TYPES = {'ip': 'ipv4_addr', 'ip6': 'ipv6_addr'}
# A device name in quotes: no wildcard, nothing that ends or escapes it.
_DEVICE = re.compile(r'[A-Za-z0-9_.:@+-]{1,15}')


def declaration(family, name):
    """What follows ``set NAME {`` for a set of ours.

    :param family: 'ip' or 'ip6'
    :param name: ownership.NFT_PREFIXES, NFT_TARGETS or NFT_LEAVING
    """
    address = ADDRESS_TYPES[family]
    if name == ownership.NFT_PREFIXES:
        return f'type {address} . inet_service;'
    return (f'type inet_proto . {address} . inet_service . {address} . '
            f'inet_service;')


def written(family, name, element):
    """An element as nft reads it.

    :param family: 'ip' or 'ip6'
    :param name: name of a set of ours
    :param element: prefix, address, device name, or a sequence (proto, VIP,
        port, destination, port)
    :raises ValueError: when it is no element of that set
    """
    if type(name) is not str or name not in _WRITERS:
        raise ValueError(f'{name!r} is no set that takes elements')
    return _WRITERS[name](FAMILIES[family], element)


def is_ours(name, element):
    """Whether the agent puts such an element into a set.

    The guard drops at the end of the pair alone.  Somebody else has put
    another device there, which can only be taken out.
    """
    return (name != ownership.NFT_GUARDED or
            element == ownership.VETH_DEFAULT)


def added(family, name, element):
    """Like :func:`written`, of an element that is put into a set.

    :raises ValueError: also when the agent puts no such element there
    """
    text = written(family, name, element)
    if not is_ours(name, element):
        raise ValueError(f'{element!r} is no device that is guarded')
    return text


def outer(prefixes):
    """Those that lie in no other one.

    :param prefixes: iterable of prefixes of one family, text
    :returns: list of text, none of which overlaps another
    """
    kept = []
    for network in sorted({iptext.network(p) for p in prefixes},
                          key=lambda n: (int(n.network_address),
                                         n.prefixlen)):
        if not kept or not network.subnet_of(kept[-1]):
            kept.append(network)
    return [str(network) for network in kept]


def _plain(element):
    """A text, and none of a type whose operators say something else."""
    if type(element) is not str:
        raise ValueError(f'{element!r} is no text')
    return element


def _prefix(version, element):
    network = iptext.network(_plain(element))
    if network.version != version or not network.prefixlen:
        raise ValueError(f'{element!r} is no network of IPv{version}')
    return str(network)


def _pair(version, element):
    return _prefix(version, element).replace('/', ' . ')


def _address(version, element):
    address = iptext.address(_plain(element))
    if address.version != version:
        raise ValueError(f'{element!r} is no address of IPv{version}')
    return str(address)


def _device(_version, element):
    if not _DEVICE.fullmatch(_plain(element)):
        raise ValueError(f'{element!r} is no device name for nft')
    return f'"{element}"'


def _target(version, element):
    proto, vip, port, destination, dest_port = element
    if _plain(proto) not in PROTOCOLS:
        raise ValueError(f'{proto!r} is neither tcp nor udp')
    for number in (port, dest_port):
        if type(number) is not int or not 0 < number < 65536:
            raise ValueError(f'{number!r} is no port')
    return (f'{proto} . {_address(version, vip)} . {port} . '
            f'{_address(version, destination)} . {dest_port}')


_WRITERS = {ownership.NFT_NETWORKS: _prefix, ownership.NFT_PREFIXES: _pair,
            ownership.NFT_SNAT: _address, ownership.NFT_GUARDED: _device,
            ownership.NFT_TARGETS: _target, ownership.NFT_LEAVING: _target}
