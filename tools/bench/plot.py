# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Latency against the number of floating IPs, as pictures (SVG).

Both axes are logarithmic, but for 0 floating IPs at the left edge.
"""

import json
import os

import matplotlib
from matplotlib import figure
from matplotlib import ticker

from tools.bench import results
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


def write(document, directory) -> list:
    """Draw a picture of each event that was measured."""
    paths = []
    for name, what in EVENTS.items():
        curves = points(document, what)
        if not curves:
            continue
        path = os.path.join(directory, f'speed-{name}.svg')
        draw(what, curves, path)
        paths.append(path)
    return paths


def points(document, what) -> dict[str, list[tuple[int, float]]]:
    """Medians of an event with ten routers."""
    runs = results.by_run(document)
    found = {}
    for key in {key for run in runs for key in run}:
        if (key.what, key.place, key.routers) == (what, worlds.ALL, 10):
            median = results.summary(results.values(runs, key)).median
            found.setdefault(f'{key.subject} {key.method}'.strip(),
                             []).append((key.size, median))
    return {name: sorted(some) for name, some in sorted(found.items())}


@matplotlib.rc_context({'svg.fonttype': 'none', 'svg.hashsalt': 'speed'})
def draw(title, curves, path):
    """Write a picture, whose description has the curves as JSON."""
    drawn = figure.Figure((7, 4.4), layout='constrained')
    axes = drawn.subplots()
    for name, some in curves.items():
        axes.plot(*zip(*some), marker='o', markersize=4, label=name,
                  color=_COLOURS.get(name, _OTHER))
    sizes = sorted({size for some in curves.values() for size, _ms in some})
    axes.set_xscale('symlog', linthresh=10)
    axes.set_xticks(sizes, [f'{size:,d}' for size in sizes])
    axes.set_yscale('log')
    axes.yaxis.set_major_formatter('{x:,g}')
    axes.yaxis.set_minor_locator(ticker.LogLocator(subs=(2, 5)))
    axes.yaxis.set_minor_formatter('{x:,g}')
    axes.grid(color='#e2e8f0')
    axes.set_title(f'{title}: milliseconds, by the number of floating IPs '
                   'present', fontsize='medium')
    drawn.legend(loc='outside lower center', ncols=3)
    drawn.savefig(path, metadata={
        'Date': None, 'Creator': None, 'Description': json.dumps(curves)})
