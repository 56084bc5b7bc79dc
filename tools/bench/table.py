# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Results of tools.bench as a table of text."""

import dataclasses

from tools.bench import results
from tools.bench import worlds

FLOOR, PEER, OURS = 'floor', 'peer', 'ours'
_TITLES = ('what', 'present', 'routers', 'who', 'median', 'p90', 'p99',
           'worst', 'n', 'x floor', 'peer x', 'x other')


def lines(document, hidden=()):
    """The lines of the table of a document."""
    runs = results.by_run(document)
    keys = sorted({key for run in runs for key in run
                   if key.place not in hidden}, key=_order)
    others = sorted({key.subject for key in keys} - {FLOOR, PEER, OURS})
    rows = [_TITLES, *(_row(runs, key, others) for key in keys)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(_TITLES))]
    return ['  '.join(
        cell.ljust(width) if n in (0, 3) else cell.rjust(width)
        for n, (cell, width) in enumerate(zip(row, widths, strict=True)))
        .rstrip() for row in rows]


def _order(key):
    return (key.what, key.place, key.size, key.routers, key.method,
            key.subject)


def _row(runs, key, others):
    found = results.summary(results.values(runs, key))
    place = '' if key.place == worlds.ALL else f' ({key.place})'
    return (key.what + place,
            f'{key.size:d}', f'{key.routers:d}',
            f'{key.subject} {key.method}'.strip(),
            f'{number(found.median)} {key.unit}', *map(
                number, (found.p90, found.p99, found.most)),
            f'{found.count:d}',
            _times(results.ratio(runs, key, like(key, FLOOR))),
            _times(results.ratio(runs, like(key, PEER, ''), key)),
            _times(next((found for found in (
                results.ratio(runs, key, like(key, other))
                for other in others) if found is not None), None)
                if key.subject == OURS else None))


def like(key, subject, method=None):
    """The same of another subject."""
    return dataclasses.replace(
        key, subject=subject,
        method=key.method if method is None else method)


def _times(found):
    """A ratio as text, '' when there is none or it is that to itself."""
    return '' if found is None or found == 1 else number(found)


def number(value):
    """A number with three digits, and all before the point."""
    return f'{value:,.0f}' if abs(value) >= 100 else f'{value:.3g}'
