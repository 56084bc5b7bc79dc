# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry point: notices of flows that others have changed.

Over the switch's connection the agent could write any flow, so the daemon
passes notices through a socket pair (:mod:`watches.flows`).  It uses the
connection of the agent's changes: Open vSwitch leaves these out by connection.
"""

import errno
import functools
import select
import socket
import threading

from ovn_network_agent import privileged
from ovn_network_agent.openflow import bridge as bridge_flows
from ovn_network_agent.openflow import connection
from ovn_network_agent.openflow import wire
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.switch import openflow

# a notice without a flow: some changes may have been missed
MISSED = 'some changes were not reported'


@privileged.ovs.entrypoint
def subscribe(name: str, bridge: str) -> int:
    """Hand out a socket that gets notices of flows that others have changed.

    Each is a text.  The socket ends with the connection to the switch, as at a
    restart of ovs-vswitchd.  EOPNOTSUPP before Open vSwitch 2.16.

    :returns: process id of this daemon
    """
    passed_sockets.check(name)
    path = openflow.socket_path(bridge)
    agent_end, monitor_end = socket.socketpair(
        socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC |
        socket.SOCK_NONBLOCK)
    with agent_end:
        relay = Relay(path, monitor_end)
        try:
            switch = openflow.with_switch(path, relay.begin)
            pid = passed_sockets.give(name, agent_end)
        except BaseException:
            relay.end()
            monitor_end.close()
            raise
    threading.Thread(target=relay.run, args=(switch,), name='flow-monitor',
                     daemon=True).start()
    return pid


class Relay:
    """Passes on the notices of one connection to a non-blocking socket."""

    def __init__(self, path: str, receiver: socket.socket) -> None:
        self._path = path
        self._receiver = receiver

    def begin(self, switch: connection.Switch) -> connection.Switch:
        """Start the monitor; returns the switch."""
        switch.unasked = functools.partial(self._unasked, switch)
        openflow.at_end(self._path, self.end)
        xid = switch.next_xid()
        answers = switch.request([wire.monitor_request(xid)])
        for kind, body in answers.get(xid, ()):
            if kind == wire.ERROR:
                raise OSError(
                    errno.EOPNOTSUPP, 'Open vSwitch has no flow monitor for '
                    f'OpenFlow 1.3 ({wire.error_text(body)})')
        bridge_flows.learn_shared(switch)
        return switch

    def end(self) -> None:
        """End the notices; may be called twice, on any thread."""
        try:
            self._receiver.shutdown(socket.SHUT_RDWR)
        except OSError as error:
            # closed already, or never connected
            if error.errno not in (errno.EBADF, errno.ENOTCONN):
                raise

    def run(self, switch: connection.Switch) -> None:
        """Pass on notices until one of the two ends has gone."""
        poll = select.poll()
        poll.register(switch, select.POLLIN)
        # the end of the socket pair is reported anyhow
        poll.register(self._receiver, 0)
        with self._receiver:
            while not any(number == self._receiver.fileno()
                          for number, _events in poll.poll()):
                if not openflow.pump(self._path, switch):
                    return
                if switch.shared is None and not self._relearn(switch):
                    return
            # the switch keeps a monitor as long as the connection
            openflow.drop(self._path, switch)

    def _relearn(self, switch: connection.Switch) -> bool:
        """Learn again after missed updates, if still connected."""
        try:
            return openflow.with_open(self._path, switch,
                                      bridge_flows.learn_shared)
        except OSError:
            return False

    def _unasked(self, switch: connection.Switch, kind: int,
                 body: bytes) -> None:
        """Under the lock of the switches."""
        if kind == wire.EXPERIMENTER:
            # the buffer was full, or has room: the switch reports what it kept
            notices = {MISSED}
            switch.shared = None
        else:
            updates = [update for update in wire.updates(kind, body) or ()
                       if update.concerns]
            notices = set(map(str, updates))
            if switch.shared is not None:
                switch.shared.update(
                    update.priority for update in updates
                    if update.table == 0 and bridge_flows.others_may_have(
                        update.priority, update.cookie))
        for notice in sorted(notices):
            self._tell(notice)

    def _tell(self, notice: str) -> None:
        try:
            self._receiver.send(notice.encode())
        except BlockingIOError:
            # the agent has older notices, and reads the flows then
            return
        except OSError as error:
            # the agent listens no more; run() ends
            if error.errno not in (errno.EPIPE, errno.ECONNRESET,
                                   errno.EBADF):
                raise
