# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Authorities and certificates for the tests, made in a moment."""

import datetime
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = datetime.timedelta(days=1)


class Authority:
    """Signs certificates; its own is in :attr:`path`.

    :param directory: where its files are written, also an attribute
    :param name: for the subject and the file names
    """

    def __init__(self, directory, name='authority'):
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _name(name)
        self._name = name
        self._own = _pem(self._sign(self._subject, self._key, ca=True))
        self.path = self._write(name + '.pem', self._own)

    def issue(self, name, *hosts, expired=False, password=None):
        """A certificate and its key.

        :param hosts: addresses and names it is for
        :returns: paths of certificate and key; the key has mode 600
        """
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(_name(name), key, hosts, expired=expired)
        encryption = serialization.NoEncryption()
        if password:
            encryption = serialization.BestAvailableEncryption(
                password.encode())
        return (self._write(name + '.crt', _pem(certificate)),
                self._write(name + '.key', key.private_bytes(
                    serialization.Encoding.PEM,
                    serialization.PrivateFormat.PKCS8, encryption)))

    def revoke(self, *certificates, expired=False):
        """Put a list of revoked certificates behind that of the authority.

        :param certificates: paths; none for an empty list
        :param expired: whether the time of the list is over
        """
        now = datetime.datetime.now(datetime.UTC)
        ends = now - DAY if expired else now + DAY
        builder = x509.CertificateRevocationListBuilder(
            self._subject, ends - 2 * DAY, ends)
        for path in certificates:
            with open(path, 'rb') as opened:
                number = x509.load_pem_x509_certificate(
                    opened.read()).serial_number
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder(number, now - DAY).build())
        self._write(self._name + '.pem', self._own + _pem(
            builder.sign(self._key, hashes.SHA256())))

    def _sign(self, subject, key, hosts=(), ca=False, expired=False):
        now = datetime.datetime.now(datetime.UTC)
        ends = now - DAY if expired else now + DAY
        builder = x509.CertificateBuilder(
            self._subject, subject, key.public_key(),
            x509.random_serial_number(), ends - 2 * DAY, ends)
        builder = builder.add_extension(
            x509.BasicConstraints(ca, None), critical=True)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(
                [_alternative(host) for host in hosts]), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name, content):
        path = os.path.join(self.directory, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                             0o600)
        with os.fdopen(descriptor, 'wb') as opened:
            opened.write(content)
        return path


def _name(text):
    return x509.Name([x509.NameAttribute(
        x509.oid.NameOID.COMMON_NAME, text)])


def _alternative(host):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)
