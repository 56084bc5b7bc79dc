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

"""TCP and TLS streams for python-ovs that say why they failed.

The library's own need a DNS library that nobody has for host names, take
one set of files for the whole process, raise in the connection's thread
when a file is bad, check no names, call a refused certificate "Operation
not permitted", and spin while a handshake waits for the server.
"""

import errno
import os
import random
import socket
import ssl
import threading

from ovs import poller
from ovs import socket_util
from ovs import stream

from ovn_network_agent import iptext
from ovn_network_agent.conf import tls
from ovn_network_agent.conf import validate
from ovn_network_agent.ovsdb import hosts
from ovn_network_agent.ovsdb import tls_errors
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import ovsdb
from ovn_network_agent.privileged import receiving

_lock = threading.Lock()
_files = {}
# Path of the local database, if it is a Unix socket.
_local = {}
_reasons = {}


def configure(conf):
    """Set what "ssl:" remotes are reached with; once, at the start.

    After the privileges are gone: what cannot be read now cannot be read
    for a new connection later.

    :param conf: the oslo.config ConfigOpts
    :raises validate.ConfigError: when one of the files cannot be used
    """
    scheme, _colon, where = conf.ovs.ovsdb_connection.partition(':')
    _local['path'] = where if scheme == 'unix' else ''
    files = tls.by_remote(conf)
    with _lock:
        _files.clear()
        _files.update(files)
    for each in set(files.values()):
        try:
            each.context()
        except tls.BadFile as error:
            raise validate.ConfigError([str(error)]) from error


def reason(remote, error):
    """Why a connection to a remote failed.

    :param remote: like 'ssl:192.0.2.1:6641'
    :param error: the error number that python-ovs made of it
    :returns: text
    """
    with _lock:
        said = _reasons.get(remote)
    return said or os.strerror(error)


def last_reasons(remotes):
    """What is known of the last failures.

    :param remotes: list of remotes
    :returns: text with the remotes' names, '' when nothing is known
    """
    with _lock:
        return '; '.join(f'{remote}: {_reasons[remote]}'
                         for remote in remotes if remote in _reasons)


def _note(remote, text):
    with _lock:
        _reasons[remote] = text


def _well(remote):
    with _lock:
        _reasons.pop(remote, None)


def _resolve(suffix):
    """(host, 'address:port') of 'host:port'.

    One of several addresses, by chance: the next attempt may find another.

    :raises hosts.Unresolved: when the name has none, or none yet
    """
    host, _colon, port = suffix.rpartition(':')
    host = host.strip('[]')
    try:
        iptext.address(host.partition('%')[0])
        return host, suffix
    except ValueError:
        pass
    address = random.choice(hosts.addresses(host, int(port)))  # noqa: S311
    return host, (f'[{address}]:{port}' if ':' in address
                  else f'{address}:{port}')


class _TellingStream(stream.Stream):
    """Remembers why it could not connect, and clears that when it can."""

    @staticmethod
    def needs_probes():
        """The other side may vanish without a word."""
        return True

    @staticmethod
    def check_connection_completion(sock):
        """0, EAGAIN, or why the connection failed.

        The library's own writes to the socket to learn it.
        """
        ready = poller.get_system_poll()
        ready.register(sock, poller.POLLOUT)
        if not ready.poll(0):
            return errno.EAGAIN
        return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def connect(self):
        """As in the library; what failed is remembered."""
        error = super().connect()
        if error not in (0, errno.EAGAIN):
            _note(self.name, os.strerror(error))
        return error

    def recv(self, n):
        """As in the library; an answer clears what was remembered."""
        error, data = super().recv(n)
        if data:
            _well(self.name)
        return error, data


def _connect(remote, dscp, wrap):
    """Begin to connect.

    :param remote: 'scheme:host:port'
    :param wrap: function(socket, host) that gives the socket to use
    :returns: (errno, socket or None)
    """
    try:
        host, target = _resolve(remote.partition(':')[2])
    except hosts.Unresolved as error:
        _note(remote, str(error))
        return errno.EHOSTUNREACH, None
    address = socket_util.inet_parse_active(target, 0, raises=False)
    family, opened = socket_util.inet_create_socket_active(
        socket.SOCK_STREAM, address)
    if opened is None:
        return family, None
    opened = wrap(opened, host)
    error = socket_util.inet_connect_active(opened, address, family, dscp)
    if error:
        _note(remote, os.strerror(error))
        return error, None
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return 0, opened


class TcpStream(_TellingStream):
    """A TCP connection to an address or a host name."""

    @staticmethod
    def _open(suffix, dscp):
        return _connect('tcp:' + suffix, dscp,
                        lambda opened, _host: opened)


class TlsStream(_TellingStream):
    """A TLS connection, with the files that belong to its remote.

    There is no way around the verification of the server: without files
    for the remote, or with bad ones, there is no connection.
    """

    # Until the handshake is done, what it waits for.
    _handshake = stream.Stream.W_CONNECT

    @staticmethod
    def _open(suffix, dscp):
        remote = 'ssl:' + suffix
        with _lock:
            files = _files.get(remote)
        if files is None:
            _note(remote, 'no certificates are configured for it')
            return errno.EINVAL, None
        try:
            context = files.context()
        except tls.BadFile as error:
            _note(remote, str(error))
            return errno.EINVAL, None

        def wrap(opened, host):
            return context.wrap_socket(opened, server_hostname=host,
                                       do_handshake_on_connect=False)
        return _connect(remote, dscp, wrap)

    def connect(self):
        """First TCP, then the handshake."""
        error = super().connect()
        if error or self._handshake is None:
            return error
        return self._guarded(self._shake_hands)

    def _shake_hands(self):
        try:
            self.socket.do_handshake()
        except ssl.SSLWantReadError:
            self._handshake = self.W_RECV
            return errno.EAGAIN
        except ssl.SSLWantWriteError:
            self._handshake = self.W_SEND
            return errno.EAGAIN
        self._handshake = None
        return 0

    def recv(self, n):
        """(errno, data); never blocks."""
        result = []

        def receive():
            try:
                result.append(self.socket.recv(n))
            except ssl.SSLZeroReturnError:
                result.append(b'')
            return 0
        error = self.connect() or self._guarded(receive)
        data = result[0] if result else b''
        if data:
            _well(self.name)
        return error, data

    def send(self, buf):
        """Number of bytes sent, or a negative errno; never blocks."""
        if isinstance(buf, str):
            buf = buf.encode()
        result = []

        def send():
            result.append(self.socket.send(buf) if buf else 0)
            return 0
        error = self.connect() or self._guarded(send)
        if error not in (0, errno.EAGAIN):
            # What closed the connection may have come before it.
            self._guarded(lambda: bool(self.socket.recv(1)))
        return -error if error else result[0]

    def _guarded(self, action):
        """0 or an errno of an action on the socket.

        Errors of TLS have numbers of their own, which are not errnos.
        """
        try:
            return action()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return errno.EAGAIN
        except ssl.SSLEOFError:
            self._note_unless_known('the server closed the connection')
            return errno.ECONNRESET
        except ssl.SSLError as error:
            with _lock:
                files = _files.get(self.name)
            _note(self.name, tls_errors.explanation(error, files))
            return errno.EPROTO
        except OSError as error:
            self._note_unless_known(os.strerror(error.errno))
            return error.errno

    def _note_unless_known(self, text):
        """The end of a connection does not say more than what ended it."""
        with _lock:
            _reasons.setdefault(self.name, text)

    def wait(self, waiting, what):
        """Wake up for what matters at this moment.

        A handshake waits for one direction, and data that OpenSSL has
        decrypted already is no event of the socket any more.
        """
        if self._handshake is not None:
            what = self._handshake
        elif what == self.W_RECV and self.socket.pending():
            waiting.immediate_wake()
            return
        super().wait(waiting, what)


class UnixStream(stream.UnixStream):
    """A Unix socket, which the root side opens if only that may."""

    @staticmethod
    def _open(suffix, dscp):
        error, opened = stream.UnixStream._open(suffix, dscp)
        if error != errno.EACCES or suffix != _local.get('path'):
            return error, opened
        try:
            return 0, receiving.receive(ovsdb.connect)
        except context.FAILURES as refusal:
            return getattr(refusal, 'errno', None) or errno.EACCES, None


stream.Stream.register_method('unix', UnixStream)
stream.Stream.register_method('tcp', TcpStream)
stream.Stream.register_method('ssl', TlsStream)
