# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The page of the command fleet: all gateways, and who takes over from whom.

Tenants choose the names of routers, so each text is escaped; the policy lets a
browser run no script and load nothing.
"""

import collections
from collections.abc import Iterator

from ovn_network_agent.common import wording
from ovn_network_agent.ctl import fleet as texts
from ovn_network_agent.diagnosis.readers import fleet as fleets
from ovn_network_agent.metrics import page

# Only a header may have the part that is left out.
_POLICY = page.escaped(page.POLICY.replace("frame-ancestors 'none'; ", ''))
# Measures of the drawing, in pixels.
_BOX, _ROW, _WIDTH, _HEIGHT = 300, 58, 1000, 44
_LONGEST = 32  # characters in a box
# Names of colours, for light and dark backgrounds.
_COLOURS = {'good': 'var(--good)', 'warn': 'var(--warn)', 'bad': 'var(--bad)'}


def render(found: fleets.Fleet, at: str) -> bytes:
    """The page as UTF-8.

    :param at: the time of the state, for people
    """
    return page.document('Gateways', (
        *_head(found, at), *_problems(found), *_drawing(found),
        *_gateways(found), *_ports(found)), (
            '<meta http-equiv="Content-Security-Policy" '
            f'content="{_POLICY}">',))


def _head(found: fleets.Fleet, at: str) -> Iterator[str]:
    states = collections.Counter(each.state for each in found.ports)
    up = sum(each.state == fleets.UP for each in found.gateways)
    every = len(found.gateways)
    mark = 'good' if up == every and not found.problems else 'warn'
    alone = sum(not each.next_owner for each in found.ports)
    words = [wording.count(len(found.ports), 'gateway port'),
             *(f'{number:d} {state}'
               for state, number in sorted(states.items())),
             *([f'{alone:d} without a next owner'] * bool(alone)),
             f'as of {at}']
    yield ('<header><h1>Gateways</h1>'
           f'<span class="badge {mark}">{up:d} of {every:d} up</span>'
           f'<span class="soft">{page.escaped(" · ".join(words))}</span>'
           '</header>')


def _problems(found: fleets.Fleet) -> Iterator[str]:
    if found.problems:
        yield from page.section('Not asked')
        yield from (f'<p>{page.escaped(each)}</p>' for each in found.problems)
        yield '</section>'


def _drawing(found: fleets.Fleet) -> Iterator[str]:
    """Owners on the left, next owners on the right, a line for each pair."""
    rows = {each.hostname: number
            for number, each in enumerate(found.gateways)}
    pairs = collections.Counter(
        (rows[each.owner], rows[each.next_owner]) for each in found.ports
        if each.owner in rows and each.next_owner in rows)
    most = max(pairs.values(), default=1)
    height = _ROW * len(rows) + 30
    yield from page.section('Who takes over')
    yield (f'<svg viewBox="0 0 {_WIDTH:d} {height:d}" role="img" '
           'font-family="inherit" font-size="14">'
           '<g fill="var(--soft)"><text x="4" y="16">serves now</text>'
           f'<text x="{_WIDTH - _BOX + 4:d}" y="16">takes over</text></g>')
    middle = _WIDTH // 2
    for (owner, successor), count in sorted(pairs.items()):
        begin, end = (30 + _ROW * row + _HEIGHT // 2
                      for row in (owner, successor))
        yield (f'<path d="M{_BOX:d} {begin:d} C{middle:d} {begin:d} '
               f'{middle:d} {end:d} {_WIDTH - _BOX:d} {end:d}" fill="none" '
               f'stroke="var(--soft)" stroke-opacity=".55" '
               f'stroke-width="{1.5 + 8 * count / most:.1f}"><title>'
               f'{page.escaped(_pair(found, owner, successor, count))}'
               '</title></path>')
    for number, each in enumerate(found.gateways):
        for left, count, of in ((0, each.serves, 'served'),
                                (_WIDTH - _BOX, each.takes_over, 'to take')):
            yield _box(each, left + 1, 30 + _ROW * number, f'{count:d} {of}')
    yield '</svg></section>'


def _pair(found: fleets.Fleet, owner: int, successor: int, count: int) -> str:
    one, other = (found.gateways[number].hostname
                  for number in (owner, successor))
    return f'{other} takes over {count:d} from {one}'


def _box(gateway: fleets.Gateway, left: int, top: int, count: str) -> str:
    colour = _COLOURS[page.CLASSES.get(gateway.state, 'warn')]
    name = gateway.hostname
    if len(name) > _LONGEST:
        name = name[:_LONGEST - 1] + '…'
    return (f'<g><title>{page.escaped(gateway.hostname)}</title>'
            f'<rect x="{left:d}" y="{top:d}" width="{_BOX - 2:d}" '
            f'height="{_HEIGHT:d}" rx="6" fill="var(--card)" '
            f'stroke="{colour}" stroke-width="1.5"/>'
            f'<text x="{left + 12:d}" y="{top + 19:d}" fill="var(--text)">'
            f'{page.escaped(name)}</text>'
            f'<text x="{left + 12:d}" y="{top + 36:d}" font-size="12" '
            f'fill="{colour}">{page.escaped(gateway.state)}</text>'
            f'<text x="{left + _BOX - 14:d}" y="{top + 36:d}" font-size="12" '
            f'fill="var(--soft)" text-anchor="end">{count}</text></g>')


def _gateways(found: fleets.Fleet) -> Iterator[str]:
    for gateway in found.gateways:
        yield from page.section(gateway.hostname)
        drained = texts.drains(gateway)
        notes = [gateway.state, f'chassis {gateway.chassis}',
                 *([f'drained: {drained}'] if gateway.drained else ())]
        mark = page.CLASSES.get(gateway.state, 'warn')
        yield (f'<p><b class="{mark}">{page.escaped(notes[0])}</b> '
               f'<span class="soft">{page.escaped(" · ".join(notes[1:]))}'
               '</span></p>')
        yield from page.table(
            ('Serves', 'Address', 'State', 'Next owner'),
            [(each.router, ' '.join(each.addresses) or '-', each.state,
              each.next_owner or 'nobody') for each in found.ports
             if each.owner == gateway.hostname], 2)
        yield from page.table(
            ('Would take over', 'Address', 'From'),
            [(each.router, ' '.join(each.addresses) or '-',
              each.owner or 'nobody') for each in found.ports
             if each.next_owner == gateway.hostname])
        yield '</section>'


def _ports(found: fleets.Fleet) -> Iterator[str]:
    yield from page.section('Gateway ports')
    yield from page.table(
        ('Router', 'Address', 'Owner', 'State', 'Candidates'),
        [(each.router, ' '.join(each.addresses) or '-', each.owner or '-',
          each.state, texts.order(each)) for each in found.ports],
        3, most=len(found.ports))
    yield '</section>'
