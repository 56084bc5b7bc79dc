# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The parts of the running agent that the control socket asks."""

import dataclasses
import time

from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.engine import reconciler as reconcilers
from ovn_network_agent.runtime import pass_log
from ovn_network_agent.runtime import questions as asking
from ovn_network_agent.runtime import reloads as reloading


@dataclasses.dataclass(frozen=True, slots=True)
class Inside:
    """The questions that a command may ask."""

    # The way to call anything of the reconciler but ``health``.
    questions: asking.Questions
    passes: pass_log.PassLog
    reconciler: reconcilers.Reconciler
    trigger: triggers.Trigger
    reloads: reloading.Reloads
    started: float  # seconds since the epoch


def make(reconciler: reconcilers.Reconciler, trigger: triggers.Trigger
         ) -> Inside:
    """:class:`Inside` with a new log of passes."""
    passes = pass_log.PassLog()
    return Inside(asking.Questions(trigger.ask, lambda: passes.work), passes,
                  reconciler, trigger, reloading.Reloads(
                      lambda: trigger.fire('configuration', urgent=True)),
                  time.time())
