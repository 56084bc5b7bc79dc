# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
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

ANSWER = 10


def session(path, node, argv, interactive):
    """Run a command in a node.

    :param path: socket of the lab
    :param node: its name; '' for the machine that all nodes are in
    :param argv: list of str
    :param interactive: with our terminal
    :returns: exit status of the command
    :raises running.NotRunning: when the lab does not answer or refuses
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        try:
            opened.connect(path)
        except OSError as e:
            raise running.NotRunning('%s: %s' % (path, e.strerror)) from e
        opened.sendall(frames.pack_json(frames.REQUEST, {
            'node': node, 'argv': list(argv),
            'terminal': _window() if interactive else None,
            'term': os.environ.get('TERM')}))
        with contextlib.ExitStack() as stack:
            if interactive:
                _raw(stack, opened)
            return _carry(opened, interactive)


def _window():
    size = os.get_terminal_size(sys.stdin.fileno())
    return [size.lines, size.columns]


def _raw(stack, opened):
    saved = termios.tcgetattr(0)
    stack.callback(termios.tcsetattr, 0, termios.TCSADRAIN, saved)
    tty.setraw(0)

    def resized(_number, _frame):
        opened.sendall(frames.pack_json(frames.WINDOW, _window()))

    previous = signal.signal(signal.SIGWINCH, resized)
    stack.callback(signal.signal, signal.SIGWINCH, previous)


def _carry(opened, interactive):
    reader = frames.Reader(opened.fileno())
    sources = [opened]
    answered = False
    while True:
        ready, _w, _x = select.select(sources, [], [],
                                      None if answered else ANSWER)
        if not ready and not answered:
            raise running.NotRunning(
                'the lab does not take sessions: it was not started to be '
                'entered, or is not ready yet')
        if 0 in ready:
            sources.remove(0)
            _feed(opened)
        if opened in ready:
            for kind, content in _read(reader):
                if kind in (frames.ACCEPTED, frames.TAKEN):
                    answered = True
                    sources.append(0)
                    continue
                status = _show(kind, content)
                if status is not None:
                    return status


def _read(reader):
    try:
        return reader.read()
    except (EOFError, ConnectionError):
        raise running.NotRunning('the lab has ended') from None


def _feed(opened):
    data = os.read(0, frames.CHUNK)
    opened.sendall(frames.pack(frames.INPUT, data) if data else
                   frames.pack(frames.INPUT_END))
    return bool(data)


def _show(kind, content):
    """Do what a frame says; the exit status if it is the last."""
    if kind == frames.OUTPUT:
        frames.send(1, content)
    elif kind == frames.ERRORS:
        frames.send(2, content)
    elif kind == frames.EXIT:
        return int(content)
    elif kind == frames.FAILED:
        raise running.NotRunning(content.decode())
    return None
