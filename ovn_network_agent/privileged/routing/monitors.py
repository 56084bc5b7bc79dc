# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points: notices of prefix lists and VNIs that have changed.

FRR notifies nobody, and vtysh is a process.  So this daemon asks zebra and
bgpd each second over their sockets, and tells the agent only of a change
(:mod:`watches.frr.frr_observers`): questions of the agent would wake three
more threads.  bgpd does nothing else while it lists all lines, so those are at
most :data:`LINES` a second on average, with their number in between
(:doc:`adr/0020-watches`).  bgpd's configuration with 200 VNIs takes FRR 8.4
1 ms.
"""

from collections.abc import Callable
import contextlib
import hashlib
import math
import select
import socket
import threading
import time

from ovn_network_agent import privileged
from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.frr import session
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.routing import vtysh

#: first letter of a notice: of a change, or of the failure at the end
CHANGED, FAILED = b'+', b'-'
#: most lines a second, on average, that the daemons list
LINES = 500
# By daemon: text that differs after a change, lines of the answer.
Digests = dict[str, tuple[str, int]]
_INTERVAL = 1.0
# the daemons that use the lists
_DAEMONS = ('bgpd', 'zebra')
# seconds to wait for an answer of which only a digest matters
_TIMEOUT = 1.0

# bgpd shows so many lines in the time of one line of a prefix list
_VNI_LINES = 10


@privileged.frr.entrypoint
def subscribe_lists(name: str, prefix_list: str) -> int:
    """Hand out a socket that gets a notice when a prefix list has changed.

    A notice is a letter and a text: the daemons with the change, or why the
    notices end.  The first look has been made at the return.

    :returns: process id of this daemon
    """
    passed_sockets.check(name)
    vtysh.check_prefix_list(prefix_list)
    return report(name, Looks(prefix_list))


def report(name: str, looks: 'Looks') -> int:
    """Look from now on, and hand out the socket of :func:`subscribe_lists`."""
    looks.changed()
    agent_end, monitor_end = socket.socketpair(
        socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC |
        socket.SOCK_NONBLOCK)
    with agent_end:
        try:
            pid = passed_sockets.give(name, agent_end)
        except BaseException:
            monitor_end.close()
            raise
    threading.Thread(target=_run, args=(looks, monitor_end),
                     name='list-monitor', daemon=True).start()
    return pid


def _run(looks: 'Looks', receiver: socket.socket) -> None:
    """Look once a second until the agent listens no more."""
    poll = select.poll()
    # the end of the socket pair is reported anyhow
    poll.register(receiver, 0)
    with receiver:
        while not poll.poll(_until_next() * 1000):
            try:
                changed = looks.changed()
            except OSError as error:
                _tell(receiver, FAILED + str(error).encode())
                return
            if changed:
                _tell(receiver, CHANGED + ' and '.join(changed).encode())


def _until_next() -> float:
    """Seconds until the next whole one, when the agent looks around, too."""
    return _INTERVAL - time.monotonic() % _INTERVAL


def _tell(receiver: socket.socket, notice: bytes) -> None:
    try:
        receiver.send(notice)
    except (BlockingIOError, BrokenPipeError, ConnectionResetError):
        # older notices make the agent read the lists; or it listens no more
        return


class Looks:
    """The looks at the lists of one name."""

    def __init__(self, name: str,
                 read: Callable[[str, bool], Digests] | None = None) -> None:
        self._name = name
        self._read = read or list_digests
        # from (daemon, whether of all lines) to the digest
        self._seen: dict[tuple[str, bool], str] = {}
        self._until_whole = 0

    def changed(self) -> list[str]:
        """Daemons whose list has changed since the former look."""
        whole = self._until_whole <= 0
        found = self._read(self._name, whole)
        self._until_whole -= 1
        if whole:
            lines = max((lines for _digest, lines in found.values()),
                        default=0)
            self._until_whole = math.ceil(lines / LINES) - 1
        return [daemon for daemon, (digest, _lines) in found.items()
                if self._differs(daemon, whole, digest)]

    def _differs(self, daemon: str, whole: bool, digest: str) -> bool:
        """Note a digest; the first one of all lines counts as a change."""
        before = self._seen.get((daemon, whole), None if whole else digest)
        self._seen[daemon, whole] = digest
        return before != digest


def list_digests(name: str, whole: bool) -> Digests:
    """Digests of the lists of a name in running daemons; unless ``whole``, of
    the number, first and last of the lines, at the same cost for any number.
    """
    what = '' if whole else 'summary '
    commands = [f'show {family} prefix-list {what}{name}'
                for family in ('ip', 'ipv6')]
    answers = ask(dict.fromkeys(_DAEMONS, commands), _TIMEOUT)
    return {daemon: digest('\n'.join(texts))
            for daemon, texts in answers.items()}


def digest(text: str) -> tuple[str, int]:
    """A text that differs with another answer, and its number of lines."""
    return hashlib.sha256(text.encode()).hexdigest(), text.count('\n')


@privileged.frr.entrypoint
def subscribe_vnis(name: str) -> int:
    """Hand out a socket that gets a notice when VNIs have changed."""
    passed_sockets.check(name)
    limits.current().check_frr_vnis()
    return report(name, Looks('', vni_digests))


def vni_digests(_name: str, whole: bool) -> Digests:
    """Digests of the VNIs in zebra and, if whole, of bgpd."""
    questions = {'zebra': ['show vrf vni']}
    if whole:
        questions['bgpd'] = ['enable', 'show running-config']
    answers = ask(questions, _TIMEOUT)
    found = {}
    for daemon, texts in answers.items():
        mark, lines = digest(texts[-1])
        found[daemon] = mark, lines // _VNI_LINES
    return found


def ask(questions: dict[str, list[str]], seconds: float
        ) -> dict[str, list[str]]:
    """Texts of commands that change nothing, by running daemon.  The socket
    may be of another FRR with ``vtysh_wrapper``: only readings may follow.

    :param seconds: for all answers, less than ``vtysh_timeout``: a daemon that
        hangs must not hold the threads of others
    """
    directory = registered.group(options).frr_run_dir
    deadline = time.monotonic() + seconds
    asked: dict[str, session.Session] = {}
    answers = {}
    with contextlib.ExitStack() as opened:
        # All are asked before the first answer, to wake the thread rarely; a
        # daemon that does not run is left out.
        for name, commands in questions.items():
            with contextlib.suppress(ConnectionError, FileNotFoundError):
                asked[name] = opened.enter_context(contextlib.closing(
                    session.Session(directory, name, seconds, deadline)))
                asked[name].send(commands)
        for name, one in asked.items():
            with contextlib.suppress(ConnectionError):
                answers[name] = [text for _status, text in one.receive(
                    len(questions[name]))]
    return answers
