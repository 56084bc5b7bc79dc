# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Check of the agent's objects: the plan of a dry run, beside the agent.

The agent has done its work, so what such a run finds is missing, wrong or left
over: a route, rule, flow, table of nftables, announcement, or row in OVN.
"""

from collections.abc import Iterator
import time
import typing

from ovn_network_agent.backends import base
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.forward import rules
from ovn_network_agent.forward import source

# Seconds for the running agent to see a change, and to make its own.
_PAUSE = 2.0
_NAMED = 3
_VERBS = {'create': 'missing', 'update': 'different', 'delete': 'left over'}


class Objects(typing.NamedTuple):
    """The differences between the desired and the actual objects."""

    # (verb, kind, text of the object), found twice.
    differences: tuple[tuple[str, str, str], ...]
    unread: tuple[str, ...]  # reasons why a system could not be looked at


def read_objects(sources: sources.Sources) -> Objects:
    """Make two plans, two seconds apart, since the agent may be at work.

    :raises check.NotChecked: also if health checks decide what is forwarded
    """
    sources.privileged()
    if not sources.holder():
        raise check.NotChecked('no agent runs, which would make them')
    if any(rule.check for vip in rules.load(sources.conf)
           for rule in vip.rules):
        raise check.NotChecked('health checks decide what is forwarded, and '
                               'only the agent has their results')
    first, unread = _plan(sources)
    if not first:
        return Objects((), unread)
    time.sleep(_PAUSE)
    second, unread = _plan(sources)
    return Objects(tuple(step for step in second if step in set(first)),
                   unread)


def _plan(sources: sources.Sources
          ) -> tuple[tuple[tuple[str, str, str], ...], tuple[str, ...]]:
    """The steps of a pass, and why systems could not be read."""
    databases = {name: sources.database(name).database
                 for name in ('nb', 'sb', 'ovs')}
    snapshot = source.Source(sources.conf).with_rules(sources.view())
    backends = sources.fresh_backends()
    for backend in backends:
        backend.attach(base.Context(
            databases, lambda: snapshot.node.marks,
            lambda: snapshot.node.chassis))
    planner = reconciler.Reconciler(list(sources.drivers), backends,
                                    lambda reason: None)
    try:
        steps, found = planner.plan(snapshot)
    finally:
        planner.close()
    return tuple((verb, resource.kind, outcomes.describe(resource))
                 for verb, resource in steps if verb in _VERBS), tuple(
                     f'{name}: {why}'
                     for name, why in found.unreadable.items())


def judge_objects(found: Objects) -> Iterator[check.Result]:
    """Each object that is missing, different or left over is broken.

    A system that could not be read is a warning.
    """
    for reason in found.unread:
        yield check.warn(f'could not be read: {reason}',
                         'see the checks of that system')
    by_verb: dict[str, list[str]] = {}
    for verb, kind, text in found.differences:
        by_verb.setdefault(verb, []).append(f'{kind} {text}')
    for verb, texts in by_verb.items():
        more = f' and {len(texts) - _NAMED:d} more' if (
            len(texts) > _NAMED) else ''
        yield check.broken(
            f'{_VERBS[verb]}: {"; ".join(texts[:_NAMED])}{more}',
            '"ovn-network-agent-ctl resync" makes the agent repair them, and '
            'says what fails; if they differ again, another program changes '
            'them')
    if not found.unread and not found.differences:
        yield check.ok('all are present, and none is surplus')


CHECKS = (
    check.Check(
        'objects', 'running agent', 'with a running agent: all its routes, '
        'rules, flows, tables, announcements and rows are present, and none '
        'is surplus', read_objects, judge_objects,
        ('configuration', 'agent', 'privileges', 'single-agent',
         'provider-bridge', 'vrf', 'proxy-arp', 'frr-daemons', 'prefix-list',
         'ovs-database', 'nb-database', 'sb-database', 'bridge-mappings',
         'routing-tables')),
)
