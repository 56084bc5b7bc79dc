# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface of health checks: whether destinations are alive.

:mod:`ovn_network_agent.forward.health_checks` makes the checks.
"""

import typing

from ovn_network_agent import port_forwards


class Target(typing.NamedTuple):
    """The target of a check.

    :ivar address: IP address of a destination, canonical text
    :ivar port: TCP port to connect to, never 0
    :ivar check: :class:`port_forwards.HealthCheck`
    """

    address: str
    port: int
    check: port_forwards.HealthCheck

    @property
    def label(self):
        """The target in a message."""
        return f'{self.address} port {self.port:d} ({self.check.kind})'


class Health:
    """The interface, without any check: each target counts as alive.

    All methods return at once.
    """

    def start(self, trigger):
        """Start to check.

        :param trigger: :class:`trigger.Trigger`, to be fired at each change
            of :meth:`alive`
        """

    def want(self, targets):
        """Check these targets from now on, and no others.

        The caller may be any thread, also before :meth:`start`, and calls
        this at each change of the rules.

        :param targets: frozenset of :class:`Target`
        """

    def alive(self, target):
        """Whether a target is alive; each pass calls this.

        :param target: :class:`Target`
        :returns: False for a dead target; True also without a result
        """
        return True

    def why(self, target):
        """The reason why a target is dead, or ''; see :meth:`alive`."""
        return ''

    def stop(self):
        """End the checks, without a wait; may be called twice."""
