# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Addresses of this node that are not announced on purpose."""

import collections
import typing

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import selection
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.drivers import announcing
from ovn_network_agent.ovn import directory

# The most reasons and names that one line has.
_NAMED = 5


class Withheld(typing.NamedTuple):
    """The addresses of routers and machines here, and prefixes of tenants.

    :ivar addresses: number of addresses and prefixes
    :ivar reasons: tuple of (number of addresses, why they are not announced),
        the largest number first
    :ivar unknown: tuple of (option of [announce], 'router' or 'network',
        name that none in OVN has)
    :ivar doubled: likewise, of names that several have
    """

    addresses: int
    reasons: tuple
    unknown: tuple
    doubled: tuple = ()


def read_withheld(sources):
    """Count the addresses of this node, and those that are withheld.

    :param sources: :class:`sources.Sources`
    :returns: :class:`Withheld`
    :raises ovsdb.connection.Unavailable: without NB or SB
    """
    found = {each.address: each.withheld
             for each in announceable(sources.snapshot(), sources.conf)}
    reasons = collections.Counter(filter(None, found.values()))
    with sources.database('nb').rows() as nb:
        known = {'router': _names(nb, 'Logical_Router',
                                  directory.NEUTRON_NAME),
                 'network': _names(nb, 'Logical_Switch',
                                   directory.NETWORK_NAME)}
    named = [(option, kind, name) for kind in sorted(known)
             for option, name in _named(sources.conf.announce, kind)]
    return Withheld(
        len(found), tuple((number, reason) for reason, number
                         in reasons.most_common()),
        tuple(each for each in named if not known[each[1]][each[2]]),
        tuple(each for each in named if known[each[1]][each[2]] > 1))


def _named(options, kind):
    """(option, name) of the routers or networks that options name."""
    for option in (f'include_{kind}s', f'exclude_{kind}s'):
        yield from ((option, name) for name in options[option])
    option = f'{kind}_tags'
    yield from ((option, name)
                for name, _tag in selection.tags(options[option]))


def answered(snapshot, conf):
    """The addresses of provider networks that this node answers for.

    :param snapshot: :class:`model.Snapshot`
    :param conf: the oslo.config ConfigOpts
    :returns: iterator of :class:`model.ServedAddress` and
        :class:`model.PortAddress`
    """
    for each in snapshot.every_address():
        here = (not each.claimed if isinstance(each, model.PortAddress) else
                each.answered or each.withheld == selection.BY_OVN)
        if here and networks.inside(
                each.address, announcing.provider_networks(conf, each.place)):
            yield each


def announceable(snapshot, conf):
    """The same, and the prefixes of tenants that nobody else has first."""
    yield from answered(snapshot, conf)
    for known in snapshot.tenants.values():
        for each in known.values():
            if each.announced or each.withheld:
                yield each


def _names(nb, table, key):
    """How many rows of a table have each name."""
    return collections.Counter(
        name for uuid, row in nb.get(table, {}).items()
        for name in selection.names(
            directory.NEUTRON_PREFIX, str(uuid), row.name,
            row.external_ids.get(key, '')))


def judge_withheld(found):
    """Judge unknown names, and whether anything is left to announce.

    :param found: :class:`Withheld`
    :returns: iterator of :class:`check.Said`
    """
    for option, kind, name in found.unknown:
        yield check.warn(
            f'[announce] {option} has {name}, and OVN has no such {kind}',
            'correct the name, or remove it: '
            f'"openstack {kind} list" shows all names')
    for option, kind, name in found.doubled:
        yield check.warn(
            f'[announce] {option} has {name}, the name of several {kind}s',
            f'name the {kind} by its UUID: a tenant may choose the name of '
            'another one')
    number = sum(each for each, _reason in found.reasons)
    if not number:
        yield check.ok(f'none of {found.addresses:d} addresses is withheld')
        return
    why = '; '.join(f'{each:d}: {reason}'
                    for each, reason in found.reasons[:_NAMED])
    text = (f'{number:d} of {found.addresses:d} addresses are not announced '
            f'on purpose ({why})')
    if number < found.addresses:
        yield check.ok(text)
        return
    yield check.warn(text, 'if this node is to announce something, change '
                     'what these reasons name; "ovn-network-agent-ctl fips" '
                     'has the reason of each address')


CHECKS = (
    check.Check(
        'withheld-addresses', 'OVN', 'rows of OVN and the options of '
        '[announce] leave something to announce, and OVN knows the names in '
        'these options',
        read_withheld, judge_withheld,
        ('ovs-database', 'nb-database', 'sb-database', 'chassis')),
)
