# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The table of gaps per action, for the documentation.

``python -m lab.chaos.tables SUMMARY.json ...`` prints a table of
reStructuredText over all of the runs.
"""

import json
import statistics
import sys


def merged(summaries: list) -> dict:
    """The episodes of several runs by their action.

    :param summaries: list of dicts of :mod:`lab.chaos.summary`
    :returns: dict of action to dict: times, median_ms and worst_ms (of the
        longest gap of an episode, with an excuse or not), unexcused_ms (the
        worst gap with a loss without an excuse), parts_ms (median of the
        parts, without parts of 0)
    """
    grouped = {}
    for summary in summaries:
        for episode in summary['episodes']:
            # Episode 0 is the start, and no action.
            if not episode['number']:
                continue
            grouped.setdefault(episode['action'], []).append(episode)
    return {action: _row(episodes)
            for action, episodes in sorted(grouped.items())}


def _row(episodes):
    gaps = [episode['whole_gap_ms'] for episode in episodes]
    parts = {}
    for name in ('failover', 'dark', 'tail', 'after', 'still'):
        each = [max((loss['parts_ms'].get(name, 0.0)
                     for loss in episode['losses']), default=0.0)
                for episode in episodes]
        if median := statistics.median(each):
            parts[name] = median
    return {'times': len(gaps), 'median_ms': statistics.median(gaps),
            'worst_ms': max(gaps),
            'unexcused_ms': max(episode['gap_ms'] for episode in episodes),
            'parts_ms': parts}


def table(summaries: list) -> str:
    """Lines of a list-table: action, times, gaps and their parts."""
    lines = ['.. list-table::', '   :header-rows: 1', '']
    lines += _cells('Action', 'Times', 'Median gap', 'Worst gap',
                    'Worst without excuse', 'Parts of the median')
    for action, row in merged(summaries).items():
        parts = ', '.join(f'{name} {_time(value)}'
                          for name, value in row['parts_ms'].items())
        lines += _cells(f'``{action}``', str(row['times']),
                        _time(row['median_ms']), _time(row['worst_ms']),
                        _time(row['unexcused_ms']), parts)
    return '\n'.join(lines) + '\n'


def _cells(*words):
    first, *others = words
    return [f'   * - {first}', *(f'     - {word}'.rstrip()
                                 for word in others)]


def _time(milliseconds):
    if not milliseconds:
        return '0'
    if milliseconds < 1000:
        return f'{milliseconds:.0f} ms'
    return f'{milliseconds / 1000:.1f} s'


def overview(summaries: list) -> str:
    """One paragraph about all of the runs."""
    sent = sum(summary['sent'] for summary in summaries)
    lost = sum(summary['lost'] for summary in summaries)
    excused = sum(summary['excused'] for summary in summaries)
    seconds = sum(summary['seconds'] for summary in summaries)
    wrong = sum(len(summary['violations']) for summary in summaries)
    episodes = sum(len(summary['episodes']) for summary in summaries)
    return (f'{len(summaries):d} runs, {seconds / 60:.0f} minutes, '
            f'{episodes:d} episodes, {sent:,d} probes: {wrong:d} violations, '
            f'{lost / max(1, sent):.3%} of the probes lost without excuse, '
            f'{excused / max(1, sent):.3%} with excuse\n')


def main(paths):
    """Print the table of some files."""
    summaries = []
    for path in paths:
        with open(path, encoding='utf-8') as opened:
            summaries.append(json.load(opened))
    print(overview(summaries))
    print(table(summaries))


if __name__ == '__main__':
    main(sys.argv[1:])
