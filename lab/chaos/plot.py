# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A picture of a run: episodes, moves, losses and violations over time."""

import matplotlib
from matplotlib import figure

_LOST, _EXCUSED, _BUSY, _SETTLING = '#c0392b', '#e5b8b0', '#3b6ea5', '#b9cfe6'
_VIOLATION, _MOVE = '#8e44ad', '#2c8a4b'
# Seconds; a shorter bar would not be seen.
_LEAST = 0.05


@matplotlib.rc_context({'svg.fonttype': 'none', 'font.size': 8})
def write(summary, path):
    """Write the picture of a summary into a file (SVG)."""
    rows = [one['subject'] for one in summary['targets']]
    drawn = figure.Figure((14, 2.5 + 0.25 * len(rows)), layout='constrained')
    axes = drawn.subplots()
    axes.set_xlim(0, max(1.0, summary['seconds']))
    axes.set_ylim(len(rows) + 0.5, -0.5)
    axes.set_yticks(range(len(rows) + 1), ['actions', *rows])
    axes.set_xlabel('seconds')
    axes.grid(color='#eeeeee')
    axes.set_title(
        f'profile {summary["profile"]}, {summary["seconds"]:.0f} s, '
        f'{summary["lost"]:d} of {summary["sent"]:d} probes lost without '
        f'excuse, {len(summary["violations"]):d} violations')
    for one in summary['episodes']:
        _bar(axes, 0, one['ended'], one['settled'], _SETTLING)
        _bar(axes, 0, one['began'], one['ended'], _BUSY)
        axes.annotate(
            f'{one["number"]:d} {one["action"]} {one["target"]}: lost '
            f'{one["lost"]:d}, gap {one["gap_ms"]:.0f} ms',
            (one['began'], -0.5), rotation=30)
    for row, target in enumerate(summary['targets'], 1):
        for begin, end, lost, _excused in target['gaps']:
            _bar(axes, row, begin, end, _LOST if lost else _EXCUSED)
    for move in summary['moves']:
        axes.axvline(move['at'], color=_MOVE, linestyle=':')
    for violation in summary['violations']:
        axes.axvline(violation['at'], color=_VIOLATION, linestyle=':')
        axes.annotate(
            f'{violation["kind"]} {violation["subject"]}: '
            f'{violation["detail"]}', (violation['at'], len(rows) + 0.5),
            color=_VIOLATION, parse_math=False)
    for label, colour in (
            ('lost', _LOST), ('lost with an excuse', _EXCUSED),
            ('action', _BUSY), ('until settled', _SETTLING), ('move', _MOVE),
            ('violation', _VIOLATION)):
        axes.plot([], color=colour, label=label)
    drawn.legend(loc='outside lower center', ncols=6)
    drawn.savefig(path, format='svg')


def _bar(axes, row, begin, end, colour):
    axes.broken_barh([(begin, max(_LEAST, end - begin))], (row - 0.35, 0.7),
                     color=colour)
