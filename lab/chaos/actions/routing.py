# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Dead daemons of FRR, which watchfrr starts again."""

import os
import time

from lab import frr
from lab import node as nodes
from lab import outages
from lab import plan
from lab import waiting
from lab.chaos import values
from lab.chaos.actions import base

_WHY = 'FRR and its session with the spine were not back'
_DAEMONS = ('staticd', 'bgpd', 'zebra')


def _killed(*daemons):
    def perform(step):
        world, name = step.world, step.target
        step.excuse_absence(name, _WHY)
        # The operator's saved lines come back with the daemons.
        with world.without(name, 'frr'), world.exempting(
                values.FOREIGN, name, 'FRR starts'):
            outages.kill_frr(*daemons)(step.cloud, name)
            nodes.wait_until('watchfrr has started the daemons', lambda: all(
                frr.answers(step.node, one) for one in
                {*_DAEMONS, *daemons}), 90)
            if 'staticd' in daemons:
                _excuse_statics(step)
            nodes.wait_until(f'the spine has heard of {name}', lambda: (
                step.cloud.route(plan.LOOPBACKS[name]) is not None), 90)
            wait_configured(step.node, world.operator.objects(name))
    return perform


def wait_configured(node, objects):
    """Wait until FRR has the saved lines of the operator."""
    wanted = [one.text for one in objects if one.service == 'frr']

    def there():
        found = ''.join(frr.ask(node, one, 'show running-config')
                        for one in (frr.STATIC, 'bgpd'))
        return all(text in found for text in wanted)

    nodes.wait_until('FRR has its saved configuration', there, 60, 0.5,
                     not_yet=(*waiting.NOT_YET, nodes.NodeError))


def _excuse_statics(step):
    """Without staticd, the static routes of the agent are gone."""
    if step.world.gateway(step.target).method == 'static':
        step.excuse(step.through(step.target), step.began, time.monotonic(),
                    'staticd was not back')


ACTIONS = (
    *(base.Action(name, f'{name} killed', _killed(name))
      for name in ('staticd', 'bgpd', 'zebra', 'bfdd', 'mgmtd')
      # That of FRR 10; each FRR has the others.
      if name != 'mgmtd' or os.path.exists(
          os.path.join(frr.PROGRAMS, name))),
    base.Action('frr', 'zebra, staticd and bgpd killed', _killed(*_DAEMONS)),
)
