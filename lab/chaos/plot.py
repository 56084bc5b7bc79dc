# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A picture of a run: episodes, moves, losses and violations over time.

SVG is written by hand, so that no package is needed.
"""

from xml.sax import saxutils

_LEFT, _TOP, _ROW, _WIDTH = 190, 60, 22, 1200
_LOST, _EXCUSED, _BUSY, _SETTLING = '#c0392b', '#e5b8b0', '#3b6ea5', '#b9cfe6'
_VIOLATION, _MOVE = '#8e44ad', '#2c8a4b'
# A gap shorter than this many pixels would not be seen.
_LEAST = 1.5


def draw(summary):
    """The picture of a summary, text of an SVG file."""
    rows = [one['subject'] for one in summary['targets']]
    scale = _WIDTH / max(1.0, summary['seconds'])
    height = _TOP + _ROW * (len(rows) + 2) + 150
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width='
        f'"{_LEFT + _WIDTH + 30:d}" height="{height:d}" font-family='
        '"sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(10, 20, f'profile {summary["profile"]}, '
              f'{summary["seconds"]:.0f} s, {summary["lost"]:d} of '
              f'{summary["sent"]:d} probes lost without excuse, '
              f'{len(summary["violations"]):d} violations'),
        _text(10, 38, 'red: lost; pink: lost with an excuse; dark blue: an '
              'action; light blue: until settled; green: a move; violet: a '
              'violation')]
    bottom = _TOP + _ROW * (len(rows) + 1)
    parts += _axis(summary['seconds'], scale, bottom)
    parts += _episodes(summary['episodes'], scale, bottom)
    for number, one in enumerate(summary['targets']):
        parts += _losses(one, _TOP + _ROW * (number + 1), scale)
    for move in summary['moves']:
        parts.append(_line(move['at'], scale, bottom, _MOVE))
    for violation in summary['violations']:
        parts.append(_line(violation['at'], scale, bottom, _VIOLATION,
                           f'{violation["kind"]} {violation["subject"]}: '
                           f'{violation["detail"]}'))
    return '\n'.join([*parts, '</svg>\n'])


def write(summary, path):
    """Write the picture of a summary into a file."""
    with open(path, 'w', encoding='utf-8') as opened:
        opened.write(draw(summary))


def _text(x, y, words, more=''):
    return (f'<text x="{x:.1f}" y="{y:.1f}"{more}>'
            f'{saxutils.escape(words)}</text>')


def _box(begin, end, y, height, scale, colour, title=''):
    x, width = _LEFT + begin * scale, max(_LEAST, (end - begin) * scale)
    note = f'<title>{saxutils.escape(title)}</title>' if title else ''
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" fill="{colour}">{note}</rect>')


def _line(at, scale, bottom, colour, title=''):
    x = _LEFT + at * scale
    note = f'<title>{saxutils.escape(title)}</title>' if title else ''
    return (f'<line x1="{x:.1f}" y1="{_TOP:d}" x2="{x:.1f}" y2="{bottom:d}" '
            f'stroke="{colour}" stroke-dasharray="3,3">{note}</line>')


def _axis(seconds, scale, bottom):
    step = next((step for step in (5, 10, 20, 30, 60, 120, 300)
                 if seconds / step <= 20), 600)
    for at in range(0, int(seconds) + 1, step):
        x = _LEFT + at * scale
        yield (f'<line x1="{x:.1f}" y1="{_TOP:d}" x2="{x:.1f}" '
               f'y2="{bottom:d}" stroke="#dddddd"/>')
        yield _text(x, bottom + 14, f'{at:d} s')


def _episodes(episodes, scale, bottom):
    yield _text(10, _TOP + 14, 'actions')
    for one in episodes:
        title = (f'{one["number"]:d} {one["action"]} {one["target"]}: lost '
                 f'{one["lost"]:d}, gap {one["gap_ms"]:.0f} ms')
        yield _box(one['ended'], one['settled'], _TOP, 16, scale, _SETTLING,
                   title)
        yield _box(one['began'], one['ended'], _TOP, 16, scale, _BUSY, title)
        x = _LEFT + one['began'] * scale
        yield _text(x, bottom + 28, one['action'],
                    f' transform="rotate(60 {x:.1f} {bottom + 28:d})"')


def _losses(target, y, scale):
    yield _text(10, y + 14, target['subject'])
    yield (f'<line x1="{_LEFT:d}" y1="{y + 10:d}" x2="{_LEFT + _WIDTH:d}" '
           f'y2="{y + 10:d}" stroke="#eeeeee"/>')
    for begin, end, lost, excused in target['gaps']:
        yield _box(begin, end, y + 2, 16, scale,
                   _LOST if lost else _EXCUSED,
                   f'{(end - begin) * 1000:.0f} ms, {lost:d} lost, '
                   f'{excused:d} excused')
