#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The list of the metrics in the documentation, made from the declarations.

Prints doc/source/reference/metrics.txt; with --write puts it there.
"""

import argparse
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / 'doc' / 'source' / 'reference' / 'metrics.txt'
_WIDTH = 79


def text():
    """The list in reStructuredText."""
    sys.path.insert(0, str(ROOT))
    from ovn_network_agent.metrics import declared
    lines = []
    for title, metrics in declared.PARTS:
        lines += [title, '-' * len(title), '']
        for metric in metrics:
            lines += [*_metric(metric), '']
    return '\n'.join(lines)


def _metric(metric):
    yield f'``{metric.full}``'
    labels = '; '.join(_label(name, values)
                       for name, values in metric.labels.items())
    about = metric.kind.value.capitalize() + (
        f' by {labels}.' if labels else '.')
    for text in (about, metric.text.replace('"', '``')):
        yield from textwrap.wrap(text, _WIDTH, initial_indent='  ',
                                 subsequent_indent='  ',
                                 break_long_words=False,
                                 break_on_hyphens=False)
        if text is about:
            yield ''


def _label(name, values):
    if not values:
        return f'``{name}``'
    return f'``{name}`` ({", ".join(f"``{value}``" for value in values)})'


def main():
    """Print or write the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true',
                        help=f'write {PAGE.relative_to(ROOT)}')
    if parser.parse_args().write:
        PAGE.write_text(text())
    else:
        print(text(), end='')


if __name__ == '__main__':
    main()
