# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of values that are right alone and wrong together."""

from collections.abc import Iterator
from collections.abc import Sequence

from oslo_config import cfg

from ovn_network_agent import ownership
from ovn_network_agent.common import bridges
from ovn_network_agent.common import ip_text
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.model import selection

_EVERYTHING = ('0.0.0.0/0', '::/0')
_FURTHER = '[DEFAULT] further_bridges'


def say(option: str, value: str | Sequence[str], text: str) -> str:
    """The message about one option, such as "[frr] vrf_name".

    :param text: the error and the remedy
    """
    if isinstance(value, list | tuple):
        value = ','.join(value)
    return f'{option} = {value}: {text}'


def _devices(conf: cfg.ConfigOpts) -> Iterator[str]:
    pair = (ownership.VETH_DEFAULT, ownership.VETH_PROVIDER)
    further = [(_FURTHER, name) for name in conf.further_bridges]
    for option, name in (('[DEFAULT] bridge_dev', conf.bridge_dev), *further,
                         ('[frr] vrf_name', conf.frr.vrf_name)):
        if name in pair:
            yield say(option, name,
                      'this is the name of an end of the veth pair that the '
                      'agent makes; name the device that you made')
    if conf.bridge_dev == conf.frr.vrf_name:
        yield say('[frr] vrf_name', conf.frr.vrf_name,
                  'is [DEFAULT] bridge_dev too; one is the VRF of the '
                  'uplink, the other the bridge of the provider networks')
    if conf.frr.vrf_name in conf.further_bridges:
        yield say(_FURTHER, conf.further_bridges,
                  f'{conf.frr.vrf_name} is [frr] vrf_name too; one is the '
                  'VRF of the uplink, the other a bridge of provider networks')
    found = bridges.served(conf)
    if len(set(found)) != len(found):
        yield say(_FURTHER, conf.further_bridges,
                  'names a bridge twice, or names [DEFAULT] bridge_dev; name '
                  'each bridge once')


def _vip_device(conf: cfg.ConfigOpts) -> Iterator[str]:
    name = conf.port_forward.port_forward_dev
    others = {ownership.VETH_DEFAULT: 'an end of the veth pair',
              ownership.VETH_PROVIDER: 'an end of the veth pair',
              conf.bridge_dev: '[DEFAULT] bridge_dev',
              **dict.fromkeys(conf.further_bridges, _FURTHER),
              conf.frr.vrf_name: '[frr] vrf_name'}
    if conf.port_forward.rules_file and name in others:
        yield say('[port_forward] port_forward_dev', name,
                  f'is {others[name]} too; make a dummy device for VIPs and '
                  'name that')


def _reply_table(conf: cfg.ConfigOpts) -> Iterator[str]:
    if not conf.port_forward.rules_file:
        return
    table = conf.port_forward.port_forward_table_id
    for option, other in (
            ('[veth_leak] veth_leak_table_id',
             conf.veth_leak.veth_leak_table_id),
            ('[fip_route] route_table_id', conf.fip_route.route_table_id)):
        if table == other:
            yield say('[port_forward] port_forward_table_id', str(table),
                      f'is {option} too; choose another one between 1 and 252')


def _tables(conf: cfg.ConfigOpts) -> Iterator[str]:
    table = conf.veth_leak.veth_leak_table_id
    if veth_leak.enabled(conf) and conf.fip_route.route_table_id == table:
        yield say('[veth_leak] veth_leak_table_id', str(table),
                  'is [fip_route] route_table_id too; choose another one '
                  'between 1 and 252')


def _evpn(conf: cfg.ConfigOpts) -> Iterator[str]:
    if 'evpn' not in conf.drivers:
        return
    own = conf.evpn
    if bool(own.local_ip) is bool(own.local_device):
        yield say('[evpn] local_ip', own.local_ip,
                  'the driver evpn needs either the address of this node that '
                  'the VXLAN tunnels come from, such as that of the loopback '
                  'device, or in [evpn] local_device the device that has it' +
                  (f', and not both; remove local_device = {own.local_device}'
                   if own.local_device else ''))
    numbers = [name.rpartition(':')[0] for name in conf.evpn.vnis]
    if len(set(numbers)) != len(numbers):
        yield say('[evpn] vnis', conf.evpn.vnis,
                  'names a network twice; give each network one VNI')
    yield from _before_guard(conf)


def _before_guard(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Check that no rule comes before those that keep VNIs apart.

    It would take packets without a route in the VRF of their tenant.
    """
    fips, leak = conf.fip_route, conf.veth_leak.veth_leak_rule_priority
    guard = ownership.EVPN_RULE_PRIORITY
    for used, option, value, first in (
            (fips.route_table_id, '[fip_route] route_rule_priority',
             fips.route_rule_priority, fips.route_rule_priority),
            # Without a VRF: see fip_route.own_table().
            (True, '[veth_leak] veth_leak_rule_priority', leak,
             ownership.leak_priorities(leak)[0])):
        if used and first <= guard:
            yield say(option, str(value),
                      f'the rules of the driver evpn have the priority '
                      f'{guard:d} and have to come first, or packets of '
                      'tenants in VRFs of VNIs would leave these; choose '
                      f'{guard + 1 + value - first:d} or more')


def _priorities(conf: cfg.ConfigOpts) -> Iterator[str]:
    if not conf.fip_route.route_table_id or not veth_leak.enabled(conf):
        return
    first, *_ = ownership.leak_priorities(
        conf.veth_leak.veth_leak_rule_priority)
    if conf.fip_route.route_rule_priority >= first:
        yield say('[fip_route] route_rule_priority',
                  str(conf.fip_route.route_rule_priority),
                  'does not come before the rules of the veth leak, which '
                  f'begin at {first:d}, so what arrives there would never '
                  'find its route; choose a lower number')


def _forward_priorities(conf: cfg.ConfigOpts) -> Iterator[str]:
    if not (conf.port_forward.rules_file and conf.frr.vrf_name):
        return
    fixed = ownership.FORWARD_PRIORITIES
    fips = conf.fip_route.route_rule_priority
    if conf.fip_route.route_table_id and fips in fixed:
        yield _priority_taken('[fip_route] route_rule_priority', fips)
    leak = conf.veth_leak.veth_leak_rule_priority
    # Some belong to port_forward, and need no veth_leak.
    if set(fixed) & set(ownership.leak_priorities(leak)):
        yield _priority_taken('[veth_leak] veth_leak_rule_priority', leak)


def _priority_taken(option: str, priority: int) -> str:
    fixed = ownership.FORWARD_PRIORITIES
    return say(option, str(priority),
               f'the rules of port forwards have the priorities {fixed[0]} to '
               f'{fixed[-1]}; choose a higher number')


def _pair(conf: cfg.ConfigOpts) -> Iterator[str]:
    if not veth_leak.enabled(conf):
        return
    nexthop = ip_text.interface(conf.veth_leak.veth_nexthop + '/30')
    provider = veth_leak.provider_ip(conf)
    hosts = [str(host) for host in nexthop.network.hosts()]
    if sorted(hosts) != sorted([str(nexthop.ip), provider]):
        shown = conf.veth_leak.veth_provider_ip or f'{provider} (computed)'
        yield (f'[veth_leak] veth_nexthop = {nexthop.ip}, veth_provider_ip = '
               f'{shown}: these are not the two hosts of one /30; in this '
               f'one they are {" and ".join(hosts)}')


def _pair_overlaps(conf: cfg.ConfigOpts) -> Iterator[str]:
    if not veth_leak.enabled(conf):
        return
    nexthop = ip_text.interface(conf.veth_leak.veth_nexthop + '/30')
    networks = [conf.bridge_ip] if conf.bridge_ip else []
    for other in networks + conf.network_cidr:
        if other not in _EVERYTHING and nexthop.network.overlaps(
                ip_text.network(other)):
            option = ('[DEFAULT] bridge_ip' if other == conf.bridge_ip
                      else '[DEFAULT] network_cidr')
            yield say('[veth_leak] veth_nexthop', str(nexthop.ip),
                      f'its /30 overlaps {other} ({option}); use another '
                      'link-local /30')


def _networks(conf: cfg.ConfigOpts) -> Iterator[str]:
    """No provider network may match all traffic of the node."""
    for text in set(_EVERYTHING) & set(conf.network_cidr):
        yield say('[DEFAULT] network_cidr', conf.network_cidr,
                  f'{text} is everything, also what this node sends '
                  'itself; name the provider networks, or nothing to have '
                  'them discovered')


def drains(conf: cfg.ConfigOpts) -> bool:
    """Whether a stop drains the gateway ports first."""
    return ('gateway_drain' in conf.drivers and
            conf.gateway_drain.drain_on_shutdown)


def _no_time_to_drain(conf: cfg.ConfigOpts) -> Iterator[str]:
    if drains(conf) and not conf.gateway_drain.drain_timeout:
        yield say('[gateway_drain] drain_timeout', '0',
                  'there is no time to hand anything over; set it to the '
                  'seconds that a stop may wait for it, like 60, or '
                  'drain_on_shutdown to false')


def _silent_before_missing(conf: cfg.ConfigOpts) -> Iterator[str]:
    limit = conf.gateway_drain.silent_chassis_limit
    grace = conf.gateway_drain.stale_chassis_grace_period
    if 0 < limit < grace:
        yield say('[gateway_drain] silent_chassis_limit', f'{limit:g}',
                  f'is shorter than stale_chassis_grace_period ({grace:g}), '
                  'and a chassis that OVN still has deserves more time than '
                  f'one that is gone; set it to {grace:g} or more, or to 0 to '
                  'turn it off')


# Least values: one lost packet must not move a gateway port, and timers below
# 50 ms are those of hardware.
_BFD = {'bfd_min_rx': 50, 'bfd_min_tx': 50, 'bfd_mult': 2}


def _bfd_timers(conf: cfg.ConfigOpts) -> Iterator[str]:
    timers = {name: conf.ovn[name] for name in _BFD}
    if not any(timers.values()):
        return
    unset = [name for name, value in timers.items() if not value]
    if unset:
        name = next(name for name in timers if timers[name])
        yield say(f'[ovn] {name}', str(timers[name]),
                  f'the three make one time, and {" and ".join(unset)} is '
                  'not set; set bfd_min_rx, bfd_min_tx and bfd_mult, or none '
                  'of them')
    for name, least in _BFD.items():
        if 0 < timers[name] < least:
            yield say(f'[ovn] {name}', str(timers[name]),
                      f'is too small; set it to {least:d} or more, or to 0 '
                      'to turn it off')
    if 'gateway_drain' not in conf.drivers:
        yield say('[ovn] bfd_min_rx', str(conf.ovn.bfd_min_rx),
                  'the driver gateway_drain writes it, and [DEFAULT] drivers '
                  'does not name that driver; add gateway_drain there, or '
                  'set the three to 0')


def _selections(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Check that no address is both included and excluded by one option.

    To exclude a part of an inclusion is fine.
    """
    values = conf.announce
    excluded = list(map(ip_text.network, values.exclude_cidrs))
    for text in values.include_cidrs:
        network = ip_text.network(text)
        for other in excluded:
            if (network.version == other.version and
                    network.subnet_of(other)):  # type: ignore[arg-type]
                yield say('[announce] include_cidrs', text,
                          f'exclude_cidrs has {other}, which wins, so '
                          'nothing of it would be announced; remove one of '
                          'the two')
    for kind in ('routers', 'networks'):
        both = set(values['include_' + kind]) & set(
            values['exclude_' + kind])
        for name in sorted(both):
            yield say(f'[announce] include_{kind}', name,
                      f'exclude_{kind} has it, too, and wins; remove it from '
                      'one of the two')
    for option in ('router_tags', 'network_tags'):
        found = [name for name, _tag in selection.tags(values[option])]
        for name in sorted({each for each in found if found.count(each) > 1}):
            yield say(f'[announce] {option}', values[option],
                      f'has {name} more than once; a route has one tag, so '
                      'name each once')
    if conf.network_cidr and values.include_cidrs and not any(
            ip_text.network(text).overlaps(ip_text.network(other))
            for text in values.include_cidrs for other in conf.network_cidr):
        yield say('[announce] include_cidrs', values.include_cidrs,
                  'no address of [DEFAULT] network_cidr is in it, so nothing '
                  'would be announced; name networks within '
                  f'{",".join(conf.network_cidr)}')


def _policy_priorities(conf: cfg.ConfigOpts) -> Iterator[str]:
    if 'network_peer' not in conf.drivers:
        return
    allow = conf.network_peer.allow_priority
    drop = conf.network_peer.drop_priority
    egress = conf.egress_ip.policy_priority
    if 'egress_ip' in conf.drivers and egress >= drop:
        yield say('[egress_ip] policy_priority', str(egress),
                  'comes before the policies of the driver network_peer '
                  f'(drop_priority is {drop:d}), so these would not drop what '
                  'they have to; choose a number below it')
    if allow <= drop:
        yield say('[network_peer] allow_priority', str(allow),
                  f'does not come before drop_priority ({drop:d}), so all '
                  'packets of peers would be dropped; choose a number above '
                  'it')


RULES = (_devices, _vip_device, _tables, _reply_table, _evpn,
         _policy_priorities, _priorities,
         _forward_priorities, _pair, _pair_overlaps, _networks,
         _no_time_to_drain, _silent_before_missing, _bfd_timers, _selections)
