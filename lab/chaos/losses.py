# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Where each lost probe belongs: to which episode, and to which part of it.

Pure.  A gap begins with the sending of a lost probe, and ends with the
sending of the next answered probe.  An episode reaches until the next one
begins.  When the gateway port moved, an episode has four parts for each
target:

failover
    until OVN has moved the port for the last time
dark
    until the spine sends the address to the new owner
tail
    until the next probe is answered
after
    the rest

Without a move, everything is in the part "still".
"""

import dataclasses
import statistics

from lab.chaos import routes
from lab.chaos import values

PARTS = ('failover', 'dark', 'tail', 'after', 'still')


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
    parts: dict  # dict of part to seconds of the gaps in this part
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


def cuts(samples, episode, until: float, seen, addresses: dict) -> list:
    """The ends of the parts of an episode for one target."""
    target = samples.target
    moves = [move for move in episode.moves
             if move.owner and move.router == target.router]
    if not moves:
        return [('still', until)]
    moved = moves[-1].at
    address = addresses.get(target.router)
    shown = moved if address is None else routes.announced_at(
        seen, address, moves[-1].owner, moved, until)
    if shown is None:
        return [('failover', moved), ('dark', until)]
    answered = next(
        (at for at, answer in zip(samples.sent, samples.answers)
         if at >= shown and answer is not None and answer >= 0), until)
    return [('failover', moved), ('dark', shown),
            ('tail', min(answered, until)), ('after', until)]


def shares(samples, episodes: list, end: float, seen, addresses: dict) -> list:
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
            _parts(mine, episode.began,
                   cuts(samples, episode, until, seen, addresses)),
            max((gap.end - gap.begin for gap in mine), default=0.0)))
    return found


def _parts(mine, begin, ends):
    parts = dict.fromkeys(PARTS, 0.0)
    for part, end in ends:
        parts[part] += sum(
            max(0.0, min(gap.end, end) - max(gap.begin, begin))
            for gap in mine)
        begin = max(begin, end)
    # A gap may last longer than the time of its episode.
    parts[ends[-1][0]] += sum(max(0.0, gap.end - max(gap.begin, begin))
                              for gap in mine)
    return {part: seconds for part, seconds in parts.items() if seconds}


def actions(episodes, found: list) -> dict:
    """The gaps of each action over all of its episodes.

    :returns: dict of action to dict: times, median_ms and worst_ms (of the
        longest gap of any target, for each episode), lost, excused, parts_ms
        (median for each part of the longest time of any target)
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
    parts = {part: statistics.median(
        max((share.parts.get(part, 0.0) for share in one), default=0.0)
        for one in each) * 1000 for part in PARTS}
    return {'times': len(each),
            'median_ms': round(statistics.median(longest), 1),
            'worst_ms': round(max(longest), 1),
            'whole_median_ms': round(statistics.median(whole), 1),
            'whole_worst_ms': round(max(whole), 1),
            'lost': sum(share.lost for one in each for share in one),
            'excused': sum(share.excused for one in each for share in one),
            'sent': sum(share.sent for one in each for share in one),
            'parts_ms': {part: round(value, 1)
                         for part, value in parts.items() if value}}
