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

"""The nftables table of port forwarding, from rules to text.

Pure.  See doc/source/reference/port-forwarding.rst for what each chain is
for.  Services are looked up in sets and maps, so that a packet costs the same
with one VIP and with a thousand.
"""

import dataclasses
import hashlib

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.drivers import nft_balance
from ovn_network_agent.drivers import nft_lines

# What tells a host that it sends too much, or in vain; answers to what it
# asked for itself are none of these.
_ERRORS = {
    'ip': 'icmp type { destination-unreachable, time-exceeded, '
          'parameter-problem }',
    'ip6': 'icmpv6 type { destination-unreachable, packet-too-big, '
           'time-exceeded, parameter-problem }'}
_DNATED = 'ct status dnat ct original %s daddr'
_LEAK = 'oifname "%s"' % ownership.VETH_DEFAULT


@dataclasses.dataclass(frozen=True, slots=True)
class Manner:
    """What of the configuration the table depends on.

    :ivar zone: connection tracking zone
    :ivar balance: 'jhash' or 'consistent'
    :ivar vrf: whether VIPs are in a VRF: then replies need to be led back
    """

    zone: int
    balance: str
    vrf: bool


def family(version):
    """Name of an address family for nft: 'ip' or 'ip6'."""
    return 'ip' if version == 4 else 'ip6'


def render(version, vips, manner):
    """The table of one family.

    :param version: 4 or 6
    :param vips: tuple of :class:`port_forwards.Vip` of that family, not empty
    :param manner: :class:`Manner`
    :returns: :class:`resources.NftTable`
    """
    name = family(version)
    lines = [*_sets(version, manner),
             *_zones(name, vips, manner),
             *_translation(name, vips, manner),
             *(_marks(name, vips) if manner.vrf else ()),
             *_sources(name, vips)]
    text = '\n'.join(lines) + '\n'
    return resources.NftTable(
        name, hashlib.sha256(text.encode()).hexdigest()[:32], text,
        tuple(sorted(_targets(vips))))


def _targets(vips):
    """What connections are translated to, as long as they last.

    A dead backend is none, but for the case that all of them are.
    """
    return {(rule.proto, vip.address, rule.port, backend.address,
             rule.dest_port)
            for vip in vips for rule in vip.rules
            for backend in rule.backends
            if backend.alive or backend in rule.usable}


def _sets(version, manner):
    """Sets whose elements follow the routers."""
    address = 'type ipv%d_addr' % version
    yield from nft_lines.block('set', ownership.NFT_NETWORKS,
                               [address, 'flags interval'])
    yield from nft_lines.block('set', ownership.NFT_SNAT, [address])
    if manner.vrf:
        yield from nft_lines.block('set', ownership.NFT_GUARDED,
                                   ['type ifname'])


def _zones(name, vips, manner):
    """One zone for both directions, whatever device they come in by.

    All that a backend's port sends is in it, so what is sent to it has to
    be, too: also what is sent there directly, as a check of its health is.
    """
    towards = sorted({
        *(nft_lines.service(vip.address, rule.proto, rule.port)
          for vip in vips for rule in vip.rules), *_behind(vips)})
    zone = 'ct zone set %d' % manner.zone
    rules = [
        nft_lines.lookup(nft_lines.words(name, 'd'), towards, zone),
        nft_lines.lookup(nft_lines.words(name, 's'),
                         sorted(_behind(vips)), zone)]
    # Without its zone an ICMP error belongs to no connection: a client
    # behind a smaller MTU would never get a long reply.
    errors = nft_lines.lookup('%s %s daddr' % (_ERRORS[name], name),
                              _addresses(vips), zone)
    for hook, those in (('prerouting', [*rules, errors]),
                        ('output', rules)):
        yield from nft_lines.chain(hook + '_ctzone',
                                   ('filter', hook, 'raw'), those)


def _behind(vips, masqueraded=False):
    """Services of backends, all of them or the masqueraded ones, a set."""
    return {nft_lines.service(backend.address, rule.proto, rule.dest_port)
            for vip in vips for rule in vip.rules
            for backend in rule.backends
            if rule.masquerade or not masqueraded}


def _addresses(vips):
    return sorted(vip.address for vip in vips)


def _translation(name, vips, manner):
    single, several, chains = [], [], {}
    for vip in vips:
        for rule in vip.rules:
            key = nft_lines.service(vip.address, rule.proto, rule.port)
            usable = rule.usable
            if len(usable) == 1:
                single.append('%s : %s . %d' % (key, usable[0].address,
                                                rule.dest_port))
            elif usable:
                target, lines = nft_balance.chain(name, rule,
                                                  manner.balance)
                chains[target] = lines
                several.append('%s : goto %s' % (key, target))
    for _target, lines in sorted(chains.items()):
        yield from lines
    rules = []
    words = nft_lines.words(name, 'd')
    if single:
        rules.append(nft_lines.lookup(
            'dnat %s to %s map' % (name, words), sorted(single)))
    if several:
        rules.append(nft_lines.lookup(words + ' vmap', sorted(several)))
    yield from nft_lines.chain('prerouting_dnat',
                               ('nat', 'prerouting', 'dstnat'), rules)


def _marks(name, vips):
    """Out of the VRF to the backend, and back into it."""
    addresses = _addresses(vips)
    to, back = (
        nft_lines.lookup('ct direction %s %s' % (direction, _DNATED % name),
                         addresses, 'meta mark set %#x' % mark)
        for direction, mark in (('original', ownership.MARK_FORWARD),
                                ('reply', ownership.MARK_REPLY)))
    yield from nft_lines.chain(
        'prerouting_fwmark', ('filter', 'prerouting', 'filter'), [to, back])
    # What a backend on this node sends is routed before it can be marked;
    # a chain of type route has it routed again.
    yield from nft_lines.chain(
        'output_fwmark', ('route', 'output', 'filter'), [back])
    yield from nft_lines.chain(
        'forward_veth_guard', ('filter', 'forward', 'filter'), [[
            '%s %s saddr @%s accept' % (_LEAK, name, ownership.NFT_NETWORKS),
            '%s meta mark %#x accept' % (_LEAK, ownership.MARK_REPLY),
            # Nothing is in that set as long as no network is known: until
            # then nothing may be dropped (trap T63).
            'oifname @%s drop' % ownership.NFT_GUARDED]])
    # A mark crosses the pair, and would send the packet back (trap T60).
    yield from nft_lines.chain(
        'postrouting_fwmark_clear', ('filter', 'postrouting', 'filter'),
        [['%s meta mark %#x meta mark set 0x0' % (
            _LEAK, ownership.MARK_REPLY)]])


def _sources(name, vips):
    """Whose source is replaced by an address of this node."""
    rules = []
    masqueraded = sorted(_behind(vips, masqueraded=True))
    if masqueraded:
        rules.append(nft_lines.lookup(
            'ct status dnat ' + nft_lines.words(name, 'd'), masqueraded,
            'masquerade'))
    for wanted, where in (
            ([v for v in vips if v.hairpin_masquerade],
             ownership.NFT_NETWORKS),
            ([v for v in vips if v.router_masquerade], ownership.NFT_SNAT)):
        if wanted:
            rules.append(nft_lines.lookup(
                _DNATED % name, _addresses(wanted),
                '%s saddr @%s masquerade' % (name, where)))
    yield from nft_lines.chain('postrouting_snat',
                               ('nat', 'postrouting', 'srcnat'), rules)
