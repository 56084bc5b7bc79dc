# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The summary of a run: a dict for JSON, and a text for people.

Pure.  A gap begins with the sending of a lost probe, and ends with the
sending of the next answered probe.  An episode reaches until the next one
begins.
"""

import dataclasses
import statistics

from lab.chaos import values


@dataclasses.dataclass(frozen=True)
class Gap:
    """Lost probes of one target in succession."""

    begin: float
    # The same of the next answered probe, or of the last lost one and an
    # interval
    end: float
    lost: int
    excused: int


@dataclasses.dataclass(frozen=True)
class Share:
    """What one target lost in one episode."""

    episode: int
    subject: str
    sent: int
    lost: int
    excused: int
    gap: float  # seconds of the longest gap with an unexcused loss, 0 for none
    whole: float  # seconds of the longest gap, excused or not


def gaps(samples, excuses=()) -> list:
    """The gaps of one target, in turn."""
    mine = [one for one in excuses
            if one.subject in (values.ALL, samples.target.subject)]
    found, begin, last, lost, excused = [], None, None, 0, 0
    for at, answer in zip(samples.sent, samples.answers):
        if answer is None:
            continue
        if answer < 0:
            begin = at if begin is None else begin
            last = at
            if any(one.since <= at <= one.until for one in mine):
                excused += 1
            else:
                lost += 1
        elif begin is not None:
            found.append(Gap(begin, at, lost, excused))
            begin, lost, excused = None, 0, 0
    if begin is not None:
        found.append(Gap(begin, last + samples.interval, lost, excused))
    return found


def shares(samples, episodes: list, end: float) -> list:
    """What a target lost in each episode."""
    excuses = [excuse for episode in episodes for excuse in episode.excuses]
    every, found = gaps(samples, excuses), []
    for number, episode in enumerate(episodes):
        until = (episodes[number + 1].began
                 if number + 1 < len(episodes) else end)
        mine = [gap for gap in every if episode.began <= gap.begin < until]
        found.append(Share(
            episode.number, samples.target.subject,
            sum(episode.began <= at < until for at in samples.sent),
            sum(gap.lost for gap in mine),
            sum(gap.excused for gap in mine),
            max((gap.end - gap.begin for gap in mine if gap.lost),
                default=0.0),
            max((gap.end - gap.begin for gap in mine), default=0.0)))
    return found


def actions(episodes, found: list) -> dict:
    """The gaps of each action over all of its episodes.

    :returns: dict of action to dict: times, median_ms and worst_ms (of the
        longest gap of any target, for each episode), lost, excused
    """
    by_episode = {}
    for share in found:
        by_episode.setdefault(share.episode, []).append(share)
    grouped = {}
    for episode in episodes:
        grouped.setdefault(episode.action, []).append(
            by_episode.get(episode.number, []))
    return {action: _action(each) for action, each in
            sorted(grouped.items())}


def _action(each):
    longest = [max((share.gap for share in one), default=0.0) * 1000
               for one in each]
    whole = [max((share.whole for share in one), default=0.0) * 1000
             for one in each]
    return {'times': len(each),
            'median_ms': round(statistics.median(longest), 1),
            'worst_ms': round(max(longest), 1),
            'whole_median_ms': round(statistics.median(whole), 1),
            'whole_worst_ms': round(max(whole), 1),
            'lost': sum(share.lost for one in each for share in one),
            'excused': sum(share.excused for one in each for share in one),
            'sent': sum(share.sent for one in each for share in one)}


@dataclasses.dataclass(frozen=True)
class Material:
    """All that a summary is made of."""

    profile: object
    began: float
    ended: float
    samples: list
    episodes: list
    violations: list
    moves: tuple
    leaks: dict  # dict of counter of the sink to packets
    growth: object
    errors: list  # list of text: looks of the watch that failed


def make(material):
    """The summary, a dict that JSON can write.

    Times are seconds since the beginning of the run.
    """
    m, began = material, material.began
    every = [share for one in m.samples for share in shares(
        one, m.episodes, m.ended)]
    targets = [_target(one, m.episodes, began) for one in m.samples]
    sent = sum(one['sent'] for one in targets)
    violations = {(v.kind, v.subject, v.detail, v.at): v for v in (
        *m.violations, *(v for episode in m.episodes
                         for v in episode.violations))}
    return {
        'profile': m.profile.name, 'interval_s': m.profile.probe_interval,
        'seconds': round(m.ended - began, 3),
        'episodes': [_episode(one, every, began) for one in m.episodes],
        'actions': actions(m.episodes, every),
        'targets': targets, 'sent': sent,
        'lost': sum(one['lost'] for one in targets),
        'excused': sum(one['excused'] for one in targets),
        'loss_share': round(sum(one['lost'] for one in targets) /
                            max(1, sent), 6),
        'whole_loss_share': round(sum(
            one['lost'] + one['excused'] for one in targets) / max(1, sent),
            6),
        'violations': [{'kind': v.kind, 'subject': v.subject,
                        'detail': v.detail, 'at': round(v.at - began, 3)}
                       for v in sorted(violations.values(),
                                       key=lambda v: v.at)],
        'moves': [{'at': round(move.at - began, 3), 'router': move.router,
                   'owner': move.owner} for move in m.moves],
        'leaks': m.leaks,
        'agents': _agents(m.growth), 'watch_errors': m.errors[:20]}


def _target(samples, episodes, began):
    excuses = [one for episode in episodes for one in episode.excuses]
    missed = gaps(samples, excuses)
    answered = [answer for answer in samples.answers
                if answer is not None and answer >= 0]
    return {
        'subject': samples.target.subject, 'kind': samples.target.kind,
        'sent': len(samples.sent), 'answered': len(answered),
        'lost': sum(gap.lost for gap in missed),
        'excused': sum(gap.excused for gap in missed),
        'pending': sum(answer is None for answer in samples.answers),
        'longest_gap_ms': round(max(
            (gap.end - gap.begin for gap in missed if gap.lost),
            default=0.0) * 1000, 1),
        'skipped': samples.skipped,
        'most_late_ms': round(samples.lateness() * 1000, 1),
        'error': samples.error,
        'gaps': [[round(gap.begin - began, 3), round(gap.end - began, 3),
                  gap.lost, gap.excused] for gap in missed]}


def _episode(episode, every, began):
    mine = [share for share in every if share.episode == episode.number]
    return {
        'number': episode.number, 'action': episode.action,
        'target': episode.target, 'parameters': episode.parameters,
        'began': round(episode.began - began, 3),
        'ended': round(episode.ended - began, 3),
        'settled': round(episode.settled - began, 3),
        'lost': sum(share.lost for share in mine),
        'excused': sum(share.excused for share in mine),
        'gap_ms': round(max((share.gap for share in mine),
                            default=0.0) * 1000, 1),
        'whole_gap_ms': round(max((share.whole for share in mine),
                                  default=0.0) * 1000, 1),
        'losses': [{'subject': share.subject, 'lost': share.lost,
                    'excused': share.excused,
                    'gap_ms': round(share.gap * 1000, 1)}
                   for share in mine if share.lost or share.excused],
        'violations': len(episode.violations)}


def _agents(growth):
    return [{'node': name, 'start': start, 'measures': len(found),
             'descriptors': [found[0].descriptors, found[-1].descriptors],
             'threads': [found[0].threads, found[-1].threads],
             'kilobytes': [found[0].kilobytes, found[-1].kilobytes]}
            for (name, start), found in growth.series.items()]


def text(summary):
    """A summary for a terminal."""
    s = summary
    lines = [
        f'profile {s["profile"]}: {len(s["episodes"]):d} episodes in '
        f'{s["seconds"]:.0f} s, {len(s["moves"]):d} changes of owners, '
        f'{len(s["violations"]):d} violations',
        f'{s["lost"]:d} of {s["sent"]:d} probes lost without excuse '
        f'({s["loss_share"]:.3%}), {s["excused"]:d} with excuse']
    late = max((one['most_late_ms'] for one in s['targets']), default=0.0)
    skipped = sum(one['skipped'] for one in s['targets'])
    lines.append(f'the senders were at most {late:.0f} ms late, and left '
                 f'{skipped:d} probes out; sink: {s["leaks"]}')
    lines += ['', f'{"action":24} times   lost excused  median   worst ms  '
              'whole gaps: median, worst']
    lines += [f'{name:24} {one["times"]:5d} {one["lost"]:6d} '
              f'{one["excused"]:7d} {one["median_ms"]:7.0f} '
              f'{one["worst_ms"]:7.0f}    {one["whole_median_ms"]:7.0f} '
              f'{one["whole_worst_ms"]:7.0f}'
              for name, one in s['actions'].items()]
    lines += ['', *(f'{one["subject"]}: {one["sent"]:d} sent, '
                    f'{one["lost"]:d} lost, {one["excused"]:d} excused, '
                    f'longest gap {one["longest_gap_ms"]:.0f} ms'
                    for one in s['targets'])]
    lines += [f'VIOLATION at {v["at"]:.1f} s, {v["kind"]} {v["subject"]}: '
              f'{v["detail"]}' for v in s['violations']]
    return '\n'.join(lines)
