# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Soft refreshes of BGP, on a thread beside the loop.

A refresh before bgpd knows of a withdrawal would send the route again. So it
waits until bgpd has lost the route, and nothing else waits for it. A further
withdrawal puts it off, so that one refresh follows both.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import threading
import time
import typing
from typing import Any

from oslo_log import log as logging

from ovn_network_agent.common import wording
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.routing import bgp

LOG = logging.getLogger(__name__)

# Seconds between two looks.  zebra handles a change 10 ms later ("zebra
# work-queue", its default), and bgpd collects changes for 50 ms.
_LOOK = 0.05
# Seconds that a refresh waits for bgpd after the last withdrawal, and after
# the first one without a refresh.
_DELAY = 0.5
_LATEST = 5.0
# Seconds to wait for the refresh that is due at the end of the agent.
_TIMEOUT = 1.0


class _Due(typing.NamedTuple):
    """A refresh that is to be made."""

    # Last withdrawn, as '198.51.100.10/32', or ''; bgpd loses the routes in
    # the order of their withdrawals.
    lost: str
    # Whether routes of IPv6 are concerned, too.
    ipv6: bool
    # Begin and end of the wait, monotonic seconds.
    start: float
    until: float


class Refresher:
    """Makes the soft refreshes that the configuration asks for."""

    def __init__(self, conf: Any) -> None:
        self._conf = conf
        # A refresh and a withdrawal exclude each other.
        self._exclusive = threading.Lock()
        self._news = threading.Condition()
        self._due: _Due | None = None
        self._failed = False
        self._closed = False
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def change(self, withdrawn: Sequence[str], added: Sequence[str] = ()
               ) -> Iterator[None]:
        """Change static routes ('198.51.100.10/32') in this context.

        A refresh becomes due at the end, unless the block raises.
        """
        with self._exclusive if withdrawn else contextlib.nullcontext():
            yield
            self._note(withdrawn, any(
                ':' in prefix for prefix in (*withdrawn, *added)))

    def wait(self, seconds: float) -> bool:
        """Whether, after at most so long, none is due, or the last failed."""
        with self._news:
            return self._news.wait_for(lambda: not self._busy, seconds)

    @property
    def failed(self) -> bool:
        """Whether the last refresh has failed and waits for a change."""
        return self._failed

    def close(self) -> None:
        """End the thread, after a wait for the refresh that is due."""
        with self._news:
            self._closed = True
            self._news.notify_all()
        if self._thread is not None:
            self._thread.join(_TIMEOUT)

    def _note(self, withdrawn: Sequence[str], ipv6: bool) -> None:
        when = self._conf.frr.bgp_soft_refresh
        wanted = when == 'always' or when == 'on-removal' and withdrawn
        with self._news:
            if when == 'never' or not (wanted or self._failed):
                return
            now = time.monotonic()
            waiting = None if self._failed else self._due
            start = waiting.start if waiting else now
            lost = withdrawn[-1] if withdrawn else (
                waiting.lost if waiting else '')
            # A refresh that has failed is still due, for both families.
            ipv6 = ipv6 or self._due is not None and self._due.ipv6
            self._due = _Due(lost, ipv6, start,
                             min(now + _DELAY, start + _LATEST))
            self._failed = False
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name='soft-refresh', daemon=True)
                self._thread.start()
            self._news.notify_all()

    @property
    def _busy(self) -> bool:
        return self._due is not None and not self._failed

    # -- the thread --------------------------------------------------------

    def _run(self) -> None:
        while self._wait():
            with self._exclusive:
                if self._due is not None:
                    self._attempt(self._due)

    def _wait(self) -> bool:
        """Wait until a refresh is due; False at the end."""
        with self._news:
            self._news.wait_for(lambda: self._busy or self._closed)
            if self._busy and self._due is not None and self._due.lost:
                self._news.wait(_LOOK)
            return self._busy

    def _attempt(self, due: _Due) -> None:
        """Refresh, unless bgpd still has the withdrawn route."""
        waits = time.monotonic() < due.until
        try:
            done, message = bgp.soft_refresh(
                self._conf.frr.vrf_name, due.lost if waits else '', due.ipv6)
        except Exception as error:
            # A bug must be reported, and must not end the thread.
            if not isinstance(error, context.FAILURES):
                LOG.exception('The soft refresh of BGP failed')
            done, message = True, wording.error(error)
        if message:
            LOG.warning('No soft refresh of BGP, to be repeated at the next '
                        'change: %s', message)
        with self._news:
            if done and self._due is due:
                self._failed = bool(message)
                self._due = due if message else None
            self._news.notify_all()
