# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What happens to the agent itself, and to its privileged daemons."""

import signal
import time

from lab import node as nodes
from lab import outages
from lab.chaos.actions import base

# Seconds between the end of a killed agent and its start by systemd.
_RESTART = 1.5
# Seconds for an agent to notice that it cannot go on.
_NOTICE = 20
_DAEMONS = ('kernel', 'ovs', 'frr', 'netfilter')


def _term(step):
    _stop(step, step.target)
    step.hold()
    step.world.start_agent(step.target)


def _stop(step, name):
    step.world.meant(name, agent='killed')
    status = step.world.agent(name).stop(timeout=150)
    if status:
        raise nodes.NodeError(f'{name}: the agent ended with {status:d}')
    step.world.meant(name, agent='stopped')


def _kill(step):
    step.world.meant(step.target, agent='killed')
    step.world.agent(step.target).kill()
    time.sleep(_RESTART)
    step.hold()
    step.world.start_agent(step.target)


def _pause(step):
    agent = step.world.agent(step.target)
    step.world.meant(step.target, agent='paused')
    agent.freeze()
    try:
        step.hold()
    finally:
        agent.thaw()
        step.world.meant(step.target, agent='running')


def _daemon(name):
    def perform(step):
        step.world.meant(step.target, agent='killed')
        outages.kill_daemon(step.cloud, step.target, name)
        step.world.agent(step.target).process.wait(_NOTICE)
        time.sleep(_RESTART)
        step.world.start_agent(step.target)
    return perform


def _rolling(step):
    """One agent after the other, and nobody waits for anything."""
    names = step.cloud.gateways
    first = names.index(step.target)
    for name in names[first:] + names[:first]:
        _stop(step, name)
        step.world.start_agent(name, wait=False)
    for name in names:
        step.world.wait_ready(name)


def _reload(step, name, group, **options):
    """SIGHUP with other values, as text."""
    agent = step.world.agent(name)
    agent.config.setdefault(group, {}).update(options)
    agent.write_config()
    agent.process.send_signal(signal.SIGHUP)


def _method(step):
    before = step.world.gateway(step.target).method
    method = 'kernel' if before == 'static' else 'static'
    for one in (method, before):
        _reload(step, step.target, 'fip_route', announce_method=one)
        step.world.meant(step.target, method=one)
        step.hold()


def _options(step):
    group, option, default = step['option']
    for value in (step['value'], default):
        _reload(step, step.target, group, **{option: value})
        step.hold()


def _many_reloads(step):
    for _number in range(step['times']):
        step.world.agent(step.target).process.send_signal(signal.SIGHUP)
        time.sleep(0.1)


ACTIONS = (
    base.Action('agent-term', 'the agent is stopped, and started again',
                _term, seconds=(0, 2)),
    base.Action('agent-kill', 'SIGKILL for the agent', _kill,
                seconds=(0, 2)),
    base.Action('agent-pause', 'SIGSTOP for the agent and its daemons',
                _pause, seconds=(1, 8)),
    *(base.Action(f'daemon-{name}', f'privileged daemon "{name}" killed',
                  _daemon(name)) for name in _DAEMONS),
    base.Action('rolling', 'all agents restart without pauses', _rolling),
    base.Action('flip-method', 'another announce method by SIGHUP, and back',
                _method, seconds=(2, 5)),
    base.Action('flip-interval', 'another reconcile_interval, and back',
                _options, seconds=(1, 3), choices={
                    'option': (('DEFAULT', 'reconcile_interval', '60'),),
                    'value': ('2', '5', '3600')}),
    base.Action('flip-drain', 'another [gateway_drain] restore, and back',
                _options, seconds=(0.5, 2), choices={
                    'option': (('gateway_drain', 'restore', 'standby'),),
                    'value': ('ordered',)}),
    base.Action('flip-debug', 'debug on, and off', _options,
                seconds=(0.5, 2), choices={
                    'option': (('DEFAULT', 'debug', 'false'),),
                    'value': ('true',)}),
    base.Action('reloads', 'SIGHUP many times', _many_reloads,
                choices={'times': (3, 10)}),
)
