# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Latency against the number of floating IPs, as pictures (SVG).

Both axes are logarithmic; 0 floating IPs stand at the left edge, before a gap.
"""

import html
import math
import os

from tools import drawing
from tools.bench import results
from tools.bench import table
from tools.bench import worlds

# Events that have a picture, by the name of its file.
EVENTS = {'added': 'one added', 'removed': 'one removed', 'start': 'start',
          'burst-added': '1000 at once added',
          'burst-removed': '1000 at once removed'}
# Distinct on white, also for most people who see few colours.
_COLOURS = {'ours kernel': '#0072b2', 'ours static': '#d55e00',
            'floor kernel': '#56b4e9', 'floor static': '#e69f00',
            'peer': '#5a5a5a'}
_OTHER = '#cc79a7'
_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 620, 40, 340
_GRID, _FAINT = '#e2e8f0', '#718096'
# Where 0 floating IPs are drawn.
_NONE = 10


def write(document, directory):
    """Draw a picture of each event that was measured.

    :param document: see :func:`results.read`
    :param directory: of the files speed-EVENT.svg
    :returns: list of paths
    """
    paths = []
    for name, what in EVENTS.items():
        curves = points(document, what)
        if not curves:
            continue
        path = os.path.join(directory, f'speed-{name}.svg')
        with open(path, 'w') as opened:
            opened.write(svg(what, curves))
        paths.append(path)
    return paths


def points(document, what):
    """Medians of an event with ten routers, without a VRF.

    :returns: dict of subject and method to sorted list of (size, ms)
    """
    runs = results.by_run(document)
    found = {}
    for key in {key for run in runs for key in run}:
        if (key.what, key.place, key.routers, key.vrf) == (
                what, worlds.ALL, 10, False):
            median = results.summary(results.values(runs, key)).median
            found.setdefault(f'{key.subject} {key.method}'.strip(),
                             []).append((key.size, median))
    return {name: sorted(some) for name, some in sorted(found.items())}


def svg(title, curves):
    """A picture.

    :param curves: see :func:`points`
    :returns: text
    """
    sizes = sorted({size for some in curves.values() for size, _ms in some})
    times = [ms for some in curves.values() for _size, ms in some]
    low = 10 ** math.floor(math.log10(min(times)))
    high = 10 ** math.ceil(math.log10(max(times)))
    if low == high:
        high *= 10
    place = _Place(sizes, low, high)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" font-family="{drawing.FONT}">',
        f'<title>{html.escape(title)}, milliseconds by the number of '
        'floating IPs</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" '
        f'fill="{drawing.BACKGROUND}"/>',
        _text(_LEFT, 22, f'{title}: milliseconds, by the number of floating '
              'IPs present', size=13, bold=True),
        *_axes(place, sizes, low, high)]
    for number, (name, some) in enumerate(curves.items()):
        lines += _curve(place, number, name, some)
    return '\n'.join([*lines, '</svg>', ''])


class _Place:
    """Where a size and a time are in the picture."""

    def __init__(self, sizes, low, high):
        self._sizes = [math.log10(max(size, _NONE))
                       for size in (sizes[0], sizes[-1])]
        self._times = [math.log10(low), math.log10(high)]

    def x(self, size):
        first, last = self._sizes
        return _LEFT + (_RIGHT - _LEFT) * (
            math.log10(max(size, _NONE)) - first) / (last - first or 1)

    def y(self, ms):
        low, high = self._times
        return _BOTTOM - (_BOTTOM - _TOP) * (
            math.log10(ms) - low) / (high - low)


def _axes(place, sizes, low, high):
    ms = low
    while ms <= high * 1.001:
        y = place.y(ms)
        yield (f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" stroke="{_GRID}"/>')
        yield _text(_LEFT - 6, y + 4, f'{ms:,g}', 'end', _FAINT)
        ms *= 10
    for size in sizes:
        x = place.x(size)
        yield (f'<path d="M{x:.1f} {_TOP}V{_BOTTOM}" stroke="{_GRID}"/>')
        yield _text(x, _BOTTOM + 16, f'{size:,d}', 'middle', _FAINT)


def _curve(place, number, name, some):
    colour = _COLOURS.get(name, _OTHER)
    path = ' '.join(f'{place.x(size):.1f},{place.y(ms):.1f}'
                    for size, ms in some)
    yield (f'<polyline points="{path}" fill="none" stroke="{colour}" '
           'stroke-width="2"/>')
    for size, ms in some:
        yield (f'<circle cx="{place.x(size):.1f}" cy="{place.y(ms):.1f}" '
               f'r="3" fill="{colour}"><title>{html.escape(name)}, '
               f'{size:,d}: {table.number(ms)} ms</title></circle>')
    x, y = _LEFT + number % 3 * 180, _BOTTOM + 36 + number // 3 * 16
    yield f'<rect x="{x}" y="{y - 8}" width="14" height="4" fill="{colour}"/>'
    yield _text(x + 20, y - 2, name)


def _text(x, y, text, anchor='start', colour=drawing.INK, size=11,
          bold=False):
    weight = ' font-weight="bold"' if bold else ''
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
            f'text-anchor="{anchor}" fill="{colour}"{weight}>'
            f'{html.escape(text)}</text>')
