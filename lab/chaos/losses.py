# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Where each lost probe belongs: to which episode.

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
