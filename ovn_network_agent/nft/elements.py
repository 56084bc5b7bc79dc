# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Elements of the sets of our table, as values and as the input of nft.

A set of intervals takes no overlapping elements, unless nft may merge them,
and a merged one cannot be removed alone. So a set without intervals has the
given networks, as pairs of address and length; the set that the rules use has
those that lie in no other network.
"""

from collections.abc import Callable
from collections.abc import Iterable
import re
from typing import Any

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text

FAMILIES = {'ip': 4, 'ip6': 6}
PROTOCOLS = {'tcp': 6, 'udp': 17}

# The type of each set, in the table and in the rules that use the set.
ADDRESS_TYPES = {'ip': 'ipv4_addr', 'ip6': 'ipv6_addr'}
# A device name in quotes, without a wildcard, a quote and a backslash.
_DEVICE = re.compile(r'[A-Za-z0-9_.:@+-]{1,15}')


def check_family(family: object) -> str:
    """Check a family of our tables; ValueError for another."""
    if type(family) is not str or family not in FAMILIES:
        raise ValueError(f'{family!r} is no family of ours')
    return family


def declaration(family: str, name: str) -> str:
    """The text after ``set NAME {`` for a set of prefixes or targets."""
    address = ADDRESS_TYPES[family]
    if name == ownership.NFT_PREFIXES:
        return f'type {address} . inet_service;'
    return (f'type inet_proto . {address} . inet_service . {address} . '
            f'inet_service;')


def written(family: str, name: object, element: Any) -> str:
    """An element as the input of nft.

    :param element: prefix, address, device name, or (proto, VIP, port,
        destination, port)
    :raises ValueError: when the set cannot have the element
    """
    if type(name) is not str or name not in _WRITERS:
        raise ValueError(f'{name!r} is no set that takes elements')
    return _WRITERS[name](FAMILIES[family], element)


def is_ours(name: object, element: Any) -> bool:
    """Whether the agent puts such an element into a set.

    The guard drops only at the end of the veth pair: another device in its set
    is of another program, and can only be removed.
    """
    return (name != ownership.NFT_GUARDED or
            element == ownership.VETH_DEFAULT)


def added(family: str, name: object, element: Any) -> str:
    """An element to put into a set, as the input of nft; see :func:`written`.

    :raises ValueError: also when the agent puts no such element into the set
    """
    text = written(family, name, element)
    if not is_ours(name, element):
        raise ValueError(f'{element!r} is no device that is guarded')
    return text


def outer(prefixes: Iterable[str]) -> list[str]:
    """The prefixes, of one family, that lie in no other prefix."""
    kept: list[Any] = []
    for network in sorted({ip_text.network(p) for p in prefixes},
                          key=lambda n: (int(n.network_address),
                                         n.prefixlen)):
        if not kept or not network.subnet_of(kept[-1]):
            kept.append(network)
    return [str(network) for network in kept]


def plain(element: object) -> str:
    """A text of exactly the type str; a subclass may compare otherwise.

    :raises ValueError: when it is something else
    """
    if type(element) is not str:
        raise ValueError(f'{element!r} is no text')
    return element


def _prefix(version: int, element: Any) -> str:
    network = ip_text.network(plain(element))
    if network.version != version or not network.prefixlen:
        raise ValueError(f'{element!r} is no network of IPv{version}')
    return str(network)


def _pair(version: int, element: Any) -> str:
    return _prefix(version, element).replace('/', ' . ')


def _address(version: int, element: Any) -> str:
    address = ip_text.address(plain(element))
    if address.version != version:
        raise ValueError(f'{element!r} is no address of IPv{version}')
    return str(address)


def device(name: object) -> str:
    """A device name as the input of nft.

    :raises ValueError: when nft would take it as something else
    """
    if not _DEVICE.fullmatch(plain(name)):
        raise ValueError(f'{name!r} is no device name for nft')
    return f'"{name}"'


def _device(_version: int, element: Any) -> str:
    return device(element)


def _target(version: int, element: Any) -> str:
    proto, vip, port, destination, dest_port = element
    if plain(proto) not in PROTOCOLS:
        raise ValueError(f'{proto!r} is neither tcp nor udp')
    for number in (port, dest_port):
        if type(number) is not int or not 0 < number < 65536:
            raise ValueError(f'{number!r} is no port')
    return (f'{proto} . {_address(version, vip)} . {port} . '
            f'{_address(version, destination)} . {dest_port}')


_WRITERS: dict[str, Callable[[int, Any], str]] = {
    ownership.NFT_NETWORKS: _prefix, ownership.NFT_PREFIXES: _pair,
    ownership.NFT_SNAT: _address, ownership.NFT_GUARDED: _device,
    ownership.NFT_TARGETS: _target, ownership.NFT_LEAVING: _target}
