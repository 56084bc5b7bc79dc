# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The client: a command or a shell in a node of a running lab."""

import contextlib
import os
import select
import signal
import socket
import sys
import termios
import tty

from lab import frames
from lab import running

# Seconds, more than lab.bridge needs to refuse a session.
ANSWER = 20


def session(path, node: str, argv: list[str], interactive: bool) -> int:
    """Run a command in a node.

    :raises running.NotRunning: when the lab does not answer or refuses
    """
    with _connect(path) as opened:
        opened.sendall(frames.pack_json(frames.REQUEST, {
            'node': node, 'argv': list(argv),
            'terminal': _window() if interactive else None,
            'term': os.environ.get('TERM')}))
        with contextlib.ExitStack() as stack:
            if interactive:
                _raw(stack, opened)
            else:
                _pass_signals(stack, opened)
            return _Carrier(opened).run()


def _window():
    size = os.get_terminal_size(sys.stdin.fileno())
    return [size.lines, size.columns]


def _raw(stack, opened):
    saved = termios.tcgetattr(0)
    stack.callback(termios.tcsetattr, 0, termios.TCSADRAIN, saved)
    tty.setraw(0)

    def resized(_number, _frame):
        _tell(opened, frames.pack_json(frames.WINDOW, _window()))

    previous = signal.signal(signal.SIGWINCH, resized)
    stack.callback(signal.signal, signal.SIGWINCH, previous)


def _pass_signals(stack, opened):
    """Pass the first Ctrl-C to the command, which may still print."""
    previous = {}

    def passed(number, _frame):
        signal.signal(number, previous[number])
        _tell(opened, frames.pack(frames.SIGNAL, b'%d' % number))

    for number in (signal.SIGINT, signal.SIGTERM):
        previous[number] = signal.signal(number, passed)
        stack.callback(signal.signal, number, previous[number])


def names(path):
    """Names of the nodes of a lab, a list.

    :raises running.NotRunning: when the lab does not answer
    """
    with _connect(path) as opened:
        opened.sendall(frames.pack_json(frames.REQUEST, {'list': True}))
        reader = frames.Reader(opened.fileno())
        text = b''
        while True:
            if not select.select([opened], [], [], ANSWER)[0]:
                raise running.NotRunning('the lab does not answer')
            for kind, content in _read(reader):
                if kind == frames.FAILED:
                    raise running.NotRunning(content.decode())
                if kind == frames.EXIT:
                    return text.decode().split()
                if kind == frames.OUTPUT:
                    text += content


def _connect(path):
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.connect(path)
    except OSError as e:
        opened.close()
        raise running.NotRunning(f'{path}: {e.strerror}') from e
    return opened


def _tell(opened, frame):
    """Send a frame that the end of the session makes unnecessary.

    At the end, the exit status is on its way or has arrived.
    """
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        opened.sendall(frame)


class _Carrier:
    """Carries a session from its request to its end."""

    def __init__(self, opened):
        self._opened = opened
        self._reader = frames.Reader(opened.fileno())
        self._answered = False
        self._input = True  # more data may follow
        self._credit = frames.CREDIT

    def run(self):
        """Returns the exit status."""
        while True:
            sources = [self._opened]
            if self._answered and self._input and self._credit:
                sources.append(0)
            ready, _w, _x = select.select(
                sources, [], [], None if self._answered else ANSWER)
            if not ready:
                raise running.NotRunning('the lab does not answer')
            if 0 in ready:
                self._feed()
            if self._opened in ready:
                for kind, content in _read(self._reader):
                    status = self._show(kind, content)
                    if status is not None:
                        return status

    def _feed(self):
        data = os.read(0, min(frames.CHUNK, self._credit))
        self._input = bool(data)
        self._credit -= len(data)
        _tell(self._opened, frames.pack(frames.INPUT, data) if data else
              frames.pack(frames.INPUT_END))

    def _show(self, kind, content):
        if kind == frames.ACCEPTED:
            self._answered = True
        elif kind == frames.TAKEN:
            self._credit += int(content)
        elif kind == frames.OUTPUT:
            frames.send(1, content)
        elif kind == frames.ERRORS:
            frames.send(2, content)
        elif kind == frames.EXIT:
            return int(content)
        elif kind == frames.FAILED:
            raise running.NotRunning(content.decode())
        return None


def _read(reader):
    try:
        return reader.read()
    except (EOFError, ConnectionError):
        raise running.NotRunning('the lab has ended') from None
