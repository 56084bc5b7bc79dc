# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The first screen of an operator: "status", from its JSON.  Pure."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from ovn_network_agent.common import wording
from ovn_network_agent.conf import mode
from ovn_network_agent.control.reports import text

#: Gives a text the colour of a state.
Paint = Callable[[str, str], str]

GATEWAYS = ['ROUTER', 'ADDRESS', 'OWNER', 'STATE', 'CANDIDATES']
ALWAYS = ('announced', 'waiting', 'failed')


def of_status(found: dict[str, Any], verbose: bool = False,
              paint: Paint = lambda words, _state: words) -> str:
    """The state of the agent.

    :param verbose: whether with all that the engine does
    :param paint: gives a text the colour of a state
    """
    lines = [*_verdict(found, paint), *_counts(found, paint)]
    routers = {router['uuid']: router for router in found['routers']}
    if found['drains']:
        lines.append(_titled('drains', text.drains(found, routers)))
    rows = gateway_rows(found['groups'], routers)
    lines += _titles('gateways', aligned(
        [GATEWAYS, *rows], 3, ['', *(row[3] for row in rows)], paint)
        if rows else ())
    lines += [f'stopping, and waiting for: {what}'
              for what in found['waiting']]
    lines += text.last_reload(found['reload'])
    for vip in found['vips']:
        lines += text.vip_lines(vip)
    if verbose:
        lines += ['', *text.details(found, routers)]
    return '\n'.join(line.rstrip() for line in lines) + '\n'


def _verdict(found: dict[str, Any], paint: Paint) -> Iterator[str]:
    verdict = found['verdict']
    up = found['up_seconds']
    reasons = verdict['reasons']
    repairs = sum(each['count'] for each in found['repairs'])
    forwards = found['mode'] == mode.FORWARDS_ONLY
    yield '  '.join((
        found['hostname'] or '?',
        paint(verdict['state'].upper(), verdict['state']),
        f' {found["version"]}', *([found['mode']] if forwards else ()),
        *([] if up is None else [f'up {duration(up)}']),
        f' {wording.count(len(reasons), "problem")}, '
        f'{wording.count(repairs, "repair")} since the start'))
    yield from _titles('problems', reasons)


def _counts(found: dict[str, Any], paint: Paint) -> Iterator[str]:
    counted = found['addresses']
    counts = {state: number for state, number in counted['counts'].items()
              if number or state in ALWAYS}
    if counts or not counted['problem']:
        shown = [paint(f'{counts.get(state, 0):d} {state}', state)
                 if counts.get(state) else f'0 {state}'
                 for state in (*ALWAYS, *sorted(set(counts) - {*ALWAYS}))]
        stuck = counts.get('waiting') or counts.get('failed')
        where = '          (addresses --state STATE)' if stuck else ''
        yield _titled('addresses', '   '.join(shown) + where)
    yield from _titles('' if counts else 'addresses',
                       [counted['problem']] * bool(counted['problem']))
    yield from _titles('databases', ['  '.join(
        f'{name} ' + (paint('ok', 'ok') if state['connected'] else
                      paint('lost', 'failed'))
        for name, state in sorted(found['databases'].items()))]
        * bool(found['databases']))
    yield from _titles('bgp', _sessions(found['bgp'], paint))


def _sessions(found: dict[str, Any], paint: Paint) -> Iterator[str]:
    if found['problem']:
        yield paint(found['problem'], 'waiting')
    sessions = found['sessions']
    both = len({each['family'] for each in sessions}) > 1
    rows = [[each['peer'], each['state'], duration(each['seconds'])
             if each['seconds'] is not None else '',
             ' / '.join(f'{"-" if each[way] is None else each[way]} {way}'
                        for way in ('sent', 'received')),
             each['family'] if both else ''] for each in sessions]
    states = [each['state'] if each['state'] == 'Established' else 'failed'
              for each in sessions]
    yield from aligned(rows, 1, states, paint)


def gateway_rows(groups: list[dict[str, Any]],
                 routers: Mapping[str, dict[str, Any]]) -> list[list[str]]:
    """A row of :data:`GATEWAYS` for each gateway port."""
    found = []
    for group in groups:
        hosts = {each['chassis']: each['hostname'] or each['chassis']
                 for each in group['candidates']}
        for port in group['ports']:
            of = [port['router']] if port['router'] else group['routers']
            owner = port['chassis']
            found.append([
                ', '.join(text.name_of_router(routers[uuid]) for uuid in of
                          if uuid in routers) or group['name'],
                ' '.join(each.partition('/')[0] for each
                         in port['networks']) or '-',
                hosts.get(owner, owner) or '-', group['state'],
                ' '.join(f'{hosts[each["chassis"]]}'
                         f'{"*" if each["chassis"] == owner else ":"}'
                         f'{each["priority"]:d}'
                         for each in group['candidates'])])
    return found


def aligned(rows: list[list[str]], painted: int, states: list[str],
            paint: Paint) -> Iterator[str]:
    """Rows as lines with aligned columns, one of them in colours."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, state in zip(rows, states, strict=True):
        cells = [cell.ljust(width) for cell, width
                 in zip(row, widths, strict=True)]
        cells[painted] = cells[painted].replace(
            row[painted], paint(row[painted], state), 1)
        yield '  '.join(cells).rstrip()


def duration(seconds: float) -> str:
    """Seconds as the two largest units, such as "3d 4h"."""
    left = int(seconds)
    parts: list[str] = []
    for unit, size in (('d', 86400), ('h', 3600), ('m', 60), ('s', 1)):
        if left >= size or parts or size == 1:
            parts.append(f'{left // size:d}{unit}')
            left %= size
    return ' '.join(parts[:2])


def _titled(title: str, line: str) -> str:
    return f'{title:<12}{line}'


def _titles(title: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield _titled(title, line)
        title = ''
