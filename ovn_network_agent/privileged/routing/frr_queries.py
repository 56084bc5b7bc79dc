# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Questions to FRR's daemons over sessions that stay open, no entry points.

A watch asks each second, and a new session costs more than an answer.  All
daemons are asked before the first answer, to wake the thread rarely.
"""

import contextlib
import threading
import time

from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.frr import session

_asking = threading.Lock()
# the open sessions, by directory and name of the daemon
_kept: dict[tuple[str, str], session.Session] = {}


def ask(questions: dict[str, list[str]], seconds: float
        ) -> dict[str, list[str]]:
    """Texts of commands that change nothing, by running daemon.  The socket
    may be of another FRR with ``vtysh_wrapper``: only readings may follow.

    :param seconds: for all answers, less than ``vtysh_timeout``: a daemon that
        hangs must not hold the threads of others
    """
    directory = registered.group(options).frr_run_dir
    deadline = time.monotonic() + seconds
    with _asking, contextlib.ExitStack() as opened:
        asked = [opened.enter_context(contextlib.closing(_Question(
            directory, name, commands, seconds, deadline)))
            for name, commands in questions.items()]
        for question in asked:
            question.send()
        answers = {question.name: question.receive() for question in asked}
    return {name: texts for name, texts in answers.items()
            if texts is not None}


def close() -> None:
    """Close the sessions; the next question opens new ones."""
    with _asking:
        while _kept:
            _kept.popitem()[1].close()


class _Question:
    """Commands for one daemon; only a fully answered session is kept, because
    a late answer would be taken for another's.
    """

    def __init__(self, directory: str, name: str, commands: list[str],
                 seconds: float, deadline: float) -> None:
        self.name = name
        self._commands = commands
        self._place = directory, name
        self._limits = seconds, deadline
        self._session = _kept.pop(self._place, None)

    def send(self) -> None:
        if self._session is not None:
            self._session.extend(self._limits[1])
            # a restart of the daemon has ended the session
            with contextlib.suppress(ConnectionError):
                self._session.send(self._commands)
                return
            self.close()

    def receive(self) -> list[str] | None:
        """The answers; None when the daemon does not run."""
        if self._session is not None:
            with contextlib.suppress(ConnectionError):
                return self._received(self._session)
            self.close()
        try:
            self._session = opened = session.Session(
                *self._place, *self._limits)
            opened.send(self._commands)
            return self._received(opened)
        except (ConnectionError, FileNotFoundError):
            return None

    def close(self) -> None:
        """Close the session, unless it is kept."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _received(self, opened: session.Session) -> list[str]:
        texts = [text for _status, text
                 in opened.receive(len(self._commands))]
        _kept[self._place] = opened
        self._session = None
        return texts
