# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Panels of a dashboard as one picture (SVG); see dashboard.py."""

import dataclasses
import html
import math

import drawing

# Units of a column and of a row of the grid, and the distance of two panels.
_COLUMN, _ROW, _GAP = 50, 30, 8
_LINE, _LETTER, _SIZE = 15, 6.2, 11
_COLUMNS = 24
_EDGE = '#cbd5e0'
_GRID = '#e2e8f0'
_FAINT = '#718096'
# Distinct on white, also for most people who see few colours.
_COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9',
            '#7f3c8d', '#5a5a5a', '#a5aa00', '#b03060')
_STATES = {'green': '#2f855a', 'red': '#c53030', 'yellow': '#b7791f'}
_STEPS = (1, 2, 5, 10)
_MEBI = 1 << 20
_CLOCK = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400,
          43200, 86400)


@dataclasses.dataclass(frozen=True)
class Series:
    """One curve: name, and points (seconds since 1970, value)."""

    name: str
    points: tuple

    @property
    def is_known(self):
        """Whether a value is a number: a quantile of nothing is none."""
        return any(math.isfinite(value) for _at, value in self.points)


@dataclasses.dataclass(frozen=True)
class Panel:
    """A panel with its data.

    :ivar kind: 'row', 'stat' or 'timeseries'
    :ivar place: (x, y, width, height) in the grid
    :ivar unit: name of the unit, as in Grafana
    :ivar mappings: dict of value to (text, colour)
    :ivar error: the reason why there is no data, or ''
    """

    title: str
    kind: str
    place: tuple
    series: tuple = ()
    unit: str = 'short'
    mappings: dict = dataclasses.field(default_factory=dict)
    error: str = ''


# -- numbers -----------------------------------------------------------------

def number(value, unit):
    """A value with its unit, text."""
    if unit == 's' and 0 < abs(value) < 1:
        return f'{value * 1000:.3g} ms'
    if unit == 'bytes':
        return f'{value / _MEBI:.3g} MiB'
    if unit == 'percentunit':
        return f'{value * 100:.3g} %'
    ends = {'s': ' s', 'ops': ' /s'}
    return f'{value:.4g}{ends.get(unit, "")}'


def ticks(highest, unit='short'):
    """Values for the axis from 0 to at least ``highest``, a list."""
    if highest <= 0:
        return [0, 1]
    if unit == 'bytes':
        return [value * _MEBI for value in ticks(highest / _MEBI)]
    rough = highest / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(step * power for step in _STEPS
                if step * power >= rough * 0.9999)
    count = math.ceil(highest / step - 1e-9)
    return [index * step for index in range(count + 1)]


def moments(seconds, most=5):
    """Seconds from the start that the axis of time names, a list."""
    step = next((step for step in _CLOCK if seconds / step <= most),
                _CLOCK[-1])
    return list(range(0, int(seconds) + 1, step))


def _duration(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (f'{hours:d} h {minutes:02d}' if hours
            else f'{minutes:d}:{seconds:02d}')


def pieces(points):
    """The parts of a curve without a gap, a list of lists of points.

    A gap is longer than one and a half times the shortest distance.
    """
    points = [point for point in points if math.isfinite(point[1])]
    distances = [b[0] - a[0] for a, b in zip(points, points[1:])]
    longest = 1.5 * min(distances, default=0)
    found = []
    for index, point in enumerate(points):
        if not index or distances[index - 1] > longest:
            found.append([])
        found[-1].append(point)
    return found


# -- shapes ------------------------------------------------------------------

def _text(x, y, text, anchor='start', colour=drawing.INK, size=_SIZE,
          bold=False):
    weight = ' font-weight="bold"' if bold else ''
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
            f'text-anchor="{anchor}" fill="{colour}"{weight}>'
            f'{html.escape(text)}</text>')


def _rectangle(x, y, width, height, fill, edge=_EDGE):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="4" fill="{fill}" stroke="{edge}"/>')


def _line(x1, y1, x2, y2):
    return (f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" '
            f'stroke="{_GRID}"/>')


def wrapped(text, width):
    """The lines of a text that have at most so many units, a list."""
    lines = ['']
    for word in text.split():
        longer = f'{lines[-1]} {word}'.strip()
        if lines[-1] and len(longer) * _LETTER * 1.1 > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


# -- panels ------------------------------------------------------------------

class _Area:
    """The area of a panel in the picture, in units."""

    def __init__(self, place):
        x, y, width, height = place
        self.x = x * _COLUMN + _GAP / 2
        self.y = y * _ROW + _GAP / 2
        self.width = width * _COLUMN - _GAP
        self.height = height * _ROW - _GAP


def _drawn(panel, start, end):
    """The elements of a panel."""
    area = _Area(panel.place)
    if panel.kind == 'row':
        yield _text(area.x + 4, area.y + 17, panel.title, size=15, bold=True)
        return
    yield _rectangle(area.x, area.y, area.width, area.height,
                     drawing.BACKGROUND)
    top = area.y + 4
    for line in wrapped(panel.title, area.width - 16):
        top += _LINE
        yield _text(area.x + 8, top, line, size=12, bold=True)
    top += 8
    if panel.error or not panel.series:
        middle = area.x + area.width / 2
        colour = _STATES['red'] if panel.error else _FAINT
        for index, line in enumerate(wrapped(
                panel.error or 'no data', area.width - 16)):
            yield _text(middle, top + 30 + index * _LINE, line, 'middle',
                        colour)
    elif panel.kind == 'stat':
        yield from _tiles(panel, area, top)
    else:
        yield from _curves(panel, area, top, start, end)


def _tiles(panel, area, top):
    """One tile for each series, with its last value."""
    height = area.y + area.height - top - 6
    columns = math.ceil(math.sqrt(
        len(panel.series) * area.width / (height * 2.5)))
    columns = min(columns, len(panel.series))
    rows = math.ceil(len(panel.series) / columns)
    wide, high = (area.width - 12) / columns, height / rows
    for index, series in enumerate(panel.series):
        x = area.x + 6 + index % columns * wide
        y = top + index // columns * high
        value = series.points[-1][1]
        text, colour = panel.mappings.get(
            f'{value:g}', (number(value, panel.unit), ''))
        yield _rectangle(x + 2, y + 2, wide - 4, high - 4,
                         _STATES.get(colour, _FAINT))
        for line, shift, bold in ((series.name, -3, False), (text, 12, True)):
            yield _text(x + wide / 2, y + high / 2 + shift, line, 'middle',
                        '#ffffff', bold=bold)


def _legend(panel, area):
    """(elements, height) of the names of the curves, at the bottom."""
    lines, used = [[]], 0
    for index, series in enumerate(panel.series):
        wide = len(series.name) * _LETTER + 24
        if lines[-1] and used + wide > area.width - 16:
            lines.append([])
            used = 0
        lines[-1].append((index, used, series.name))
        used += wide
    height = len(lines) * _LINE
    drawn, y = [], area.y + area.height - height + 4
    for line in lines:
        for index, shift, name in line:
            x = area.x + 8 + shift
            drawn.append(f'<rect x="{x:.1f}" y="{y - 2:.1f}" width="12" '
                         f'height="4" fill="{_colour(index)}"/>')
            drawn.append(_text(x + 16, y + 4, name))
        y += _LINE
    return drawn, height


def _colour(index):
    return _COLOURS[index % len(_COLOURS)]


def _curves(panel, area, top, start, end):
    """Axes, curves and the names of the curves."""
    names, below = _legend(panel, area)
    yield from names
    left, right = area.x + 62, area.x + area.width - 18
    bottom = area.y + area.height - below - 22
    values = ticks(max((value for series in panel.series
                        for _at, value in series.points
                        if math.isfinite(value)), default=0), panel.unit)
    for value in values:
        y = bottom - (bottom - top) * value / values[-1]
        yield _line(left, y, right, y)
        yield _text(left - 4, y + 4, number(value, panel.unit), 'end', _FAINT)
    for second in moments(end - start):
        x = left + (right - left) * second / (end - start)
        yield _text(x, bottom + 14, _duration(second), 'middle', _FAINT)

    def point(at, value):
        return (left + (right - left) * (at - start) / (end - start),
                bottom - (bottom - top) * value / values[-1])

    for index, series in enumerate(panel.series):
        for piece in pieces(series.points):
            yield _curve([point(*one) for one in piece], _colour(index))


def _curve(points, colour):
    if len(points) == 1:
        (x, y), = points
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{colour}"/>'
    # A point on a straight line says nothing.
    kept = [points[0]] + [
        here for before, here, after in zip(points, points[1:], points[2:])
        if not before[1] == here[1] == after[1]] + [points[-1]]
    path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in kept)
    return (f'<polyline points="{path}" fill="none" stroke="{colour}" '
            'stroke-width="1.5"/>')


def svg(panels, start, end):
    """All panels as one picture.

    :param panels: list of :class:`Panel`
    :param start: seconds since 1970 at the left edge of the curves
    :param end: the same for the right edge
    :returns: text
    """
    width = _COLUMNS * _COLUMN
    height = max(y + h for _x, y, _w, h in (
        panel.place for panel in panels)) * _ROW
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" '
             f'viewBox="0 0 {width} {height}" width="{width}" '
             f'height="{height}" role="img" font-family="{drawing.FONT}">',
             '<title>The dashboard, drawn by tools/dashboard.py</title>',
             f'<rect width="{width}" height="{height}" fill="#f7fafc"/>']
    for panel in panels:
        lines += _drawn(panel, start, end)
    return '\n'.join([*lines, '</svg>', ''])
