# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points for devices: the veth pair, VLAN devices."""

from collections.abc import Callable
from collections.abc import Sequence
import errno

from ovn_network_agent import ownership
from ovn_network_agent import privileged
from ovn_network_agent.netlink import connection
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import links
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.privileged.network import checks

_ENDS = (ownership.VETH_DEFAULT, ownership.VETH_PROVIDER)


@privileged.kernel.change
def set_links_up(names: Sequence[str]) -> list[channel.Failure]:
    """Bring devices up."""
    within = limits.current()

    def encode(name: str) -> channel.Request:
        within.check_up(name)
        return links.RTM_NEWLINK, 0, links.encode_up(checks.index(name))

    with channel.kernel() as kernel:
        return channel.send(
            kernel, [[name] for name in checks.sequence(names)], encode)


@privileged.kernel.change
def set_veth_pairs(items: checks.Items) -> list[channel.Failure]:
    """Make or complete pairs [name, peer, vrf], up, the peer in the VRF."""
    with channel.kernel() as kernel:
        return each(items, lambda *item: _set_veth_pair(kernel, *item))


@privileged.kernel.change
def delete_veth_pairs(items: checks.Items) -> list[channel.Failure]:
    """Delete veth pairs [name, peer]; other devices of these names stay."""
    with channel.kernel() as kernel:
        return each(items, lambda *item: _delete_veth_pair(kernel, *item))


@privileged.kernel.change
def set_vlans(items: checks.Items) -> list[channel.Failure]:
    """Make VLAN devices [name, bridge, tag], up; a right one of others is
    adopted without the mark, and so stays at the end; a wrong one gives
    EEXIST.
    """
    with channel.kernel() as kernel:
        return each(items, lambda *item: _set_vlan(kernel, *item))


@privileged.kernel.change
def delete_vlans(names: Sequence[str]) -> list[channel.Failure]:
    """Delete the VLAN devices of the agent; other devices stay."""
    with channel.kernel() as kernel:
        return each([[name] for name in checks.sequence(names)],
                     lambda name: _delete_vlan(kernel, name))


def each(items: checks.Items, change: Callable[..., object]
         ) -> list[channel.Failure]:
    """Call a function with each item; a bad item does not affect the rest."""
    failures = []
    for position, item in enumerate(checks.sequence(items)):
        try:
            change(*checks.sequence(item, 'item'))
        except (OSError, TypeError, ValueError) as error:
            failures.append(channel.failure(position, error))
    return failures


def _set_veth_pair(kernel: connection.Connection, name: str, peer: str,
                   vrf: str) -> None:
    _check_names(name, peer)
    limits.current().check_vrf(vrf)
    found = links.read(kernel)
    master = found.get(checks.device(vrf))
    if master is None or master.kind != 'vrf':
        raise OSError(errno.ENODEV, f'VRF {vrf} does not exist')
    if name not in found and peer not in found:
        request(kernel, wire.NLM_F_CREATE | wire.NLM_F_EXCL,
                 links.encode_veth(name, peer))
        found = links.read(kernel)
        for each_name in (name, peer):
            request(kernel, 0, links.encode_alias(
                found[each_name].index, ownership.LINK_ALIAS))
    if not links.peers(found, name, peer):
        raise OSError(errno.EEXIST,
                      f'{name} and {peer} are not the ends of one veth pair '
                      f'in this network namespace; rename or remove what has '
                      f'the name')
    for end, wanted in ((found[name], 0), (found[peer], master.index)):
        # before it is up: else its routes and neighbours are lost
        if end.master != wanted:
            request(kernel, 0, links.encode_master(end.index, wanted))
        if not end.up:
            request(kernel, 0, links.encode_up(end.index))


def _delete_veth_pair(kernel: connection.Connection, name: str, peer: str
                      ) -> None:
    _check_names(name, peer)
    found = links.read(kernel)
    if links.peers(found, name, peer):
        request(kernel, 0, links.encode_delete(found[name].index),
                 links.RTM_DELLINK)


def _set_vlan(kernel: connection.Connection, name: str, bridge: str, tag: int
              ) -> None:
    checks.device(name)
    checks.integer(tag, 'VLAN tag')
    limits.current().check_vlan(name, bridge, tag)
    lower = checks.index(bridge)
    found = links.read(kernel)
    if name in found and _is_our_vlan(found[name]) and not _is_vlan(
            found[name], lower, tag):
        request(kernel, 0, links.encode_delete(found.pop(name).index),
                 links.RTM_DELLINK)
    if name not in found:
        request(kernel, wire.NLM_F_CREATE | wire.NLM_F_EXCL,
                 links.encode_vlan(name, lower, tag))
        found = links.read(kernel)
        request(kernel, 0, links.encode_alias(
            found[name].index, ownership.LINK_ALIAS))
    if not _is_vlan(found[name], lower, tag):
        raise OSError(errno.EEXIST, f'{name} is there and is not VLAN {tag} '
                      f'on {bridge}; rename or remove that device')
    if not found[name].up:
        request(kernel, 0, links.encode_up(found[name].index))


def _delete_vlan(kernel: connection.Connection, name: str) -> None:
    found = links.read(kernel).get(checks.device(name))
    if found is not None and _is_our_vlan(found):
        request(kernel, 0, links.encode_delete(found.index),
                 links.RTM_DELLINK)


def _is_our_vlan(link: links.Link) -> bool:
    return link.kind == 'vlan' and link.alias == ownership.LINK_ALIAS


def _is_vlan(link: links.Link, lower: int, tag: int) -> bool:
    return (link.kind, link.lower, link.vlan) == ('vlan', lower, tag)


def _check_names(name: str, peer: str) -> None:
    if (name, peer) != _ENDS:
        raise checks.invalid(f'veth pair {name!r}, {peer!r} is not ours')


def request(kernel: connection.Connection, flags: int, body: bytes,
            kind: int = links.RTM_NEWLINK) -> None:
    """Send one request of RTM_NEWLINK or RTM_DELLINK."""
    for _index, number, text in kernel.batch([(kind, flags, body)]):
        raise OSError(number, text)
