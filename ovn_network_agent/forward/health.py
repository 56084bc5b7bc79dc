# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface of :mod:`ovn_network_agent.forward.health_checks`."""

from collections.abc import Set
import typing

from ovn_network_agent.common import trigger as triggers
from ovn_network_agent.model import port_forwards


class Target(typing.NamedTuple):
    """The target of a check."""

    address: str  # IP address of a destination, canonical text
    port: int  # TCP port to connect to, never 0
    check: port_forwards.HealthCheck

    @property
    def label(self) -> str:
        """The target in a message."""
        return f'{self.address} port {self.port:d} ({self.check.kind})'


class Health:
    """The interface, without any check: each target counts as alive.

    All methods return at once.
    """

    def start(self, trigger: triggers.Trigger) -> None:
        """Start to check; each change of :meth:`alive` fires the trigger."""

    def want(self, targets: Set[Target]) -> None:
        """Check these targets from now on, and no others.

        Called on any thread, at each change of the rules, also before
        :meth:`start`.
        """

    def alive(self, target: Target) -> bool:
        """Whether a target is alive; True without a result."""
        return True

    def why(self, target: Target) -> str:
        """The reason why a target is dead, or ''; see :meth:`alive`."""
        return ''

    def stop(self) -> None:
        """End the checks, without a wait; may be called twice."""
