# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When the neighbour of BGP has learned prefixes, or has lost them.

The neighbour is asked how many prefixes it has from this node, again and again
in a thread of its own, so that the first change counts at the right time.
"""

import json
import os
import threading
import time

from tools.bench import observe
from tools.bench import routing

# Seconds between two questions.
_PAUSE = 0.001
# Names of the two times, for the results.
TIMES = FIRST, LAST = 'first at the neighbour', 'last at the neighbour'


class Learning:
    """Follows the number of prefixes at the neighbour while the block runs.

    The constructor asks once: this number is the one from before.

    :param family: as bgpd names it
    :raises RuntimeError: when the session is not established
    """

    def __init__(self, family: str = 'ipv4 unicast'):
        self._family = family
        self._bgpd = observe.Vty(os.path.join(routing.SPINE, 'bgpd.vty'))
        self._before = self._count()
        # The number at each change, and the monotonic time of the change.
        self._changes = []
        self._news = threading.Condition()
        self._ended = threading.Event()
        self._error = None
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exception):
        self._ended.set()
        self._thread.join()
        self._bgpd.close()

    def wait(self, difference: int, timeout: float) -> dict:
        """Wait until the neighbour has so many prefixes more.

        :raises RuntimeError: when the time is over, or the session has ended
        """
        wanted = self._before + difference
        with self._news:
            reached = self._news.wait_for(
                lambda: self._error or (self._changes and
                                        self._changes[-1][0] == wanted),
                timeout)
            if self._error:
                raise RuntimeError(self._error)
            if not reached:
                there = self._changes[-1][0] if self._changes else self._before
                raise RuntimeError(
                    f'the neighbour has {there:d} prefixes, not {wanted:d}, '
                    f'after {timeout:g} s')
            return {FIRST: self._changes[0][1], LAST: self._changes[-1][1]}

    def _follow(self):
        last = self._before
        while not self._ended.wait(_PAUSE):
            try:
                count = self._count()
            except (OSError, RuntimeError) as error:
                with self._news:
                    self._error = str(error)
                    self._news.notify()
                return
            if count != last:
                last = count
                with self._news:
                    self._changes.append((count, time.monotonic()))
                    self._news.notify()

    def _count(self):
        """How many prefixes the neighbour has from this node."""
        shown = json.loads(
            self._bgpd.ask(f'show bgp {self._family} summary json'))
        peer = shown.get('peers', {}).get(routing.HERE, {})
        if peer.get('state') != 'Established':
            raise RuntimeError('the neighbour has no session with this node, '
                               f'but {peer.get("state", "nothing")}')
        return peer['pfxRcd']
