# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The order of the candidates of a gateway group.  Pure.

Each function takes candidates as they are and returns those that are to
change, as they are to be.  The numbers stay small, whatever happens: they
are counted anew before they grow beyond :data:`HIGHEST`, and whenever there
is no room for a number between two others.
"""

import dataclasses

from ovn_network_agent import model

# The lead is at least that, so that a peer which becomes a standby again,
# at 1, does not tie with it: OVN goes by names then.
LEAST_LEAD = 2
STANDBY = 1
# Beyond it the group is numbered anew.  The schema ends at 32767, and
# Neutron has groups that begin there.
HIGHEST = 100


def lowered(own, why):
    """What a candidate is to be that takes nothing any more.

    :param own: :class:`model.Candidate`
    :param why: 'shutdown', 'maintenance' or 'unfit'
    :returns: tuple of :class:`model.Candidate`
    """
    if own.priority:
        return (dataclasses.replace(own, priority=0, drained=why,
                                    earlier=own.priority),)
    if not own.drained:
        # Somebody else has lowered it, and knows why.
        return ()
    if own.drained == model.MAINTENANCE and why == model.SHUTDOWN:
        why = own.drained
    return (dataclasses.replace(own, drained=why),)


def lead(own, peers):
    """What gives a candidate the lead.

    :param own: :class:`model.Candidate`
    :param peers: list of the others, at least one
    :returns: tuple of :class:`model.Candidate`
    """
    highest = max(c.priority for c in peers)
    if own.priority > highest and own.priority >= LEAST_LEAD:
        return unmarked(own)
    number = max(highest + 1, LEAST_LEAD)
    if number <= HIGHEST:
        return (_at(own, number),)
    return _numbered(own, peers)


def unmarked(own):
    """What a candidate is to be that has a priority and still a mark."""
    return (_at(own, own.priority),) if own.drained else ()


def standby(own, peers, owners, number):
    """What makes a candidate that was drained a standby again.

    Whoever has the ports keeps the lead, and the order of the others stays.

    :param own: :class:`model.Candidate`
    :param peers: list of the others
    :param owners: set of names of the chassis that have the ports
    :param number: priority that it is to have where there is room for it
    :returns: tuple of :class:`model.Candidate`
    """
    back = _at(own, number)
    leaders = [c for c in peers if c.chassis in owners and c.priority]
    if not leaders:
        return (back,)
    below = min(c.priority for c in leaders) - 1
    capped = _at(own, min(number, below))
    others = [c for c in peers if c not in leaders]
    if capped.priority >= STANDBY and not any(
            capped.priority <= _ordered_by(c) < number for c in others):
        return (capped,)
    if len(leaders) > 1 or any(
            c.known and c.rank > leaders[0].rank for c in others):
        # The ports are about to move; that is not ours to decide.
        return (_at(own, max(capped.priority, STANDBY)),)
    return _numbered(leaders[0], [back, *others])


def _ordered_by(candidate):
    """What it is sorted by: its priority, or that before it was drained."""
    return candidate.priority or candidate.earlier


def _at(candidate, priority):
    return dataclasses.replace(candidate, priority=priority, drained='',
                               earlier=0)


def _numbered(leader, others):
    """The same order with small numbers, and one candidate before all.

    What is drained stays so; where it comes back to is numbered, too.
    """
    ranks = {rank: number for number, rank in enumerate(
        sorted({_ordered_by(c) for c in others} - {0}), STANDBY)}
    number = max(len(ranks) + 1, LEAST_LEAD)
    return (_at(leader, number), *(
        _ranked(c, ranks[_ordered_by(c)]) for c in others if _ordered_by(c)))


def _ranked(candidate, number):
    if candidate.priority:
        return dataclasses.replace(candidate, priority=number)
    return dataclasses.replace(candidate, earlier=number)
