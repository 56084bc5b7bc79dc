# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Soft refreshes of BGP, on a thread beside the loop.

A refresh before bgpd knows of a withdrawal would send the route again.  So
the refresh waits until bgpd has lost the route, and nothing else waits for the
refresh.  A further withdrawal puts the refresh off, so that one refresh
follows both.
"""

import contextlib
import dataclasses
import threading
import time

from oslo_log import log as logging

from ovn_network_agent.privileged import bgp
from ovn_network_agent.privileged import context

LOG = logging.getLogger(__name__)

# Seconds between two looks.  zebra handles a change 10 ms later ("zebra
# work-queue", its default), and bgpd collects changes for 50 ms.
_LOOK = 0.05
# Seconds that a refresh waits for bgpd after the last withdrawal, and after
# the first one that no refresh has followed.
_TOLD = 0.5
_LATEST = 5.0
# Seconds to wait for the refresh that is due at the end of the agent.
_PATIENCE = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class _Due:
    """A refresh that is to be made.

    :ivar lost: text such as '198.51.100.10/32', the last withdrawn route; ''
        for none.  bgpd loses the routes in the order of their withdrawals
    :ivar ipv6: whether routes of IPv6 are concerned, too
    :ivar since: begin of the wait, monotonic seconds
    :ivar until: end of the wait, likewise
    """

    lost: str
    ipv6: bool
    since: float
    until: float


class Refresher:
    """Makes the soft refreshes that the configuration asks for.

    :param conf: the oslo.config ConfigOpts
    :param clock: function that returns monotonic seconds
    """

    def __init__(self, conf, clock=time.monotonic):
        self._conf = conf
        self._clock = clock
        # A refresh and a withdrawal exclude each other.
        self._exclusive = threading.Lock()
        self._news = threading.Condition()
        self._due = None
        self._failed = False
        self._closed = False
        self._thread = None

    @contextlib.contextmanager
    def change(self, withdrawn, added=()):
        """The context in which static routes are changed.

        A refresh becomes due at the end, unless the block raises.

        :param withdrawn: list of text such as '198.51.100.10/32', the routes
            that are removed
        :param added: likewise, the routes that are added
        """
        with self._exclusive if withdrawn else contextlib.nullcontext():
            yield
            self._note(withdrawn, any(
                ':' in prefix for prefix in (*withdrawn, *added)))

    def wait(self, seconds):
        """Wait until no refresh is due, or until the last one has failed.

        :param seconds: seconds, at the most
        :returns: whether that is the case
        """
        with self._news:
            return self._news.wait_for(lambda: not self._busy, seconds)

    @property
    def failed(self):
        """Whether the last refresh has failed and waits for a change."""
        return self._failed

    def close(self):
        """End the thread, after a wait for the refresh that is due."""
        with self._news:
            self._closed = True
            self._news.notify_all()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _note(self, withdrawn, ipv6):
        when = self._conf.frr.bgp_soft_refresh
        wanted = when == 'always' or when == 'on-removal' and withdrawn
        with self._news:
            if when == 'never' or not (wanted or self._failed):
                return
            now = self._clock()
            since = self._due.since if self._busy else now
            lost = withdrawn[-1] if withdrawn else (
                self._due.lost if self._busy else '')
            # A refresh that has failed is still due, for both families.
            ipv6 = ipv6 or self._due is not None and self._due.ipv6
            self._due = _Due(lost, ipv6, since,
                             min(now + _TOLD, since + _LATEST))
            self._failed = False
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name='soft-refresh', daemon=True)
                self._thread.start()
            self._news.notify_all()

    @property
    def _busy(self):
        return self._due is not None and not self._failed

    # -- the thread --------------------------------------------------------

    def _run(self):
        while self._wait():
            with self._exclusive:
                self._attempt(self._due)

    def _wait(self):
        """Wait until a refresh is due; False at the end."""
        with self._news:
            self._news.wait_for(lambda: self._busy or self._closed)
            if self._busy and self._due.lost:
                self._news.wait(_LOOK)
            return self._busy

    def _attempt(self, due):
        """Refresh, unless bgpd still has the withdrawn route.

        :param due: :class:`_Due`
        """
        waits = self._clock() < due.until
        try:
            done, said = bgp.soft_refresh(
                self._conf.frr.vrf_name, due.lost if waits else '', due.ipv6)
        except Exception as error:
            # A bug must be reported, and must not end the thread.
            if not isinstance(error, context.FAILURES):
                LOG.exception('The soft refresh of BGP failed')
            done, said = True, str(error) or repr(error)
        if said:
            LOG.warning('No soft refresh of BGP, to be repeated at the next '
                        'change: %s', said)
        with self._news:
            if done and self._due is due:
                self._failed = bool(said)
                self._due = due if said else None
            self._news.notify_all()
