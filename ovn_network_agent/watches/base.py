# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface of observers.

An observer checks whether resources have the intended effect.  It runs on a
thread of its own, so that a daemon that hangs delays no pass.  An observer
changes no resource: it wakes the loop, puts backends in doubt, and reports
problems.
"""

import abc
import types


class Observer(abc.ABC):
    """Checks something beside the loop.

    :ivar reasons: tuple of str: problems for the status of the agent;
        replaced as a whole, so that any thread may read it
    :ivar unfit: True when the observer knows that this node could not
        announce a gateway
    :ivar recovers: True when the node is unfit only because what was lacking
        is not back for long enough
    :ivar counts: dict of the name of a metric to its value, a number or None
        while unknown; replaced as a whole
    """

    reasons = ()
    unfit = False
    recovers = False
    counts = types.MappingProxyType({})

    @abc.abstractmethod
    def start(self, trigger):
        """Start the thread.

        :param trigger: :class:`trigger.Trigger` to fire
        """

    def look_once(self):  # noqa: B027
        """Find out what a pass needs to know, for a dry run.

        This runs on the thread of the caller, which waits for the answer.
        """

    def seen(self, snapshot):  # noqa: B027
        """Note a new view, quickly, because the loop thread waits.

        :param snapshot: :class:`model.Snapshot`
        """

    def after_pass(self, outcome, tracker, full):  # noqa: B027
        """Note the result of a pass, quickly, because the loop thread waits.

        :param outcome: :class:`outcome.Outcome`
        :param tracker: :class:`tracking.Tracker`, valid during the call only
        :param full: whether everything was read and compared
        """

    @abc.abstractmethod
    def stop(self):
        """Tell the thread to end, without a wait; may be called twice."""


class Serving(Observer):
    """Serves clients on a thread of its own, and observes nothing.

    :param name: reason of the wake-up when the server's trouble has changed
    """

    def __init__(self, name):
        self._name = name
        self._trigger = None
        # Set by a subclass: an object with start(), stop() and trouble; None
        # while the configuration wants no server.
        self._server = None

    @property
    def reasons(self):
        """The reason why no client can connect, a tuple of str."""
        trouble = self._server.trouble if self._server else ''
        return (trouble,) if trouble else ()

    def start(self, trigger):
        """Start the server, if there is one.

        :param trigger: :class:`trigger.Trigger`, fired when the server's
            trouble has changed
        """
        self._trigger = trigger
        if self._server is not None:
            self._server.start()

    def stop(self):
        """Stop the server, if there is one."""
        if self._server is not None:
            self._server.stop()

    def _changed(self):
        self._trigger.fire(self._name)
