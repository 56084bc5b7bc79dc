# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The server of HTTP beside the loop, for a few short answers.

One thread serves all clients, each with one request of a limited size, number
of pieces and time.  If too many are connected, the one that has waited longest
goes, so slow clients keep nobody out.  Before the next client, the thread
rests in proportion to the processor time that it has used, so even a flood of
requests takes only a part of one processor.
"""

import asyncio
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import errno
import os
import socket
import ssl
import threading
import time

import h11
from oslo_log import log as logging

from ovn_network_agent.common import wording
from ovn_network_agent.conf import tls as tls_files

LOG = logging.getLogger(__name__)

# Most clients at the same time.
CLIENTS = 16
# Seconds for a client to send a request, and to receive the answer.
TIMEOUT = 10.0
# Seconds between two attempts to listen.
INTERVAL = 5.0
# The largest request, bytes, and the most pieces in which it may arrive.
LARGEST = 8192
MAX_READS = 32
# Seconds of rest a second of processor time: at most a tenth of one.
REST = 9.0
# Seconds to wait for the thread at the end; it is a daemon.
_CLOSE = 2.0
_BACKLOG = 64
_TEXT = 'text/plain; charset=utf-8'
_REMEDIES = {
    errno.EADDRINUSE: 'another program listens there; choose another port',
    errno.EADDRNOTAVAIL: 'this node does not have this address; name an '
                         'address of the node',
    errno.EACCES: 'the user of the agent must not listen on a port below '
                  '1024; choose another port'}


#: Status, content type, body.
Answer = tuple[int, str, bytes]


class Server:
    """Owns the listening socket, its thread and its clients.

    :param listen: 'address:port', as of :class:`conf.types.ListenAddress`
    :param pages: by path; called on the server's thread
    :param changed: called on the server's thread when ``problem`` has changed
    :param name: what the clients want, for the log
    :param setting: option with its value, for ``problem``
    :param headers: of each answer
    :param tls: returns the context of a connection, or raises
        :class:`conf.tls.BadFile`; None without TLS
    """

    def __init__(self, listen: str, pages: Mapping[str, Callable[[], Answer]],
                 changed: Callable[[], None] = lambda: None,
                 timeout: float = TIMEOUT, interval: float = INTERVAL,
                 name: str = 'metrics', setting: str = '',
                 tls: Callable[[], ssl.SSLContext] | None = None,
                 headers: Sequence[tuple[str, str]] = ()) -> None:
        self._listen = listen
        self._pages = pages
        self._changed = changed
        self._timeout = timeout
        self._interval = interval
        self._name = name
        self._setting = setting or f'[metrics] listen = {listen}'
        self._tls = tls
        self._headers = headers
        self._clients: dict[socket.socket, asyncio.Task[None]] = {}
        # Of the thread, while it serves.
        self._loop: asyncio.AbstractEventLoop
        self._main: asyncio.Task[None] | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        # The reason why nobody can connect, or ''.
        self.problem = ''

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, daemon=True,
                                        name=self._name)
        self._thread.start()

    def stop(self) -> None:
        """Close the socket and all connections; may be called twice."""
        self._stopped.set()
        # The thread ends its event loop at any time.
        with contextlib.suppress(RuntimeError):
            if self._main is not None:
                self._loop.call_soon_threadsafe(self._main.cancel)
        if self._thread is not None:
            self._thread.join(_CLOSE)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        while not self._stopped.is_set():
            try:
                opened = _opened(self._listen)
            except OSError as error:
                remedy = _REMEDIES.get(error.errno or 0,
                                       'choose another address')
                self._say(f'{self._setting}: {os.strerror(error.errno or 0)}: '
                          f'{remedy}')
                await asyncio.sleep(self._interval)
                continue
            LOG.info('Listening for %s on %s', self._name, self._listen)
            self._say('')
            with opened:
                await self._accept(opened)

    def _say(self, problem: str) -> None:
        if problem == self.problem:
            return
        self.problem = problem
        if problem:
            LOG.error('%s; no %s until then', problem, self._name)
        self._changed()

    # -- clients ----------------------------------------------------------

    async def _accept(self, opened: socket.socket) -> None:
        """Accept clients until an error of the listening socket."""
        used, last = time.thread_time(), None
        while True:
            try:
                client, _address = await self._loop.sock_accept(opened)
            except OSError as error:
                # Such as too many open files: a client may be next.
                if str(error) != last:
                    LOG.warning('%s: accepting failed: %s', self._name,
                                wording.error(error))
                last = str(error)
                await asyncio.sleep(1.0)
                continue
            if len(self._clients) >= CLIENTS:
                # The oldest of a dict is the first one.
                self._clients.pop(next(iter(self._clients))).cancel()
            self._clients[client] = self._loop.create_task(
                self._serve_client(client))
            # This lets the client's task begin.
            await asyncio.sleep(0)
            now = time.thread_time()
            await asyncio.sleep((now - used) * REST)
            used = now

    async def _serve_client(self, client: socket.socket) -> None:
        try:
            with client:
                client.setblocking(False)
                async with asyncio.timeout(self._timeout):
                    await self._talk(client)
        except (OSError, TimeoutError, h11.ProtocolError) as error:
            LOG.debug('%s: a client is refused: %r', self._name, error)
        except Exception:
            LOG.exception('%s: a client is refused', self._name)
        finally:
            self._clients.pop(client, None)

    async def _talk(self, client: socket.socket) -> None:
        reader = asyncio.StreamReader(LARGEST)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _protocol = await self._loop.connect_accepted_socket(
            lambda: protocol, client, ssl=self._context())
        writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        try:
            await self._answer(reader, writer)
            writer.close()
            # What was written is sent before the end.
            await writer.wait_closed()
        finally:
            transport.abort()

    def _context(self) -> ssl.SSLContext | None:
        """The context of TLS; ConnectionAbortedError for a bad file."""
        if self._tls is None:
            return None
        try:
            made = self._tls()
        except tls_files.BadFile as error:
            self._say(str(error))
            raise ConnectionAbortedError(str(error)) from error
        self._say('')
        return made

    async def _answer(self, reader: asyncio.StreamReader,
                      writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER,
                                    max_incomplete_event_size=LARGEST)
        try:
            request = await self._request(reader, connection)
            status, kind, body = self._page(request)
        except h11.RemoteProtocolError as error:
            status, kind = error.error_status_hint, _TEXT
            body, request = f'{error}\n'.encode(), None
        if request is None and connection.our_state not in (
                h11.IDLE, h11.SEND_RESPONSE):
            return
        answer = [connection.send(h11.Response(status_code=status, headers=[
            ('Content-Type', kind), ('Content-Length', str(len(body))),
            ('Connection', 'close'), *self._headers]))]
        if request is None or request.method != b'HEAD':
            answer.append(connection.send(h11.Data(data=body)))
        writer.write(b''.join(answer))

    async def _request(self, reader: asyncio.StreamReader,
                       connection: h11.Connection) -> h11.Request:
        """A request without its body; RemoteProtocolError if none or large."""
        for _piece in range(MAX_READS):
            event = connection.next_event()
            if isinstance(event, h11.Request):
                return event
            if event is not h11.NEED_DATA:
                raise h11.RemoteProtocolError('no request')
            connection.receive_data(await reader.read(LARGEST))
        raise h11.RemoteProtocolError('the request comes in too many pieces')

    def _page(self, request: h11.Request) -> Answer:
        path = request.target.partition(b'?')[0].decode('latin-1')
        if request.method not in (b'GET', b'HEAD'):
            return 405, _TEXT, b'only GET and HEAD\n'
        page = self._pages.get(path)
        if page is None:
            return 404, _TEXT, f'{" ".join(self._pages)}\n'.encode()
        try:
            return page()
        except Exception as error:
            LOG.exception('%s: %s cannot be answered', self._name, path)
            return 500, _TEXT, f'{type(error).__name__}\n'.encode()


def _opened(listen: str) -> socket.socket:
    """A socket that listens; OSError for an address that cannot be used."""
    host, _colon, port = listen.rpartition(':')
    host = host.strip('[]')
    opened = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, int(port)))
        opened.listen(_BACKLOG)
        opened.setblocking(False)
    except OSError:
        opened.close()
        raise
    return opened
