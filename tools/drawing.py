#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Draws a picture (SVG) from a text description.

Prints the picture; with --write puts it into a file.  A description has one
shape in a line; empty lines and lines that begin with # are left out:

    picture WIDTH HEIGHT TITLE
    box NAME KIND X Y WIDTH HEIGHT TITLE | LINE | LINE ...
    line KIND ARROWS POINT POINT ...
    text KIND ANCHOR X Y TEXT

ARROWS is one of - > <>, and ANCHOR is one of start middle end.  A POINT is X,Y
or NAME.SIDE of a box, with SIDE one of left right top bottom.  NAME.SIDE+N is
N units further, to the right or downwards.  The kinds are in COLOURS; a kind
that ends with ! has a dashed line.

The picture has a background of its own, so it can be read on a dark page and
on a light page.
"""

import argparse
import dataclasses
import html
import pathlib
import sys

# Line and fill of each kind.
COLOURS = {
    'node': ('#4a5568', '#ffffff'),
    'agent': ('#2b6cb0', '#dbeafe'),
    'part': ('#718096', '#f1f5f9'),
    'around': ('#94a3b8', '#f8fafc'),
    'control': ('#2b6cb0', 'none'),
    'packets': ('#c05621', 'none'),
    'network': ('#4a5568', 'none'),
}
BACKGROUND = '#ffffff'
INK = '#1a202c'
FONT = 'Liberation Sans, Arial, Helvetica, sans-serif'
# Sizes of the letters, and the mean width of a letter as a part of the size,
# in the widest of the common fonts (DejaVu Sans).
TITLE, PLAIN = 14, 12
_WIDE, _NARROW = 0.7, 0.6
# From one line of a box to the next, and from its edge to its text.
_LEADING, _MARGIN = 17, 10


class Mistake(Exception):
    """A line of a description is wrong; the text says which and why."""


@dataclasses.dataclass(frozen=True)
class Box:
    """A rectangle with a title and lines of text, all in units."""

    name: str
    kind: str
    x: float
    y: float
    width: float
    height: float
    title: str
    lines: tuple = ()

    def point(self, side, further):
        """The middle of a side, and so many units further along the side."""
        middle = (self.x + self.width / 2, self.y + self.height / 2)
        return {'left': (self.x, middle[1] + further),
                'right': (self.x + self.width, middle[1] + further),
                'top': (middle[0] + further, self.y),
                'bottom': (middle[0] + further, self.y + self.height)}[side]


@dataclasses.dataclass(frozen=True)
class Line:
    """A line through points, each (x, y)."""

    kind: str
    arrows: str
    points: tuple


@dataclasses.dataclass(frozen=True)
class Text:
    """A text at a point; ``size`` is one of TITLE and PLAIN."""

    kind: str
    anchor: str
    x: float
    y: float
    text: str
    size: int = PLAIN

    def area(self):
        """(left, top, right, bottom) that the text takes at most."""
        wide = len(self.text) * self.size * (
            _WIDE if self.size == TITLE else _NARROW)
        left = self.x - {'start': 0, 'middle': wide / 2, 'end': wide}[
            self.anchor]
        return (left, self.y - 0.8 * self.size, left + wide,
                self.y + 0.25 * self.size)


@dataclasses.dataclass(frozen=True)
class Picture:
    """A picture: its size, its title, and shapes in the order of drawing."""

    width: float
    height: float
    title: str
    shapes: tuple

    def texts(self):
        """All texts of the picture, a list of :class:`Text`."""
        found = []
        for shape in self.shapes:
            if isinstance(shape, Text):
                found.append(shape)
            elif isinstance(shape, Box):
                found += texts_of(shape)
        return found


def texts_of(box):
    """The title and the lines of a box, each a :class:`Text`."""
    y = box.y + _MARGIN + 0.8 * TITLE
    yield Text(box.kind, 'start', box.x + _MARGIN, y, box.title, TITLE)
    for number, line in enumerate(box.lines, 1):
        yield Text(box.kind, 'start', box.x + _MARGIN, y + number * _LEADING,
                   line)


# -- from text ---------------------------------------------------------------

def read(description):
    """Make a picture of a description.

    :param description: text, see the top of this file
    :returns: :class:`Picture`
    :raises Mistake: for a line that is none of a description
    """
    size, boxes, shapes = None, {}, []
    for number, line in enumerate(description.splitlines(), 1):
        word, _blank, rest = line.strip().partition(' ')
        if not word or word.startswith('#'):
            continue
        try:
            if word == 'picture':
                width, height, title = rest.split(None, 2)
                size = float(width), float(height), title
            else:
                shapes.append(_SHAPES[word](rest, boxes))
        except (KeyError, ValueError) as e:
            raise Mistake(f'line {number}: {line.strip()}: {e}') from e
    if size is None:
        raise Mistake('the description has no line "picture"')
    return Picture(*size, tuple(shapes))


def _box(rest, boxes):
    name, kind, x, y, width, height, text = rest.split(None, 6)
    title, *lines = (part.strip() for part in text.split('|'))
    boxes[name] = Box(name, _known(kind), float(x), float(y), float(width),
                      float(height), title, tuple(lines))
    return boxes[name]


def _line(rest, boxes):
    kind, arrows, *points = rest.split()
    if arrows not in ('-', '>', '<>') or len(points) < 2:
        raise ValueError('needs one of - > <> and two points')
    return Line(_known(kind), arrows, tuple(
        _point(point, boxes) for point in points))


def _text(rest, _boxes):
    kind, anchor, x, y, text = rest.split(None, 4)
    if anchor not in ('start', 'middle', 'end'):
        raise ValueError(f'{anchor} is none of start, middle, end')
    return Text(_known(kind), anchor, float(x), float(y), text)


_SHAPES = {'box': _box, 'line': _line, 'text': _text}


def _known(kind):
    if kind.removesuffix('!') not in COLOURS:
        raise ValueError(f'{kind} is none of {", ".join(COLOURS)}')
    return kind


def _point(text, boxes):
    if ',' in text:
        x, y = text.split(',')
        return float(x), float(y)
    name, side = text.split('.')
    for sign in '+-':
        side, found, further = side.partition(sign)
        if found:
            return boxes[name].point(side, float(sign + further))
    return boxes[name].point(side, 0.0)


# -- to SVG ------------------------------------------------------------------

def svg(picture):
    """The picture as SVG.

    :param picture: :class:`Picture`
    :returns: text
    """
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {picture.width:g} {picture.height:g}" '
        f'width="{picture.width:g}" height="{picture.height:g}" role="img" '
        f'font-family="{FONT}" fill="{INK}">',
        f'<title>{html.escape(picture.title)}</title>',
        '<defs>', *_arrow_heads(picture), '</defs>',
        f'<rect x="0.5" y="0.5" width="{picture.width - 1:g}" '
        f'height="{picture.height - 1:g}" rx="10" fill="{BACKGROUND}" '
        'stroke="#cbd5e0"/>']
    for shape in picture.shapes:
        if isinstance(shape, Box):
            lines.append(_svg_box(shape))
        elif isinstance(shape, Line):
            lines.append(_svg_line(shape))
    # Texts are drawn last, so that no line crosses a letter.
    lines += [_svg_text(text) for text in picture.texts()]
    return '\n'.join([*lines, '</svg>', ''])


def _arrow_heads(picture):
    kinds = {shape.kind.removesuffix('!') for shape in picture.shapes
             if isinstance(shape, Line) and shape.arrows != '-'}
    for kind in sorted(kinds):
        yield (f'<marker id="{kind}" viewBox="0 0 10 10" refX="9" refY="5" '
               'markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
               f'<path d="M0 0 10 5 0 10z" fill="{COLOURS[kind][0]}"/>'
               '</marker>')


def _stroke(kind):
    dash = ' stroke-dasharray="6 4"' if kind.endswith('!') else ''
    return f'stroke="{COLOURS[kind.removesuffix("!")][0]}"{dash}'


def _svg_box(box):
    return (f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" '
            f'height="{box.height:g}" rx="6" '
            f'fill="{COLOURS[box.kind.removesuffix("!")][1]}" '
            f'{_stroke(box.kind)} stroke-width="1.5"/>')


def _svg_line(line):
    kind = line.kind.removesuffix('!')
    ends = {'-': '', '>': f' marker-end="url(#{kind})"',
            '<>': f' marker-start="url(#{kind})" marker-end="url(#{kind})"'}
    points = ' '.join(f'{x:g},{y:g}' for x, y in line.points)
    return (f'<polyline points="{points}" fill="none" {_stroke(line.kind)} '
            f'stroke-width="2"{ends[line.arrows]}/>')


def _svg_text(text):
    weight = ' font-weight="bold"' if text.size == TITLE else ''
    colour = (f' fill="{COLOURS[text.kind][0]}"'
              if text.kind in ('control', 'packets') else '')
    return (f'<text x="{text.x:g}" y="{text.y:g}" font-size="{text.size}" '
            f'text-anchor="{text.anchor}"{weight}{colour}>'
            f'{html.escape(text.text)}</text>')


def show(description, path):
    """Print the picture of a description, or put it into a file.

    :param path: where to put the picture, or None
    :returns: exit status
    """
    picture = svg(read(description))
    if path is None:
        sys.stdout.write(picture)
    else:
        path.write_text(picture)
    return 0


def main():
    """Draw; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('description', type=pathlib.Path)
    parser.add_argument('--write', type=pathlib.Path, metavar='FILE')
    args = parser.parse_args()
    return show(args.description.read_text(), args.write)


if __name__ == '__main__':
    sys.exit(main())
