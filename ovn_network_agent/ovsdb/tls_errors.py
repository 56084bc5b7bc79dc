# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The meaning of OpenSSL's errors, and their remedies, in words."""

import ssl

from ovn_network_agent.conf import tls

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
    said = ('the certificate of the server is not accepted '
            f'({error.verify_message.rstrip(".")}): ')
    if code == _EXPIRED:
        return said + 'renew it on the server'
    if code == _NOT_YET_VALID:
        return said + 'check the clocks of both'
    if code in _UNKNOWN_ISSUERS:
        return said + (f'its authority is not in {_named(files, "ca")}; put '
                       'it there, or check that this is the right server')
    if code == _REVOKED:
        return said + (f'{_named(files, "ca")} has it in a list of revoked '
                       'certificates; give the server a new one')
    if code in (_NO_LIST, _OLD_LIST):
        return said + ('put a present list of revoked certificates of its '
                       f'authority into {_named(files, "ca")}, or remove all '
                       'lists there')
    if code in _WRONG_NAMES:
        return said + ('name the server in the remote as its certificate '
                       'does, renew the certificate with that name as a '
                       'subject alternative name, or set '
                       f'{_named(files, "check_name", "false")}')
    return said + f'check it and {_named(files, "ca")}'


def _named(files: tls.Files, what: str, value: str | None = None) -> str:
    """An option and its value, such as '[ovn] ovn_ssl_ca = /path'."""
    shown = value or getattr(files, what) or '(not set)'
    return f'[{files.group}] {files.option(what)} = {shown}'
