# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The links of this node for egress addresses, and the watch of them.

With BGP, routes change all the time: a notice makes the watch read, and only
other links wake the loop.
"""

from collections.abc import Callable
from collections.abc import Iterator
import socket
import threading
import time

from ovn_network_agent import model
from ovn_network_agent.netlink import multicast
from ovn_network_agent.netlink.objects import egress_links
from ovn_network_agent.watches import notifications

_PAUSE = 0.3  # seconds in which many changes become one reading


class EgressLinks(notifications.Watch):
    """Keeps the links up to date."""

    NAME = 'links for egress addresses'

    def __init__(self, wake: Callable[[str], object]) -> None:
        super().__init__(lambda: self._look_again(wake))
        self._reading = threading.Lock()
        self.chosen = egress_links.Chosen()
        self._found: tuple[model.Link, ...] = ()

    def read(self, chosen: egress_links.Chosen) -> tuple[model.Link, ...]:
        """The links; the first call starts the watch.

        :raises OSError: when they cannot be read
        """
        if not self.running:
            self.start()
        with self._reading:
            self.chosen = chosen
            self._found = egress_links.read_all(chosen)
            return self._found

    def present(self, chosen: egress_links.Chosen) -> tuple[model.Link, ...]:
        """The links that were read last; read again for another choice."""
        if chosen != self.chosen or not self.running:
            return self.read(chosen)
        return self._found

    def _look_again(self, wake: Callable[[str], object]) -> None:
        time.sleep(_PAUSE)
        with self._reading:
            before = self._found
            self._found = egress_links.read_all(self.chosen)
        if self._found != before:
            wake('a link, or its addresses or routes, have changed')

    def _open(self) -> socket.socket:
        return multicast.subscribe(multicast.LINKS)

    def _news(self, datagrams: Iterator[bytes]) -> notifications.News:
        return [()] if sum(1 for _data in datagrams) else []
