# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Panels of a dashboard as one picture (SVG); see dashboard.py."""

import dataclasses
import io
import math
import pathlib
import re
import textwrap
import typing

import matplotlib
from matplotlib import figure

# Inches of a column and of a row of Grafana's grid, and the columns.
_COLUMN, _ROW, _COLUMNS = 0.6, 0.38, 24
# Parts of the grid around the axes of a panel: for their numbers.
_LEFT, _RIGHT, _BELOW = 0.9, 0.3, 0.9
_STATES = {'green': '#2f855a', 'red': '#c53030', 'yellow': '#b7791f'}
_OTHER = '#718096'
_MEBI = 1 << 20
_TICKS = 4  # of an axis
# A tag, a coordinate with more digits than needed in it, the one font of all
# texts, and what matplotlib writes without need.
_TAG = re.compile('<[^>]*>')
_FINE = re.compile(r'\b\d+\.\d{2,}\b')
_FONT = re.compile(r"font-family: 'DejaVu Sans', sans-serif; ")
_NEEDLESS = re.compile(
    r' transform="rotate\(-0 [^"]*\)"|^ *<g id="\w+"/>\n|(?<=<g) id="[\w.]+"|'
    r'^ +', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Series:
    """One curve."""

    name: str
    # (seconds since 1970, value)
    points: tuple[tuple[float, float], ...]

    @property
    def is_known(self) -> bool:
        """Whether a value is a number: a quantile of nothing is none."""
        return any(math.isfinite(value) for _at, value in self.points)


@dataclasses.dataclass(frozen=True)
class Panel:
    """A panel with its data."""

    title: str
    kind: str  # 'row', 'stat' or 'timeseries'
    place: tuple[int, int, int, int]  # x, y, width, height in the grid
    series: tuple[Series, ...] = ()
    unit: str = 'short'  # as in Grafana
    # Text and colour of a value.
    mappings: dict[str, tuple[str, str]] = dataclasses.field(
        default_factory=dict)
    error: str = ''  # why there is no data


def number(value: float, unit: str) -> str:
    """A value with its unit."""
    if unit == 's' and 0 < abs(value) < 1:
        return f'{value * 1000:.3g} ms'
    if unit == 'bytes':
        return f'{value / _MEBI:.3g} MiB'
    if unit == 'percentunit':
        return f'{value * 100:.3g} %'
    ends = {'s': ' s', 'ops': ' /s'}
    return f'{value:.4g}{ends.get(unit, "")}'


def with_gaps(points: typing.Sequence[tuple[float, float]]
              ) -> list[tuple[float, float]]:
    """The points of a curve, with "not a number" in each gap.

    A gap is longer than one and a half times the shortest distance.
    """
    distances = [b[0] - a[0] for a, b in zip(points, points[1:])]
    longest = 1.5 * min(distances, default=0)
    found = []
    for point, distance in zip(points, [*distances, 0]):
        found.append(point)
        if distance > longest:
            found.append((point[0] + longest, math.nan))
    return found


def corners(points: typing.Sequence[tuple[float, float]]
            ) -> list[tuple[float, float]]:
    """The points of a curve without those between two of the same value."""
    return [point for before, point, after
            in zip([None, *points], points, [*points[1:], None])
            if not (before and after and
                    before[1] == point[1] == after[1])]


def alone(points: typing.Sequence[tuple[float, float]]
          ) -> list[tuple[float, float]]:
    """The points of a curve between two gaps, which no line shows."""
    gap = (0.0, math.nan)
    return [point for before, point, after
            in zip([gap, *points], points, [*points[1:], gap])
            if math.isfinite(point[1]) and
            not math.isfinite(before[1]) and not math.isfinite(after[1])]


@matplotlib.rc_context({
    'svg.fonttype': 'none', 'svg.hashsalt': 'dashboard', 'font.size': 8,
    'font.sans-serif': ['DejaVu Sans'],
    'text.parse_math': False})
def write(panels: list[Panel], start: float, end: float, path: str) -> None:
    """Write all panels as one picture."""
    rows = max(panel.place[1] + panel.place[3] for panel in panels)
    drawn = figure.Figure((_COLUMNS * _COLUMN, rows * _ROW))
    for panel in panels:
        axes = drawn.add_axes(_area(panel, rows))
        if panel.kind == 'row':
            axes.axis('off')
            axes.text(0, -4, panel.title, fontsize=11, fontweight='bold')
            continue
        axes.set_title(
            '\n'.join(textwrap.wrap(panel.title, panel.place[2] * 7)),
            loc='left', fontweight='bold')
        if panel.error or not panel.series:
            axes.set_axis_off()
            axes.text(0, 0.5, panel.error or 'no data', wrap=True,
                      color=_STATES['red'] if panel.error else _OTHER)
        elif panel.kind == 'stat':
            _tiles(axes, panel)
        else:
            _curves(axes, panel, start, end)
    made = io.StringIO()
    drawn.savefig(made, format='svg', metadata={'Date': None})
    pathlib.Path(path).write_text(small(made.getvalue()))


def small(text: str) -> str:
    """The same picture, without what no browser needs.

    Tenths of a point are finer than a pixel.
    """
    text = _TAG.sub(lambda tag: _FINE.sub(
        lambda match: f'{float(match[0]):.1f}', tag[0]), text)
    font = _FONT.search(text)
    if font:
        text = _FONT.sub('', text).replace(
            '</style>', f'text{{{font[0]}}}</style>', 1)
    return _NEEDLESS.sub('', text)


def _area(panel: Panel, rows: int) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of the axes, shares of the picture."""
    x, y, width, height = panel.place
    bottom = y + height
    left, right, below = x + _LEFT, x + width - _RIGHT, bottom - _BELOW
    top = min(y + 1, below)
    return (left / _COLUMNS, 1 - below / rows, (right - left) / _COLUMNS,
            max(below - top, 0.1) / rows)


def _tiles(axes: typing.Any, panel: Panel) -> None:
    axes.axis('off')
    for row, series in enumerate(panel.series):
        value = series.points[-1][1]
        text, colour = panel.mappings.get(
            f'{value:g}', (number(value, panel.unit), ''))
        axes.text(0, 1 - (row + 0.5) / len(panel.series),
                  f'{series.name} {text}', color='white', va='center',
                  backgroundcolor=_STATES.get(colour, _OTHER))


def _curves(axes: typing.Any, panel: Panel, start: float, end: float) -> None:
    for series in panel.series:
        points = with_gaps([each for each in series.points
                            if math.isfinite(each[1])])
        line, = axes.plot(*_minutes(corners(points), start),
                          label=series.name, linewidth=1)
        axes.plot(*_minutes(alone(points), start), '.', markersize=2,
                  color=line.get_color())
    axes.set_xlim(0, (end - start) / 60)
    axes.set_ylim(bottom=0)
    axes.set_xlabel('minutes')
    axes.yaxis.set_major_formatter(
        lambda value, _position: number(value, panel.unit))
    axes.grid(axis='y', color='#e2e8f0', clip_on=False)
    axes.spines[['left', 'right', 'top']].set_visible(False)
    axes.tick_params(length=0)
    axes.locator_params(nbins=_TICKS)
    axes.legend(fontsize='x-small', loc='upper left')


def _minutes(points: typing.Sequence[tuple[float, float]], start: float
             ) -> tuple[list[float], list[float]]:
    return ([(at - start) / 60 for at, _value in points],
            [value for _at, value in points])
