# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Results of tools.bench as the tables of the documentation's page."""

from tools.bench import observe
from tools.bench import results
from tools.bench import scenarios
from tools.bench import table
from tools.bench import worlds

_TIMES = ('event', 'present', 'agent', 'floor', 'ratio', 'n')
_COSTS = ('what', 'unit', 'present', 'agent', 'n')
_PEERS = ('event', 'present', 'agent', 'peer', 'times', 'n')
_COMPARED = ('event', 'present', 'agent', 'other revision', 'ratio', 'n')
# Places of the second table.
_PLACES = (scenarios.PROCESSOR, scenarios.WAKES, scenarios.MEMORY)


def lines(document):
    """The page's tables in reStructuredText, a list of text.

    A table without a row is left out.
    """
    runs = results.by_run(document)
    keys = sorted({key for run in runs for key in run
                   if key.subject == table.OURS}, key=_order)
    others = sorted({key.subject for run in runs for key in run} -
                    {table.FLOOR, table.PEER, table.OURS})
    parts = [
        ('The agent and the floor, in milliseconds', _TIMES,
         [_beside(runs, key, table.like(key, table.FLOOR)) for key in keys]),
        ('The processor, and the memory', _COSTS,
         [_cost(runs, key) for key in keys if key.place in _PLACES]),
        ('The agent and the peer, in milliseconds', _PEERS,
         # The peer's time ends with the kernel.
         [_beside(runs, key, table.like(key, table.PEER, ''), inverse=True,
                  places=(worlds.ALL, observe.ROUTE)) for key in keys])]
    parts += [(f'The agent and its revision {other}, in milliseconds',
               _COMPARED,
               [_beside(runs, key, table.like(key, other)) for key in keys])
              for other in others]
    return [line for title, titles, rows in parts if any(rows)
            for line in _rst(title, titles, list(filter(None, rows)))]


def _order(key):
    # The events in the order of their names, a growing number in each.
    return (key.what, key.method, key.routers, key.size, key.place)


def _beside(runs, key, other, inverse=False, places=(worlds.ALL,)):
    """A row of two subjects, () unless both were measured in one run."""
    if key.place not in places or key.unit != 'ms':
        return ()
    ratio = results.ratio(runs, key, other)
    if ratio is None:
        return ()
    together = [run for run in runs if key in run and other in run]
    counts = {len(results.values(together, each)) for each in (key, other)}
    place = '' if key.place == worlds.ALL else f', {key.place} alone'
    return (_name(key) + place, f'{key.size:,d}',
            *(_number(together, each) for each in (key, other)),
            table.number(1 / ratio if inverse else ratio),
            f'{min(counts):d}')


def _cost(runs, key):
    found = results.values(runs, key)
    return (f'{_name(key)}: {key.place}', key.unit, f'{key.size:,d}',
            _number(runs, key), f'{len(found):d}')


def _name(key):
    routers = '' if key.routers in (0, 10) else f', {key.routers:,d} routers'
    return f'{key.what}, ``{key.method}``{routers}'


def _number(runs, key):
    """The median, with the worst value in brackets."""
    found = results.summary(results.values(runs, key))
    if found.count == 1:
        return table.number(found.median)
    return f'{table.number(found.median)} ({table.number(found.most)})'


def _rst(title, titles, rows):
    widths = [max(len(row[n]) for row in (titles, *rows))
              for n in range(len(titles))]
    rule = '  '.join('=' * width for width in widths)
    body = ['  '.join(cell.ljust(width) for cell, width
                      in zip(row, widths, strict=True)).rstrip()
            for row in (titles, *rows)]
    return ['', f'{title}:', '', rule, body[0], rule, *body[1:], rule]
