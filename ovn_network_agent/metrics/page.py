# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The page for a browser: what "status" and "addresses" have, as HTML.

Tenants choose the names of routers, so each text is escaped, and the header
of :data:`POLICY` lets a browser run no script and load nothing.
"""

import base64
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import hashlib
import html
from typing import Any

from ovn_network_agent.control.reports import screen

STYLE = """
:root { color-scheme: light dark; --line: #d8dee4; --soft: #59636e;
  --back: #f6f8fa; --card: #fff; --text: #1f2328; --good: #1a7f37;
  --warn: #9a6700; --bad: #cf222e }
@media (prefers-color-scheme: dark) { :root { --line: #30363d;
  --soft: #9198a1; --back: #0d1117; --card: #151b23; --text: #e6edf3;
  --good: #3fb950; --warn: #d29922; --bad: #f85149 } }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem; color: var(--text);
  background: var(--back); font: 15px/1.45 system-ui, sans-serif }
header { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem;
  align-items: center }
h1 { font-size: 1.5rem; margin: 0 }
h2 { font-size: 1rem; margin: 0 0 .6rem }
section { background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; margin-top: 1rem; padding: .9rem 1.1rem;
  overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th { color: var(--soft); font-weight: 500; text-align: left }
th, td { border-bottom: 1px solid var(--line); padding: .3rem 1rem .3rem 0;
  vertical-align: top }
tr:last-child td { border-bottom: 0 }
table + table { margin-top: .8rem }
td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
p, ul { margin: 0 }
.badge { border-radius: 1rem; color: #fff; font-weight: 600;
  padding: .1rem .8rem; text-transform: uppercase }
.badge.good { background: #1a7f37 } .badge.warn { background: #9a6700 }
.badge.bad { background: #cf222e }
.counts { display: flex; flex-wrap: wrap; gap: .3rem 2.2rem }
.counts b { font-size: 1.5rem; margin-right: .35rem }
td.good, b.good { color: var(--good) } td.warn, b.warn { color: var(--warn) }
td.bad, b.bad { color: var(--bad) }
.soft { color: var(--soft) }
"""
#: The value of Content-Security-Policy: the style above, and nothing else.
POLICY = ("default-src 'none'; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'; style-src 'sha256-" + base64.b64encode(
              hashlib.sha256(STYLE.encode()).digest()).decode() + "'")
REFRESH = 10  # seconds until a browser asks again
# The most lines of a table.
MOST = 100

CLASSES = {'ready': 'good', 'announced': 'good', 'Established': 'good',
           'serving': 'good', 'ok': 'good', 'up': 'good',
           'degraded': 'warn', 'waiting': 'warn', 'held': 'warn',
           'wanted': 'warn', 'unknown': 'warn', 'not announced': 'warn',
           'not ready': 'bad', 'failed': 'bad', 'lost': 'bad',
           'silent': 'bad', 'gone': 'bad', 'no owner': 'bad'}


def render(found: dict[str, Any], at: str) -> bytes:
    """The page, of the JSON of "status".

    :param at: the time of the state, for people
    """
    verdict, name = found['verdict'], found['hostname'] or 'ovn-network-agent'
    title = f'{name}: {verdict["state"]}'
    return document(title, (
        *_head(found, at), *_problems(verdict), *_addresses(found),
        *_bgp(found['bgp']), *_gateways(found), *_repairs(found)), (
            f'<meta http-equiv="refresh" content="{REFRESH:d}">',))


def document(title: str, body: Iterable[str], head: Iterable[str] = ()
             ) -> bytes:
    """A whole page; ``head`` and ``body`` are lines of HTML."""
    return '\n'.join((
        '<!DOCTYPE html>', '<html lang="en">', '<head>',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">', *head,
        f'<title>{escaped(title)}</title>', f'<style>{STYLE}</style>',
        '</head>', '<body>', *body, '</body>', '</html>', '')).encode(
            errors='replace')


def escaped(value: object) -> str:
    """The text of a value for HTML, also in an attribute with quotes."""
    return html.escape(str(value))


def _head(found: dict[str, Any], at: str) -> Iterator[str]:
    state = found['verdict']['state']
    yield '<header>'
    yield f'<h1>{escaped(found["hostname"] or "?")}</h1>'
    yield f'<span class="badge {CLASSES[state]}">{escaped(state)}</span>'
    up = found['up_seconds']
    facts = [f'version {found["version"]}', found['phase'],
             *([] if up is None else [f'up {screen.duration(up)}']),
             *(f'{name} {"ok" if each["connected"] else "lost"}'
               for name, each in sorted(found['databases'].items())),
             f'as of {at}']
    yield f'<span class="soft">{escaped(" · ".join(facts))}</span></header>'


def _problems(verdict: dict[str, Any]) -> Iterator[str]:
    if verdict['reasons']:
        yield from section(f'Problems ({len(verdict["reasons"]):d})')
        yield '<ul>'
        yield from (f'<li>{escaped(reason)}</li>'
                    for reason in verdict['reasons'][:MOST])
        yield '</ul></section>'


def _addresses(found: dict[str, Any]) -> Iterator[str]:
    yield from section('Addresses')
    counts, problem = (found['addresses'][key] for key in ('counts',
                                                           'problem'))
    yield '<div class="counts">'
    for state in dict.fromkeys((*screen.ALWAYS, *counts)):
        number = counts.get(state, 0)
        mark = CLASSES.get(state, '') if number else ''
        yield (f'<span><b class="{mark}">{number:d}</b>{escaped(state)}'
               '</span>')
    yield '</div>'
    if problem:
        yield f'<p>{escaped(problem)}</p>'
    stuck = found['stuck']
    if stuck:
        yield from table(
            ('Address', 'Router', 'State', 'Stuck at', 'Since', 'Why'),
            [(each['address'], each['router_name'] or '-', each['state'],
              each['layer'] or '-', each['since'] or '-', each['why'])
             for each in stuck], 2)
    yield '</section>'


def _bgp(found: dict[str, Any]) -> Iterator[str]:
    yield from section('BGP sessions')
    if found['problem']:
        yield f'<p>{escaped(found["problem"])}</p>'
    elif not found['sessions']:
        yield '<p class="soft">none</p>'
    yield from table(
        ('Peer', 'Family', 'State', 'Since', 'Sent', 'Received'),
        [(each['peer'], each['family'], each['state'], each['since'] or '-',
          *('-' if each[key] is None else each[key]
            for key in ('sent', 'received'))) for each in found['sessions']],
        2, other='bad')
    yield '</section>'


def _gateways(found: dict[str, Any]) -> Iterator[str]:
    rows = screen.gateway_rows(found['groups'], {
        router['uuid']: router for router in found['routers']})
    if rows:
        yield from section('Gateways')
        yield from table([title.capitalize() for title in screen.GATEWAYS],
                         rows, 3)
        yield '</section>'


def _repairs(found: dict[str, Any]) -> Iterator[str]:
    rows = sorted(((each['kind'], each['backend'], each['count'],
                    each['last']) for each in found['repairs']),
                  key=lambda row: str(row[3]), reverse=True)
    yield from section('Repairs since the start')
    if not rows:
        yield ('<p class="soft">Nothing was removed or changed by others.'
               '</p>')
    yield from table(('Kind', 'Backend', 'Times', 'Last'), rows)
    yield '</section>'


def section(title: str) -> Iterator[str]:
    """The begin of a section, which the caller closes."""
    yield f'<section><h2>{escaped(title)}</h2>'


def table(titles: Iterable[str], rows: Sequence[Sequence[object]],
          state: int = -1, other: str = '', most: int = MOST
          ) -> Iterator[str]:
    """A table; ``state`` is the column with a state, in a colour.

    :param other: class of a state that is not known
    :param most: rows; a line says how many more there are
    """
    if not rows:
        return
    heads = ''.join(f'<th>{escaped(title)}</th>' for title in titles)
    yield f'<table><thead><tr>{heads}</tr></thead><tbody>'
    for row in rows[:most]:
        cells = []
        for place, value in enumerate(row):
            mark = (CLASSES.get(str(value), other)
                    if place == state else '')
            cells.append(f'<td{f" class={mark}" if mark else ""}>'
                         f'{escaped(value)}</td>')
        yield f'<tr>{"".join(cells)}</tr>'
    yield '</tbody></table>'
    if len(rows) > most:
        yield f'<p class="soft">and {len(rows) - most:d} more</p>'
