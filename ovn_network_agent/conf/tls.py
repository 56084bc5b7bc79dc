# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""TLS to OVSDB servers: the files of each remote, and their checks.

NB and SB have the options of [ovn], the local Open vSwitch those of [ovs]. The
checks use OpenSSL like a later connection.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import datetime
import os
import ssl
import stat
import typing
from typing import Any
from typing import NoReturn

from oslo_config import cfg

from ovn_network_agent.conf.options import egress_ip


class BadFile(Exception):
    """A file cannot be used; the text names option, path and remedy."""


class Files(typing.NamedTuple):
    """The files and settings of TLS connections."""

    group: str  # section of the options: 'ovn' or 'ovs'
    # Paths: trusted authorities, '' for the system's; the client's certificate
    # and its private key, '' for none.
    ca: str
    cert: str
    key: str
    check_name: bool  # whether the certificate must be for the remote's host

    def option(self, what: str) -> str:
        """Name of an option, such as 'ovn_ssl_ca'."""
        return f'{self.group}_ssl_{what}'

    def context(self, side: int = ssl.PROTOCOL_TLS_CLIENT) -> ssl.SSLContext:
        """A new context; each connection reads the files: they get renewed.

        :param side: ssl.PROTOCOL_TLS_SERVER demands certificates of clients
        :raises BadFile: when a file cannot be used
        """
        context = ssl.SSLContext(side)
        # The system would choose the lowest version.
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = self.check_name
        context.verify_mode = ssl.CERT_REQUIRED
        if self.ca:
            self._load_certificates(context, 'ca')
            if context.cert_store_stats()['crl']:
                # OpenSSL would ignore lists of revoked certificates.
                context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        else:
            context.load_default_certs()
        if self.cert:
            self._load_pair(context)
        return context

    def _load_pair(self, context: ssl.SSLContext) -> None:
        self._load_certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                                'cert')
        self._look_at('key', private=True)
        certificate = f'{self.option("cert")} = {self.cert}'
        try:
            context.load_cert_chain(self.cert, self.key, _no_password)
        except _Encrypted:
            self._refuse('key', 'is encrypted, and there is nobody to ask '
                                'for its password; store it without one')
        except ssl.SSLError as error:
            if error.reason == 'KEY_VALUES_MISMATCH':
                self._refuse('key', f'does not belong to {certificate}; name '
                                    'the two files that were made together')
            self._refuse('key', f'does not go with {certificate} '
                                f'({error.reason or error}); name the file '
                                'that begins with "-----BEGIN PRIVATE '
                                'KEY-----"')

    def _load_certificates(self, context: ssl.SSLContext, what: str) -> None:
        self._look_at(what)
        try:
            context.load_verify_locations(getattr(self, what))
        except ssl.SSLError as error:
            self._refuse(what, 'holds no certificate in PEM '
                               f'({error.reason or error}); name a file '
                               'that begins with "-----BEGIN '
                               'CERTIFICATE-----"')

    def _look_at(self, what: str, private: bool = False) -> None:
        try:
            with open(getattr(self, what), 'rb') as opened:
                mode = os.fstat(opened.fileno()).st_mode
        except OSError as error:
            self._refuse(what, f'cannot be read ({error.strerror}); name a '
                               'PEM file that the user of the agent may read')
        if not stat.S_ISREG(mode):
            self._refuse(what, 'is not a file; name a PEM file')
        if private and mode & 0o077:
            self._refuse(what,
                         'others than its owner have access to the private '
                         f'key (mode {stat.S_IMODE(mode):o}); "chmod 600" it')

    def _refuse(self, what: str, reason: str) -> NoReturn:
        raise BadFile(_say(self, what, reason)) from None


class _Encrypted(Exception):
    """OpenSSL asked for the password of a key."""


def _no_password() -> NoReturn:
    raise _Encrypted


def _files_of(conf: cfg.ConfigOpts, group: str) -> Files:
    return Files(group, *(conf[group][f'{group}_ssl_{what}']
                          for what in ('ca', 'cert', 'key', 'check_name')))


def between_agents(conf: cfg.ConfigOpts) -> Files | None:
    """The files of [ovn] between agents, None unless all three are set.

    The certificate names no address, as OVSDB looks at none: whoever has one
    of the authority counts as an agent.
    """
    files = _files_of(conf, 'ovn')._replace(check_name=False)
    return files if files.ca and files.cert and files.key else None


def _groups(conf: cfg.ConfigOpts
            ) -> tuple[tuple[Files, list[str]], tuple[Files, list[str]]]:
    ovn, ovs = _files_of(conf, 'ovn'), _files_of(conf, 'ovs')
    if not (ovs.ca or ovs.cert or ovs.key):
        ovs = ovn._replace(check_name=ovs.check_name)  # usual
    return ((ovn, conf.ovn.ovn_nb_remote + conf.ovn.ovn_sb_remote),
            (ovs, [conf.ovs.ovsdb_connection]))


def _ssl(remotes: Iterable[str]) -> list[str]:
    return [remote for remote in remotes if remote.startswith('ssl:')]


def by_remote(conf: cfg.ConfigOpts) -> dict[str, Files]:
    """The files of each "ssl:" remote."""
    return {remote: files for files, remotes in _groups(conf)
            for remote in _ssl(remotes)}


def problems(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Problems that make a start impossible, each with the remedy."""
    for group in ('ovn', 'ovs'):
        files = _files_of(conf, group)
        yield from _half_a_pair(files)
        yield from _unusable(files)
    for group, (files, remotes) in zip(('ovn', 'ovs'), _groups(conf),
                                       strict=True):
        yield from _anybody(files, remotes, group)
    yield from _two_minds(conf)


def _say(files: Files, what: str, text: str) -> str:
    return (f'[{files.group}] {files.option(what)} = '
            f'{getattr(files, what)}: {text}')


def _half_a_pair(files: Files) -> Iterator[str]:
    if bool(files.cert) != bool(files.key):
        yield (f'[{files.group}] {files.option("cert")} = {files.cert}, '
               f'{files.option("key")} = {files.key}: one is of no use '
               'without the other; set both or none')


def _anybody(files: Files, remotes: Iterable[str],
             group: str) -> Iterator[str]:
    if _ssl(remotes) and not files.ca and not files.check_name:
        yield (f'[{group}] {group}_ssl_check_name = False: then whoever has '
               'a certificate of any authority that this system trusts could '
               'answer; name the file of your own authority in '
               f'[{files.group}] {files.option("ca")}')


def _unusable(files: Files) -> Iterator[str]:
    whole = files.cert and files.key
    pair = files if whole else files._replace(cert='', key='')
    if not (pair.ca or pair.cert):
        return  # the system's take 25 ms to load
    try:
        pair.context()
    except BadFile as error:
        yield str(error)


def _two_minds(conf: cfg.ConfigOpts) -> Iterator[str]:
    (ovn, ovn_remotes), (ovs, ovs_remotes) = _groups(conf)
    for remote in _ssl(ovs_remotes):
        if remote in ovn_remotes and ovn != ovs:
            yield (f'[ovs] ovsdb_connection = {remote}: is in [ovn] too, with '
                   'other files there; use the same, or set none in [ovs]')


def warnings(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Settings that look unintended but do not prevent a start."""
    for files, remotes in _groups(conf):
        if _ssl(remotes) and not files.ca:
            yield (f'[{files.group}] {files.option("ca")} is not set: every '
                   'authority that this system trusts may vouch for the '
                   'servers; name the file of your own authority')
    yield from _without_effect(conf)
    nb, sb = (bool(_ssl(conf.ovn[name]))
              for name in ('ovn_nb_remote', 'ovn_sb_remote'))
    if nb != sb:
        yield ('[ovn] ovn_nb_remote, ovn_sb_remote: only one of the '
               'databases is reached by ssl')
    for files in dict.fromkeys(by_remote(conf).values()):
        if files.cert:
            yield from _dates(files)


def _without_effect(conf: cfg.ConfigOpts) -> Iterator[str]:
    used = {files.group for files in by_remote(conf).values()}
    if egress_ip.probes(conf):
        used.add('ovn')
    for group in ('ovn', 'ovs'):
        files = _files_of(conf, group)
        for what in ('ca', 'cert', 'key') if group not in used else ():
            if getattr(files, what):
                yield _say(files, what, 'has no effect, because no remote '
                                        'that it is for is reached by ssl')


def end(path: str) -> datetime.datetime:
    """When the certificate in a file expires; the first one counts.

    :raises OSError: when the file cannot be read
    :raises ValueError: when the file has no certificate
    """
    found: datetime.datetime = _certificate(path).not_valid_after_utc
    return found


def _certificate(path: str) -> Any:
    # 50 ms for these certificates alone.
    from cryptography import x509
    with open(path, 'rb') as opened:
        return x509.load_pem_x509_certificate(opened.read())


def _dates(files: Files) -> Iterator[str]:
    certificate = _certificate(files.cert)
    now = datetime.datetime.now(datetime.UTC)
    if now > certificate.not_valid_after_utc:
        yield _say(files, 'cert',
                   f'has expired at {certificate.not_valid_after_utc}; '
                   'servers will refuse it, renew it')
    elif now < certificate.not_valid_before_utc:
        yield _say(files, 'cert',
                   f'is not valid before {certificate.not_valid_before_utc}; '
                   'servers will refuse it, check the clock')
