# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of the agent: one on the node, its state, privileges, objects."""

from collections.abc import Iterator
from collections.abc import Sequence
import glob
import itertools
import os
import re
import shutil
import time
import typing

from ovn_network_agent import privileged
from ovn_network_agent import version
from ovn_network_agent.backends import base
from ovn_network_agent.common import wording
from ovn_network_agent.control.socket import client
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.engine import outcome as outcomes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.forward import rules
from ovn_network_agent.forward import source
from ovn_network_agent.privileged.daemon import helper
from ovn_network_agent.runtime.process import single_instance

_SUDOERS = ('/etc/sudoers', '/etc/sudoers.d/*')
# Seconds for the running agent to see a change, and to make its own.
_PAUSE = 2.0
_NAMED = 3
_VERBS = {'create': 'missing', 'update': 'different', 'delete': 'left over'}


class Alone(typing.NamedTuple):
    """The agents of this network namespace."""

    agents: tuple[agent.Agent, ...]
    holder: str  # who has the lock of the only agent, '' for nobody


def judge_alone(found: Alone) -> Iterator[check.Result]:
    """Two agents are broken; an agent without the lock is a warning."""
    names = ', '.join(f'process {one.pid:d} ({one.command})'
                      for one in found.agents)
    if len(found.agents) > 1:
        yield check.broken(
            f'{len(found.agents):d} agents work in this network namespace: '
            f'{names}', 'stop all but one: two remove each other\'s routes')
    elif found.agents and not found.holder:
        yield check.warn(
            f'{names} does not hold the lock of the agent: it is just '
            'starting, or is the original program',
            'stop the original program before the first start of this one')
    elif found.holder:
        yield check.ok(f'one agent: {found.holder}')
    else:
        yield check.ok('no agent runs here')


def judge_original(found: single_instance.Original) -> Iterator[check.Result]:
    """The verdict on the original program."""
    for pid in found.running:
        yield check.broken(
            f'the original program runs as process {pid:d}',
            'stop the original before the first start of this agent: each '
            'would undo the changes of the other')
    for unit in found.enabled:
        yield check.warn(
            f'the unit {unit} is enabled and starts the original program with '
            'the node',
            f'"systemctl disable {unit}", or put the unit of this agent in '
            'its place')
    for path in found.installed:
        yield check.warn(
            f'{path} is the original program, whose unit has the name of '
            'this agent\'s unit',
            'remove the package of the original while the original is '
            'stopped, and then install the unit of this agent')
    if not any(found):
        yield check.ok('the original program is not on this node')


class Status(typing.NamedTuple):
    """The state of the running agent."""

    runs: bool  # whether an agent has the lock
    failure: str = ''  # why the agent does not answer, '' when it does
    phase: str = ''  # see the reference of "status --json"
    degraded: tuple[str, ...] = ()
    drains: tuple[str, ...] = ()  # UUIDs, or 'all'
    version: str = ''  # version of the agent, '' if it does not say


def read_status(sources: sources.Sources) -> Status:
    """Ask the running agent; a refusal counts as an agent with trouble."""
    runs = bool(sources.holder())
    try:
        report = sources.report()
    except client.NotRunning as error:
        return Status(runs, str(error))
    except (client.NoAgent, client.Refused) as error:
        # Something listens there.
        return Status(True, str(error))
    return Status(True, '', report['phase'], tuple(report['degraded']),
                  tuple(report['drains']), report.get('version', ''))


def judge_status(found: Status) -> Iterator[check.Result]:
    """Warn of each degraded reason; an agent without an answer is broken.

    An agent of another version than this program is a warning, too.
    """
    if found.version not in ('', version.STRING):
        yield check.warn(
            f'the agent that runs is {found.version}, and this program is '
            f'{version.STRING}', 'after an upgrade restart the agent soon, on '
            'one gateway node after the other: until then the former version '
            'goes on, and may miss files that the upgrade has removed')
    if not found.runs:
        yield check.not_checked('no agent runs')
    elif found.failure:
        yield check.broken(f'an agent runs, and {found.failure}',
                           'look into the log of the agent; with a frozen '
                           'agent: restart it')
    elif found.phase == 'restoring':
        yield check.warn('the agent has not seen OVN yet',
                         'see the checks of the databases')
    elif found.degraded:
        for reason in found.degraded:
            yield check.warn(
                f'degraded: {reason}',
                ('the reason has the remedy; ' if '; ' in reason else '') +
                '"ovn-network-agent-ctl status --verbose" shows what fails')
    else:
        yield check.ok(f'{found.phase}, in sync')


def judge_drain(found: Status) -> Iterator[check.Result]:
    """Warn of a drain that an operator has not ended yet."""
    if not found.runs or found.failure:
        yield check.not_checked('no agent answers')
    elif found.drains:
        yield check.warn(f'drained by an operator: {", ".join(found.drains)}',
                         '"ovn-network-agent-ctl undrain" when the '
                         'maintenance is over')
    else:
        yield check.ok('nothing is drained')


def judge_privileges(refused: str) -> Iterator[check.Result]:
    """Daemons that do not start are broken; without root nothing is known.

    :param refused: the reason why they do not start, or ''
    """
    if 'needs root' in refused:
        yield check.not_checked(refused)
    elif refused:
        yield check.of_message(check.Verdict.BROKEN, refused)
    else:
        yield check.ok('the privileged daemons start')


class Helper(typing.NamedTuple):
    """The command that starts a daemon for an agent without capabilities."""

    section: str
    command: str
    own: bool  # whether it is a helper_command or a rootwrap of the operator
    found: bool  # whether its program is there
    allowed: bool  # whether a file of sudoers has these words


def read_helpers(sources: sources.Sources) -> tuple[Helper, ...]:
    """Read the commands that start daemons, and look them up in sudoers.

    A plain sudo counts only if a file of sudoers names the helper; else the
    agent is meant to have its capabilities.
    """
    sources.privileged()
    sudoers = '\n'.join(_texts())
    configured = helper.NAME in sudoers
    found = []
    for context in privileged.CONTEXTS:
        argv = context.helper_command(helper.path(context.name))
        own = bool(context.conf.helper_command) or not _only_sudo(argv)
        if own or configured:
            found.append(Helper(
                context.cfg_section, ' '.join(argv), own,
                shutil.which(argv[0]) is not None,
                ' '.join(_run_as_root(argv)) in sudoers))
    return tuple(found)


def _run_as_root(argv: Sequence[str]) -> list[str]:
    """The command that sudo runs: the words after sudo and its flags."""
    return list(itertools.dropwhile(lambda word: word.startswith('-'),
                                    argv[1:]))


def _only_sudo(argv: Sequence[str]) -> bool:
    """Whether sudo runs the helper itself, and no rootwrap in between."""
    return (os.path.basename(argv[0]) == 'sudo' and
            _run_as_root(argv)[:1] == [helper.program()])


def _texts() -> Iterator[str]:
    """The files of sudoers, with one command on each line."""
    for pattern in _SUDOERS:
        for path in sorted(glob.glob(pattern)):
            with open(path, encoding='utf-8', errors='replace') as opened:
                yield re.sub(r'\s+', ' ', opened.read().replace('\\\n', ' '))


def judge_helpers(found: tuple[Helper, ...]) -> Iterator[check.Result]:
    """A missing program is broken, and so is a command outside of sudoers."""
    if not found:
        yield check.not_checked('neither helper_command nor sudoers has a '
                                'helper: the agent has its capabilities')
        return
    wrong = False
    for one in found:
        if not one.found:
            wrong = True
            yield check.broken(f'[{one.section}]: the program of '
                               f'"{one.command}" is not there',
                               'install it, or correct root_helper or '
                               'helper_command')
        elif not one.own and not one.allowed:
            wrong = True
            yield check.broken(
                f'[{one.section}]: no file of sudoers allows '
                f'"{one.command}"', 'adapt contrib/sudoers.d to this '
                'installation: every word counts')
    if not wrong:
        yield check.ok(wording.count(
            len(found), 'command starts', 'commands start') + ' the daemons')


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
        yield check.broken(
            f'{_VERBS[verb]}: {wording.first(texts, _NAMED, "; ")}',
            '"ovn-network-agent-ctl resync" makes the agent repair them, and '
            'says what fails; if they differ again, another program changes '
            'them')
    if not found.unread and not found.differences:
        yield check.ok('all are present, and none is surplus')


CHECKS = (
    check.Check(
        'single-agent', 'processes', 'one agent at most works in this '
        'network namespace, the original program included',
        lambda sources: Alone(sources.agents(), sources.holder()),
        judge_alone),
    check.Check(
        'original-program', 'processes', 'the original program neither runs, '
        'nor starts with the node, nor is installed',
        lambda sources: sources.original(), judge_original,
        # Two agents are one fault, whichever program the second one is.
        ('single-agent',)),
    check.Check(
        'agent', 'running agent', 'the agent answers on its control socket, '
        'is not degraded, and has the version of this command', read_status,
        judge_status),
    check.Check(
        'drain', 'running agent', 'no drain of an operator is in force',
        read_status, judge_drain),
    check.Check(
        'privileges', 'privileged daemons', 'the daemons can be started with '
        'their capabilities', lambda sources: sources.refused,
        judge_privileges),
    check.Check(
        'helper-commands', 'privileged daemons', 'where sudo or '
        'helper_command starts the daemons: the programs exist, and sudoers '
        'has exactly these commands', read_helpers, judge_helpers),
)
# Last, because they depend on almost everything.
OBJECTS = (
    check.Check(
        'objects', 'running agent', 'with a running agent: all its routes, '
        'rules, flows, tables, announcements and rows are present, and none '
        'is surplus', read_objects, judge_objects,
        ('configuration', 'agent', 'privileges', 'single-agent',
         'provider-bridge', 'vrf', 'proxy-arp', 'frr-daemons', 'prefix-list',
         *check.DATABASES, 'bridge-mappings', 'routing-tables')),
)
