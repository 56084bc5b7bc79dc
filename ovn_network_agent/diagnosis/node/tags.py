# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tags of the routes of this node, which a route map of FRR matches."""

import collections
import typing

from ovn_network_agent import networks
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import withheld

# The most tags that one line names.
_NAMED = 5


class Tags(typing.NamedTuple):
    """The tags of the announced routes of this node.

    :ivar addresses: tuple of (tag, number of addresses), sorted; only of the
        families without a route map, if there are such
    :ivar method: 'static' or 'kernel', the source that BGP redistributes
    :ivar mapped: whether the redistribution has a route map in each family
        that has tags
    """

    addresses: tuple
    method: str
    mapped: bool


def read_tags(sources):
    """Count the addresses of each tag.

    :param sources: :class:`sources.Sources`
    :returns: :class:`Tags`
    :raises ovsdb.connection.Unavailable: without NB or SB
    :raises OSError: or another of :data:`context.FAILURES`, when FRR does
        not answer
    """
    found = [(each.tag, networks.family(each.address))
             for each in withheld.announceable(sources.snapshot(),
                                               sources.conf)
             if each.tag and not each.withheld and
             getattr(each.place, 'vni', None) is None]
    method = sources.conf.fip_route.announce_method
    families = sorted({family for _tag, family in found})
    without = {family for family in families
               if method not in dict(sources.frr(family).mapped)}
    # Where a family has no route map, its addresses are those to name.
    counts = collections.Counter(tag for tag, family in found
                                 if not without or family in without)
    return Tags(tuple(sorted(counts.items())), method, not without)


def judge_tags(found):
    """A tag that no route map can match is a warning.

    :param found: :class:`Tags`
    :returns: iterator of :class:`check.Said`
    """
    if not found.addresses:
        yield check.ok('no route has a tag')
        return
    text = ', '.join(f'{tag} ({number:d} addresses)'
                     for tag, number in found.addresses[:_NAMED])
    if found.mapped:
        yield check.ok(f'tags of {found.method} routes: {text}')
        return
    match = 'tag' if found.method == 'static' else 'metric'
    yield check.warn(
        f'tags without effect: {text}; BGP redistributes {found.method} '
        'routes without a route map',
        f'give "redistribute {found.method}" a route map that has "match '
        f'{match} {found.addresses[0][0]}", or remove the tags')


CHECKS = (
    check.Check(
        'route-tags', 'BGP', 'the tags of announced routes, and a route map '
        'for them', read_tags, judge_tags,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis',
         'bgp-instance')),
)
