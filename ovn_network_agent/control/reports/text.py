# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The answers of the commands, JSON values, as text."""

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from ovn_network_agent import model
from ovn_network_agent.common import wording
from ovn_network_agent.conf import mode

_NAMED = 3  # routers of a group, or networks, in one name
_SHOWN = 5  # in the text; JSON has all that are remembered
_REASONS = 3  # reasons of a pass in one line


def of_change(done: dict[str, Any]) -> str:
    """The answer to drain and undrain."""
    known = {uuid: {'uuid': uuid, 'name': name, 'neutron_name': ''}
             for uuid, name in done.get('names', {}).items()}

    def called(drains: list[str]) -> str:
        return ', '.join('all routers' if drain == model.ALL else
                         f'router {name_of_drain(drain, known)}'
                         for drain in drains)
    outcome = 'written' if done['changed'] else 'nothing to change'
    lines = [f'{done["command"]} of {called(done["wanted"])}: {outcome}',
             f'drains now: {called(done["drains"]) or "none"}']
    for stay in done.get('stays', ()):
        lines.append(f'stays here: {", ".join(stay["routers"])}: '
                     f'{stay["reason"]} ({stay["group"]})')
    if done.get('machines'):
        lines.append(f'stays here: {of_machines(done["machines"])}')
    if done.get('peerings'):
        peerings = wording.count(done['peerings'], 'peering')
        lines.append(f'nothing to do for {peerings} of routers: their packets '
                     'need no gateway and no agent')
    lines += [f'forced: {text}' for text in done.get('forced', ())]
    return '\n'.join(lines) + '\n'


def of_machines(number: int) -> str:
    """The addresses of machines, which no drain moves."""
    return (f'{wording.count(number, "address")} of machines on provider '
            'networks, announced where the machine is; move the machines by '
            'live migration')


def of_reload(found: dict[str, Any]) -> str:
    """The answer to reload."""
    if found['refused']:
        lines = ['reload: refused, nothing has changed']
        lines += [f'  {reason}' for reason in found['refused']]
    else:
        lines = [f'reload: {"changed" if found["changed"] else "no change"}']
        lines += [f'  {of_option(change)}' for change in found['changed']]
    lines += [f'waits for a restart: {of_option(change)}'
              for change in found['waiting']]
    return '\n'.join(lines) + '\n'


def of_option(change: dict[str, Any]) -> str:
    """One changed option in words."""
    text = (f'[{change["section"]}] {change["option"]}: '
            f'{change["before"] or "(empty)"} -> '
            f'{change["after"] or "(empty)"}')
    return f'{text} ({change["reason"]})' if change['reason'] else text


def details(found: dict[str, Any], routers: Mapping[str, dict[str, Any]]
            ) -> Iterator[str]:
    """What "status" adds with --verbose."""
    full = found['mode'] != mode.FORWARDS_ONLY
    role = (f'chassis {found["chassis"] or "not known yet"}' if full
            else found['mode'])
    yield (f'ovn-network-agent {found["version"]} on '
           f'{found["hostname"] or "?"} ({role}): {found["phase"]}')
    for name, state in sorted(found['databases'].items()):
        is_so = 'connected' if state['connected'] else state['trouble']
        start = f' since {state["since"]}' if state['since'] else ''
        yield f'database {name}: {is_so}{start}'
    if full:
        yield f'drains: {drains(found, routers) or "none"}'
    if found['overlap']:
        yield f'overlap: {found["overlap"]}'
    yield 'degraded:' if found['degraded'] else 'degraded: no'
    yield from (f'  {reason}' for reason in found['degraded'])
    yield from engine(found)
    for group in found['groups']:
        yield from _group(group, routers)


def last_reload(last: dict[str, Any] | None) -> list[str]:
    """A reload that was refused, or that waits for a restart."""
    if last is None or not (last['refused'] or last['waiting']):
        return []
    return [f'last reload, at {last["at"]}:',
            *(f'  {line}' for line in of_reload(last).splitlines())]


def drains(found: dict[str, Any], routers: Mapping[str, dict[str, Any]]
           ) -> str:
    """The drains of this node, with their begins."""
    starts = found['drains_since']
    return ', '.join(
        name_of_drain(drain, routers) +
        (f' since {starts[drain]}' if drain in starts else '')
        for drain in found['drains'])


def vip_lines(vip: dict[str, Any]) -> Iterator[str]:
    """A VIP, its ports and dead destinations."""
    reason = f' ({vip["reason"]})' if vip['reason'] else ''
    yield f'vip {vip["address"]}: {vip["state"]}{reason}'
    for rule in vip['rules']:
        yield (f'  {rule["proto"]} {rule["port"]:d}: '
               f'{wording.count(len(rule["backends"]), "destination")}, '
               f'port {rule["dest_port"]:d}, {_health(rule)}')


def _health(rule: dict[str, Any]) -> str:
    if not rule['checked']:
        return 'not checked'
    dead = [f'{b["address"]} ({b["why"]})' if b['why'] else b['address']
            for b in rule['backends'] if not b['alive']]
    return f'dead: {", ".join(dead)}' if dead else 'all alive'


def _group(group: dict[str, Any], routers: Mapping[str, dict[str, Any]]
           ) -> Iterator[str]:
    yield ''
    yield f'gateway of {group["label"]}: {group["table"]} {group["name"]}'
    for uuid in group['routers']:
        yield '  ' + _router(routers[uuid])
    hosts = {c['chassis']: c['hostname'] for c in group['candidates']}
    for port in group['ports']:
        yield (f'  port {_port(port, group)}: {_place(port, hosts)}'
               f'{_handover(port)}')
    for candidate in group['candidates']:
        unknown = '' if candidate['known'] else ', no chassis in OVN SB'
        drained = (f', drained: {candidate["drained"]}'
                   if candidate['drained'] else '')
        yield (f'  candidate {candidate["hostname"]}: priority '
               f'{candidate["priority"]:d}{unknown}{drained}')
    yield f'  state: {group["state"]}'
    yield '  ' + _drain(group)


def _port(port: dict[str, Any], group: dict[str, Any]) -> str:
    networks = ', '.join(port['networks'])
    if networks and port['name'] != group['name']:
        return f'{networks} ({port["name"]})'
    return networks or port['name']


def _place(port: dict[str, Any], hosts: Mapping[str, str]) -> str:
    if port['here']:
        return 'here'
    chassis = port['chassis']
    return f'on {hosts.get(chassis, chassis)}' if chassis else 'nowhere'


def _handover(port: dict[str, Any]) -> str:
    if port['handover'] == 'none':
        return ''
    start = port['handover_since']
    return f', handover: {port["handover"]}' + (
        f' since {start}' if start else '')


def _drain(group: dict[str, Any]) -> str:
    if group['pending']:
        return 'not yet as wished: ' + ', '.join(group['pending'])
    if not group['wish']:
        return (f'drained: {group["drained"]}'
                if group['drained'] else 'not drained')
    if group['stays']:
        return f'a drain is requested, and it stays: {group["stays"]}'
    return f'drained, as requested ({group["wish"]})'


def _router(router: dict[str, Any]) -> str:
    text = f'router {name_of_drain(router["uuid"], {router["uuid"]: router})}'
    if not router['routed_by']:
        return text
    proof = (f'proved to be announced by {router["advertised_by"]}'
             if router['advertised_by'] else 'no proof that it is announced')
    return f'{text}: default route by {router["routed_by"]}, {proof}'


def engine(found: dict[str, Any]) -> Iterator[str]:
    """The state of the engine in lines."""
    if found['working']:
        yield f'at work: {found["working"]}'
    yield from _backends(found['backends'])
    if found['repairs']:
        yield 'repairs of what others removed or changed:'
        width = max(len(each['kind']) for each in found['repairs'])
        for each in found['repairs']:
            yield (f'  {each["kind"]:<{width}}  '
                   f'{wording.count(each["count"], "time")}, '
                   f'last {each["last"]}')
    if found['passes']:
        yield 'last passes:'
        for done in found['passes'][-_SHOWN:]:
            yield '  ' + _line(done)


def _backends(backends: list[dict[str, Any]]) -> Iterator[str]:
    bad = [each for each in backends if each['state'] != 'ok']
    if backends:
        yield (f'backends: {len(backends) - len(bad):d} of '
               f'{len(backends):d} ok')
    width = max((len(each['name']) for each in backends), default=0)
    for each in bad:
        parts = [each['state']]
        if each['failed']:
            parts.append(wording.count(each['failed'], 'resource'))
        if each['reason']:
            parts.append(each['reason'])
        parts.append(f'last read {each["last_read"] or "never"}')
        if each['retry_in'] is not None:
            parts.append(f'again in {each["retry_in"]:.0f} s')
        yield f'  {each["name"]:<{width}}  {"; ".join(parts)}'


def _line(done: dict[str, Any]) -> str:
    reasons = ', '.join(done['reasons'][:_REASONS])
    if len(done['reasons']) > _REASONS:
        reasons += ', ...'
    full = ', everything read' if done['full'] else ''
    problem = f': {done["trouble"]}' if done['trouble'] else ''
    return (f'{done["at"]}  {done["seconds"] * 1000:8.1f} ms  '
            f'{wording.count(done["changes"], "change"):>13}  '
            f'for {reasons}{full}{problem}')


def name_of_router(router: dict[str, Any]) -> str:
    """The name of a router: that of Neutron, that of the row, or its UUID."""
    return str(router['neutron_name'] or router['name'] or router['uuid'])


def name_of_group(group: dict[str, Any], routers: Mapping[str, dict[str, Any]]
                  ) -> str:
    """The name of a gateway group: its routers, and their addresses."""
    names = _some([name_of_router(routers[uuid]) for uuid in group['routers']])
    networks = _some([network for port in group['ports']
                      for network in port['networks']])
    found = f'{names} ({networks})' if networks else names
    return found or group['name']


def name_of_port(port: dict[str, Any], group: dict[str, Any],
                 routers: Mapping[str, dict[str, Any]]) -> str:
    """The name of a gateway port, as seen from its group."""
    if len(group['ports']) == 1:
        return 'gateway port'
    router = routers.get(port['router'])
    of = f' of {name_of_router(router)}' if router else ''
    return f'gateway port{of} ({_some(port["networks"]) or port["name"]})'


def name_of_drain(drain: str, routers: Mapping[str, dict[str, Any]]) -> str:
    """The name of one wish: a router with its UUID, or all."""
    router = routers.get(drain)
    if router is None or name_of_router(router) == drain:
        return drain
    return f'{name_of_router(router)} ({drain})'


def _some(names: list[str]) -> str:
    return wording.first(names, _NAMED)
