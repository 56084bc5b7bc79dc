# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What drivers want of a view, to compare one memory with another."""

import dataclasses

from ovn_network_agent.engine import contributions
from ovn_network_agent.engine import tracking
from ovn_network_agent.tests.unit import world as worlds

KINDS = {kind.kind for kinds in worlds.BACKENDS.values() for kind in kinds}


class Wanted:
    """What some drivers want, and the memory of that."""

    def __init__(self, asked):
        self.tracker = tracking.Tracker()
        self.made = contributions.Contributions(asked, self.tracker, KINDS)

    def after(self, view):
        """Everything that is wanted, also what does not count as a value."""
        self.made.update(view)
        return ({resource.ref: [getattr(resource, field.name) for field
                                in dataclasses.fields(resource)]
                 for resource in self.tracker.wanted()},
                {kind: keys for kind, keys in self.tracker._kept.items()
                 if keys},
                set(self.made.conflicts), self.made.left_out)

    def answers(self):
        """What each part of each answer wants, by the name of the part."""
        return dict(self.made._state._contributions)
