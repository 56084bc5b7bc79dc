# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Outages of devices and of networks, and of a whole node."""

import time

from lab import outages
from lab import plan
from lab.chaos import building
from lab.chaos import values
from lab.chaos.actions import base

_FABRIC = 'the uplink or its session of BGP was down'


# Seconds for all ovn-controllers to follow again after a silence.
_CAUGHT_UP = 120


def _suffer(step, name):
    """An outage of the way into the fabric, from the begin on.

    The spine misses the gateway only some time later.
    """
    base.suffer(step, name)
    ended = time.monotonic()
    step.excuse(step.through(step.target), step.began, ended,
                'the node had no way into the fabric')
    step.excuse_absence(step.target, _FABRIC, (step.began, ended))


def _uplink(step):
    _suffer(step, 'uplink')
    # The address of the link is there, and BGP connects again.
    building.wait_fabric(step.cloud, step.world.profile)


def _vrf(step):
    with step.world.without(step.target, plan.VRF), step.world.exempting(
            values.FOREIGN, step.target, 'the VRF is made again'):
        _suffer(step, 'vrf')
        building.wait_fabric(step.cloud, step.world.profile)


def _silence(step):
    """The gateway is alone: OVN gives its routers to others.

    An agent withdraws nothing on doubt, so both nodes announce until the
    silent one hears of OVN again; what is lost from then on counts.
    """
    why = 'a node without network does not know that others took over'
    with (step.world.exempting(values.DOUBLE, values.ALL, why),
          step.world.exempting(values.RANK, values.ALL, why)):
        base.suffer(step, 'network-silence')
        step.excuse(step.through(step.target), step.began, time.monotonic(),
                    why)
        _caught_up(step)


def _control_silence(step):
    base.suffer(step, 'control-silence')
    _caught_up(step)


def _caught_up(step):
    """Wait until each ovn-controller follows OVN again.

    TCP goes on with a connection after a pause that has doubled meanwhile
    (RFC 6298, section 5.5).  The next action would otherwise meet a chassis
    that knows nothing of it.
    """
    step.cloud['central'].run(['ovn-nbctl', f'--timeout={_CAUGHT_UP:d}',
                               '--wait=hv', 'sync'],
                              timeout=_CAUGHT_UP + 10)


def _power(step):
    world, name = step.world, step.target
    step.excuse_claims(name, 'OVN had not noticed the death')
    step.excuse_absence(name, 'the node was without power')
    world.meant(name, powered=False, agent='killed')
    with world.exempting(values.FOREIGN, name, 'the node boots'):
        step.cloud.power_off(name)
        step.hold()
        _on(step)
    world.start_agent(name)


def _on(step):
    """What boots with a node: FRR, OVS, and the operator's scripts."""
    world, name = step.world, step.target
    step.cloud.power_on(name)
    building.gateway_routing(step.cloud, world.profile, name,
                             world.operator.lines())
    world.operator.plant(name)
    building.put_rules(step.node, world.gateway(name).vips)
    building.wait_fabric(step.cloud, step.world.profile)
    world.meant(name, powered=True)


def _jump(step):
    outages.jump(step['jump'])
    try:
        step.hold()
    finally:
        outages.jump(-step['jump'])


ACTIONS = (
    base.outage('uplink', (0.5, 3), perform=_uplink),
    base.outage('vrf', (0.3, 2), perform=_vrf),
    base.outage('control-loss', (4, 10)),
    base.outage('control-delay', (4, 10)),
    base.outage('control-silence', (4, 14), perform=_control_silence),
    base.outage('network-silence', (4, 10), perform=_silence),
    base.Action('power', 'power failure, and boot', _power, seconds=(3, 6)),
    base.Action('clock', 'the clock jumps, and jumps back', _jump,
                choices={'jump': (3600, -3600, 60, -60, 86400)},
                seconds=(1, 3)),
    base.outage('descriptors', (1, 4)),
)
