# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""TCP and TLS streams for python-ovs that remember why they failed.

Those of the library need a rare DNS library for host names, have one set of
TLS files for the whole process, raise on the connection's thread for a bad
one, check no names, call a refused certificate "Operation not permitted", and
use the whole processor while a handshake waits.
"""

from collections.abc import Callable
from collections.abc import Iterable
import errno
import os
import random
import socket
import ssl
import threading
import typing
from typing import Any

from oslo_config import cfg
from ovs import poller
from ovs import socket_util
from ovs import stream

from ovn_network_agent.common import ip_text
from ovn_network_agent.conf import tls
from ovn_network_agent.conf import validate
from ovn_network_agent.ovsdb import hosts
from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.privileged.daemon import passed_sockets
from ovn_network_agent.privileged.switch import ovsdb

_lock = threading.Lock()
_files: dict[str, tls.Files] = {}
_local: dict[str, str] = {}  # path of the local database's Unix socket
_reasons: dict[str, str] = {}
Opened: typing.TypeAlias = tuple[int, socket.socket | None]  # errno first
# X509_V_ERR_*, openssl/x509_vfy.h.
_NOT_YET_VALID = 9
_EXPIRED = 10
_UNKNOWN_ISSUERS = frozenset((18, 19, 20, 21))
_WRONG_NAMES = frozenset((62, 64))
_REVOKED = 23
_NO_LIST, _OLD_LIST = 3, 12

# By the end of OpenSSL's name.
_ALERTS = {
    'CERTIFICATE_REQUIRED': 'it wants a certificate of the client; set '
                            '{cert} and {key}',
    'HANDSHAKE_FAILURE': 'it found nothing to agree upon; does it want a '
                         'certificate of the client ({cert}, {key})?',
    'UNKNOWN_CA': 'it does not know the authority of our certificate; have '
                  '{cert} signed by one that the server trusts',
    'CERTIFICATE_EXPIRED': 'our certificate has expired; renew {cert}',
    'BAD_CERTIFICATE': 'it does not accept our certificate; check {cert}',
    'UNSUPPORTED_CERTIFICATE': 'it does not accept our kind of certificate; '
                               'check that {cert} is for TLS clients',
    'CERTIFICATE_REVOKED': 'our certificate was revoked; renew {cert}',
    'DECRYPT_ERROR': 'it could not verify our certificate; have {cert} '
                     'signed by an authority that the server trusts',
    'PROTOCOL_VERSION': 'it does not speak TLS 1.2 or newer; upgrade it or '
                        'check its --ssl-protocols',
}


def configure(conf: cfg.ConfigOpts) -> None:
    """Set the TLS files of "ssl:" remotes; once, at the start.

    After the loss of privileges: each connection reads them without any.

    :raises validate.ConfigError: when a file cannot be used
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


def reason(remote: str, error: int) -> str:
    """The reason of a failure, by the number of python-ovs if unknown."""
    with _lock:
        text = _reasons.get(remote)
    return text or os.strerror(error)


def last_reasons(remotes: Iterable[str]) -> str:
    """The reasons of the last failures with their remotes, '' for none."""
    with _lock:
        return '; '.join(f'{remote}: {_reasons[remote]}'
                         for remote in remotes if remote in _reasons)


def _note(remote: str, text: str) -> None:
    with _lock:
        _reasons[remote] = text


def _well(remote: str) -> None:
    with _lock:
        _reasons.pop(remote, None)


def _resolve(suffix: str) -> tuple[str, str]:
    """(host, 'address:port') of 'host:port'.

    Of several a random one, so the next attempt may use another.

    :raises hosts.Unresolved: when no address is known (yet)
    """
    host, _colon, port = suffix.rpartition(':')
    host = host.strip('[]')
    try:
        ip_text.address(host.partition('%')[0])
        return host, suffix
    except ValueError:
        pass
    address = random.choice(hosts.addresses(host, int(port)))  # noqa: S311
    return host, (f'[{address}]:{port}' if ':' in address
                  else f'{address}:{port}')


class _TellingStream(stream.Stream):
    @staticmethod
    def needs_probes() -> bool:
        """True: the server may go without a notice."""
        return True

    @staticmethod
    def check_connection_completion(sock: socket.socket) -> int:
        """0, EAGAIN, or an errno; the library would write to the socket."""
        ready = poller.get_system_poll()
        ready.register(sock, poller.POLLOUT)
        if not ready.poll(0):
            return errno.EAGAIN
        return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def connect(self) -> int:
        """As in the library; a failure is remembered."""
        error: int = super().connect()
        if error not in (0, errno.EAGAIN):
            _note(self.name, os.strerror(error))
        return error

    def recv(self, n: int) -> tuple[int, bytes]:
        """As in the library; received data clear the remembered failure."""
        error, data = super().recv(n)
        if data:
            _well(self.name)
        return error, data


def _connect(remote: str, dscp: int,
             wrap: Callable[[socket.socket, str], socket.socket]
             ) -> Opened:
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
    number = socket_util.inet_connect_active(opened, address, family, dscp)
    if number:
        _note(remote, os.strerror(number))
        return number, None
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return 0, opened


class TcpStream(_TellingStream):
    """A TCP connection to an address or a host name."""

    @staticmethod
    def _open(suffix: str, dscp: int) -> Opened:
        return _connect('tcp:' + suffix, dscp,
                        lambda opened, _host: opened)


class TlsStream(_TellingStream):
    """A TLS connection with the files of its remote.

    The server is always verified: no good files, no connection.
    """

    _handshake = stream.Stream.W_CONNECT  # None after it

    @staticmethod
    def _open(suffix: str, dscp: int) -> Opened:
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

        return _connect(
            remote, dscp, lambda opened, host: context.wrap_socket(
                opened, server_hostname=host, do_handshake_on_connect=False))

    def connect(self) -> int:
        """First TCP, then the handshake."""
        error = super().connect()
        if error or self._handshake is None:
            return error
        return self._guarded(self._shake_hands)

    def _shake_hands(self) -> int:
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

    def recv(self, n: int) -> tuple[int, bytes]:
        """(errno, data); never blocks."""
        result = []

        def receive() -> int:
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

    def send(self, buf: str | bytes) -> int:
        """Number of bytes sent, or a negative errno; never blocks."""
        if isinstance(buf, str):
            buf = buf.encode()
        result = []

        def send() -> int:
            result.append(self.socket.send(buf) if buf else 0)
            return 0
        error = self.connect() or self._guarded(send)
        if error not in (0, errno.EAGAIN):
            # An alert may have come before the close.
            self._guarded(lambda: bool(self.socket.recv(1)))
        return -error if error else result[0]

    def _guarded(self, action: Callable[[], int]) -> int:
        """0, or the errno of an action; TLS errors have other numbers."""
        try:
            return action()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return errno.EAGAIN
        except ssl.SSLEOFError:
            self._note_unless_known('the server closed the connection')
            return errno.ECONNRESET
        except ssl.SSLError as error:
            with _lock:
                files = _files[self.name]
            _note(self.name, explanation(error, files))
            return errno.EPROTO
        except OSError as error:
            number = error.errno or errno.EIO
            self._note_unless_known(os.strerror(number))
            return number

    def _note_unless_known(self, text: str) -> None:
        """An earlier reason is more exact."""
        with _lock:
            _reasons.setdefault(self.name, text)

    def wait(self, waiting: Any, what: int) -> None:
        """Register the event that the stream waits for now.

        That is one direction in a handshake.  Data decrypted already would be
        no event of the socket.
        """
        if self._handshake is not None:
            what = self._handshake
        elif what == self.W_RECV and self.socket.pending():
            waiting.immediate_wake()
            return
        super().wait(waiting, what)


class UnixStream(stream.UnixStream):
    """A Unix socket, which the privileged side opens if need be."""

    @staticmethod
    def _open(suffix: str, dscp: int) -> Opened:
        error, opened = socket_util.make_unix_socket(
            socket.SOCK_STREAM, True, None, suffix)
        if error != errno.EACCES or suffix != _local.get('path'):
            return error, opened
        try:
            return 0, passed_sockets.receive(ovsdb.connect)
        except context.FAILURES as refusal:
            return getattr(refusal, 'errno', None) or errno.EACCES, None


stream.Stream.register_method('unix', UnixStream)
stream.Stream.register_method('tcp', TcpStream)
stream.Stream.register_method('ssl', TlsStream)


def explanation(error: ssl.SSLError, files: tls.Files) -> str:
    """What an error of a TLS connection means, and the remedy if known."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _of_server(error, files)
    name = error.reason or ''
    for alert, text in _ALERTS.items():
        if 'ALERT' in name and name.endswith(alert):
            remedy = text.format(cert=_named(files, 'cert'),
                                 key=_named(files, 'key'))
            return f'the server ended the handshake ({name}): {remedy}'
    if name == 'UNSUPPORTED_PROTOCOL':
        return ('the server does not speak TLS 1.2 or newer; upgrade it or '
                'check its --ssl-protocols')
    if name in ('WRONG_VERSION_NUMBER', 'RECORD_LAYER_FAILURE'):
        return ('the server does not speak TLS at this port; check the '
                'remote, or reach it by tcp')
    return f'TLS: {name or error}'


def _of_server(error: ssl.SSLCertVerificationError, files: tls.Files) -> str:
    code = error.verify_code
    text = ('the certificate of the server is not accepted '
            f'({error.verify_message.rstrip(".")}): ')
    if code == _EXPIRED:
        return text + 'renew it on the server'
    if code == _NOT_YET_VALID:
        return text + 'check the clocks of both'
    if code in _UNKNOWN_ISSUERS:
        return text + (f'its authority is not in {_named(files, "ca")}; put '
                       'it there, or check that this is the right server')
    if code == _REVOKED:
        return text + (f'{_named(files, "ca")} has it in a list of revoked '
                       'certificates; give the server a new one')
    if code in (_NO_LIST, _OLD_LIST):
        return text + ('put a present list of revoked certificates of its '
                       f'authority into {_named(files, "ca")}, or remove all '
                       'lists there')
    if code in _WRONG_NAMES:
        return text + ('name the server in the remote as its certificate '
                       'does, renew the certificate with that name as a '
                       'subject alternative name, or set '
                       f'{_named(files, "check_name", "false")}')
    return text + f'check it and {_named(files, "ca")}'


def _named(files: tls.Files, what: str, value: str | None = None) -> str:
    """An option and its value, such as '[ovn] ovn_ssl_ca = /path'."""
    shown = value or getattr(files, what) or '(not set)'
    return f'[{files.group}] {files.option(what)} = {shown}'
