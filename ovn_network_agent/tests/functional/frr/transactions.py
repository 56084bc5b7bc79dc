# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Counts the transactions of a daemon of FRR, on the way to the daemon."""

import contextlib
import os
import socket
import threading

_BEGIN, _END = b'XFRR_start_configuration', b'XFRR_end_configuration'


class Relay:
    """Takes the place of a daemon's vty socket, and passes all on.

    :param path: of the socket
    :ivar sizes: list of int: configuration lines of each transaction
    """

    def __init__(self, path):
        self.sizes = []
        self._path = path
        self._behind = path + '.behind'
        self._threads = []
        os.rename(path, self._behind)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(path)
        self._listening.listen()
        self._start(self._accept)

    def close(self):
        """Give the socket back."""
        self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listening.close()
        os.replace(self._behind, self._path)

    def _start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                client, _address = self._listening.accept()
            except OSError:
                # The end of the listening socket.
                return
            daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            daemon.connect(self._behind)
            self._start(self._pass_on, daemon, client, lambda command: None)
            self._start(self._pass_on, client, daemon, self._counter())

    def _counter(self):
        """A function that is told each command of one session."""
        count = None

        def told(command):
            nonlocal count
            if command == _BEGIN:
                count = 0
            elif command == _END:
                self.sizes.append(count)
                count = None
            elif count is not None:
                count += 1
        return told

    def _pass_on(self, source, target, told):
        rest = b''
        with source:
            while data := source.recv(65536):
                *commands, rest = (rest + data).split(b'\0')
                for command in commands:
                    told(command)
                target.sendall(data)
        with contextlib.suppress(OSError):
            # The other direction may have ended before.
            target.shutdown(socket.SHUT_WR)
