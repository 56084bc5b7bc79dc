# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What every node, NB and the spine must have, computed from NB and SB.

Pure, and without any code of the agents.  All is said in facts: texts such as
'route main 198.51.100.12 dev br-ex'.  :mod:`lab.chaos.observed` gives the
facts that are there in the same words, so two sets can be compared.
"""

import dataclasses
import ipaddress

from lab import plan

# The numbers of the reference, doc/source/reference/ownership.rst.
LEAK_TABLE, FORWARD_TABLE = 200, 201
NEXTHOP, PROVIDER_END = '169.254.0.1', '169.254.0.2'
BRIDGE_ADDRESS = '169.254.169.254/32'
ANCHOR = '169.254.169.253/32'
_DRAIN = 'ovn-network-agent-drain'
# Facts of an agent that has stopped in good order: the last address of a
# device stays if the kernel would take routes of others along.
_MAY_STAY = frozenset({f'address br-ex {BRIDGE_ADDRESS}',
                       f'address loopback1 {ANCHOR}'})


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Facts that must be there, and facts that may be there."""

    must: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    # Tuple of text: facts that begin like that may be there
    prefixes: tuple = ()

    def differences(self, found: set):
        """How the facts that are there differ, a sorted list of text."""
        return ([f'missing: {fact}' for fact in sorted(self.must - found)] +
                [f'too much: {fact}' for fact in sorted(
                    found - self.must - self.may)
                 if not fact.startswith(self.prefixes or ('\0',))])


def node(picture, profile, gateway):
    """The facts of a gateway node.

    :returns: :class:`Wanted`, None if nobody can know: the agent was killed or
        paused, or the node is off
    """
    if not gateway.powered or gateway.agent in ('killed', 'paused'):
        return None
    if gateway.agent == 'stopped':
        return Wanted(may=_MAY_STAY | {f'external-id {_DRAIN}'})
    must, may = set(), set()
    if profile.vrf:
        must |= _veth(profile)
    if profile.ovn:
        must.add(f'address br-ex {BRIDGE_ADDRESS}')
        for router in picture.concerned(gateway.name):
            must |= _prepared(router, profile)
            must |= _relays(router, gateway.name)
        for router in picture.owned(gateway.name):
            must |= _owned(router, profile, gateway)
    if gateway.drained:
        may.add(f'external-id {_DRAIN}')
    must |= _forwards(picture, profile, gateway)
    return Wanted(frozenset(must), frozenset(may))


def _veth(profile):
    """The way between the two VRFs."""
    return {
        f'link veth-provider master {profile.vrf}', 'link veth-default',
        f'address veth-default {NEXTHOP}/30',
        f'address veth-provider {PROVIDER_END}/30',
        f'neighbour veth-default {PROVIDER_END} @veth-provider',
        f'neighbour veth-provider {NEXTHOP} @veth-default',
        f'route {LEAK_TABLE:d} default via {PROVIDER_END} dev veth-default',
        'rule 1999 from all iif veth-default lookup main',
        'rule 1999 from all iif veth-provider blackhole'}


def _prepared(router, profile):
    """What a candidate has as well, so that a port may come at any time."""
    network = str(router.network)
    facts = {f'prefix-list permit {network}'}
    for family in ('ip', 'ipv6'):
        facts.add(f'flow 0x999 priority=900,{family},in_port=PATCH '
                  'actions=mod_dl_dst:BRIDGE,NORMAL')
    if profile.vrf:
        facts |= {f'rule 2000 from {network} lookup {LEAK_TABLE:d}',
                  f'rule 2001 from {network} iif br-ex blackhole',
                  f'rule 2001 from all to {network} iif br-ex blackhole'}
        facts |= {f'rule 2001 from {tenant} iif br-ex blackhole'
                  for tenant in router.tenants}
    return facts


def _relays(router, name):
    """The relays to other candidates, and the flows out of the relays."""
    facts = set()
    for peer, _priority in router.candidates:
        if peer != name:
            relay = 'ona-' + ipaddress.ip_address(
                plan.HOSTS[peer]).packed.hex()
            facts |= {f'relay {relay}',
                      f'flow 0x997 priority=920,ip,in_port={relay},'
                      f'nw_dst={router.network} actions=output:PATCH'}
    return facts


def _owned(router, profile, gateway):
    """What the owner of a gateway port has."""
    network, facts = str(router.network), set()
    if profile.vrf:
        facts |= {
            f'rule 1997 from all to {network} iif veth-default lookup main '
            'suppress 0',
            f'rule 1998 from all to {network} iif veth-default blackhole',
            f'route {plan.VRF_TABLE:d} {network} via {NEXTHOP} dev '
            'veth-provider'}
    for address in router.addresses:
        facts.add(f'flow 0x998 priority=910,ip,in_port=PATCH,nw_dst={address}'
                  f' actions=mod_dl_src:BRIDGE,mod_dl_dst:{router.mac},'
                  'IN_PORT')
        facts |= _reachable(address, profile, gateway)
    return facts


def _reachable(address, profile, gateway):
    kernel = gateway.method == 'kernel'
    if not profile.vrf:
        return {f'route main {address} dev br-ex' if kernel else
                f'static {address} br-ex'}
    return {f'route main {address} dev br-ex',
            f'route {plan.VRF_TABLE:d} {address} via {NEXTHOP} dev '
            'veth-provider' if kernel else f'static {address} {NEXTHOP}'}


def _forwards(picture, profile, gateway):
    """What port forwarding has; the table exists only with VIPs."""
    if not gateway.vips:
        return set()
    facts = {f'address loopback1 {ANCHOR}'}
    if profile.vrf:
        facts |= {
            f'route {FORWARD_TABLE:d} default via {PROVIDER_END} dev '
            'veth-default',
            'rule 150 from all fwmark 0x100/0x100 lookup main',
            f'rule 151 from all fwmark 0x200/0x200 lookup '
            f'{FORWARD_TABLE:d}',
            'rule 152 from all fwmark 0x200/0x200 blackhole'}
    owned = picture.owned(gateway.name)
    networks = {str(router.network)
                for router in picture.concerned(gateway.name)}
    if profile.ovn:
        facts |= {f'nft provider_networks {network}' for network in networks}
        if owned and profile.vrf:
            facts.add('nft guarded veth-default')
    for vip in gateway.vips:
        facts.add(f'dnat {vip.address} {vip.port:d} to {vip.backend} '
                  f'{vip.dest_port:d}')
        if profile.ovn:
            facts.add(f'prefix-list permit {vip.address}/32')
        if announces(picture, gateway, vip):
            facts.add(f'address loopback1 {vip.address}/32')
    return facts


def announces(picture, gateway, vip):
    """Whether a node attracts the clients of a VIP."""
    return vip.announce == 'always' or bool(picture.owned(gateway.name))


# -- the spine --------------------------------------------------------------

def spine(picture, gateways: dict):
    """The facts of the spine: which gateway announces which address.

    A node whose agent is killed or paused still announces what it announced.
    """
    must, prefixes = set(), []
    for gateway in gateways.values():
        if not gateway.powered or gateway.agent == 'stopped':
            continue
        if gateway.agent != 'running':
            prefixes.append(f'announced by {gateway.name} ')
            continue
        for router in picture.owned(gateway.name):
            must |= {f'announced by {gateway.name} {address}'
                     for address in router.addresses}
        must |= {f'announced by {gateway.name} {vip.address}'
                 for vip in gateway.vips
                 if announces(picture, gateway, vip)}
    return Wanted(frozenset(must), prefixes=tuple(prefixes))


# -- the Northbound database ------------------------------------------------

def northbound(picture, gateways: dict):
    """The facts of NB: default route and MAC binding of each router."""
    must, prefixes = set(), []
    for router in picture.routers:
        owner = gateways.get(router.owner)
        if owner is None or owner.agent != 'running' or not owner.powered:
            # The rows of an earlier owner may be there, or nothing.
            prefixes += [f'default of {router.name} ',
                         f'binding of {router.name} ']
            continue
        hop = router.virtual_gateway
        must |= {f'default of {router.name} via {hop} by {owner.name} '
                 f'proved by {owner.name}',
                 f'binding of {router.name} {hop} @{owner.name}'}
    return Wanted(frozenset(must), prefixes=tuple(prefixes))


def northbound_facts(picture, macs: dict[str, str]) -> set:
    """The facts that NB has."""
    facts = set(picture.orphans)
    for router in picture.routers:
        for route in router.defaults:
            ids = dict(route.ids)
            if ids.get('ovn-network-agent') != 'managed':
                continue
            facts.add(
                f'default of {router.name} via {route.nexthop} by '
                f'{ids.get("ovn-network-agent-chassis", "")} proved by '
                f'{ids.get("ovn-network-agent-advertised", "")}')
        if len(router.defaults) > 1:
            facts.add(f'{len(router.defaults):d} default routes of '
                      f'{router.name}')
        facts |= {f'binding of {router.name} {address} '
                  f'@{macs.get(mac, mac)}'
                  for address, mac in router.bindings}
    return facts


def rank(picture, gateways) -> dict[str, str]:
    """Owners that do not outrank their peers."""
    found = {}
    for router in picture.routers:
        priorities = dict(router.candidates)
        owner = gateways.get(router.owner)
        if owner is None or owner.agent != 'running' or owner.drained:
            continue
        own = priorities.pop(router.owner, None)
        if own is not None and any(other >= own
                                   for other in priorities.values()):
            found[router.name] = f'{router.owner} has {own:d}, ' + ', '.join(
                f'{name} {priority:d}'
                for name, priority in priorities.items())
    return found
