# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface of observers.

An observer checks whether resources have the intended effect.  It runs on a
thread of its own, so that a daemon that hangs delays no pass.  An observer
changes no resource: it wakes the loop, puts backends in doubt, and reports
problems.
"""

import abc
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import types
import typing
from typing import Any

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import trigger


class Outcome(typing.Protocol):
    """What observers see of an :class:`engine.outcome.Outcome`."""

    @property
    def readings(self) -> Iterable[tuple[str, float]]:
        """The readings whose result has come: the backend, and seconds."""

    @property
    def applied(self) -> Iterable[tuple[str, Any]]:
        """The changes that were made: 'created' or so, and the resource."""

    @property
    def lost(self) -> Sequence[resources.Ref]:
        """Objects that others removed or changed."""


class Tracker(typing.Protocol):
    """What observers see of an :class:`engine.tracking.Tracker`."""

    def touches(self, kinds: Iterable[str]) -> int:
        """See there, as of the other methods."""

    def wanted(self, kinds: Iterable[str]) -> Iterable[Any]:
        """Resources of the classes that belong to the kinds."""

    def in_sync(self, ref: resources.Ref) -> bool:
        """Whether a resource is as desired."""


class Observer(abc.ABC):
    """Checks something beside the loop."""

    # Problems for the status of the agent; replaced as a whole, so that any
    # thread may read it.  A subclass may have properties instead of these
    # attributes, which others only read.
    reasons: tuple[str, ...] = ()
    # Whether the observer knows that this node could not announce a gateway.
    unfit: bool = False
    # Whether the node is unfit only because what was lacking is not back for
    # long enough.
    recovers: bool = False
    # Values of metrics, None while unknown; replaced as a whole.
    counts: Mapping[str, float | None] = types.MappingProxyType({})

    @abc.abstractmethod
    def start(self, trigger: trigger.Trigger) -> None:
        """Start the thread, which fires the trigger."""

    def look_once(self) -> object:
        """Find out what a pass needs to know, for a dry run.

        This runs on the thread of the caller, which waits for the answer.
        """

    def seen(self, snapshot: model.Snapshot) -> None:
        """Note a new view, quickly, because the loop thread waits."""

    def after_pass(self, outcome: Outcome, tracker: Tracker,
                   full: bool) -> None:
        """Note the result of a pass, quickly, because the loop thread waits.

        :param tracker: valid during the call only
        :param full: whether everything was read and compared
        """

    @abc.abstractmethod
    def stop(self) -> None:
        """Tell the thread to end, without a wait; may be called twice."""


class Serving(Observer):
    """Serves clients on a thread of its own, and observes nothing.

    :param name: reason of the wake-up when the server's trouble has changed
    """

    _trigger: trigger.Trigger

    def __init__(self, name: str) -> None:
        self._name = name
        # Set by a subclass: an object with start(), stop() and trouble; None
        # while the configuration wants no server.
        self._server: Any = None

    @property
    def reasons(self) -> tuple[str, ...]:  # type: ignore[override]
        """The reason why no client can connect."""
        problem = self._server.problem if self._server else ''
        return (problem,) if problem else ()

    def start(self, trigger: trigger.Trigger) -> None:
        """Start the server, if there is one."""
        self._trigger = trigger
        if self._server is not None:
            self._server.start()

    def stop(self) -> None:
        """Stop the server, if there is one."""
        if self._server is not None:
            self._server.stop()

    def _changed(self) -> None:
        self._trigger.fire(self._name)
