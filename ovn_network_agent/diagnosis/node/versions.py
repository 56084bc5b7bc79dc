# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Check of the versions of all programs that the agent works with."""

from collections.abc import Callable
from collections.abc import Iterator
import os
import re
import typing

from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.privileged import nft
from ovn_network_agent.privileged.daemon import context

FRR, OVN, OVS, NFT, KERNEL = ('FRR', 'OVN', 'Open vSwitch', 'nftables',
                              'Linux')
# Those that the tests ran with, the oldest first; a test compares them with
# the page of versions in the documentation.
TRIED = {FRR: ('8.4.4', '10.3', '10.7.1'), OVN: ('23.03', '25.03', '26.03.1'),
         OVS: ('3.1', '3.5', '4.0')}
# Versions in between that were never run, and differ from their neighbours.
NEVER = {FRR: (9,)}
# Below these, a part of the agent cannot work.
LEAST = {KERNEL: ('4.20', 'the agent needs its netlink with strict checks')}


class Versions(typing.NamedTuple):
    """The versions that are installed and running."""

    # (program, version), '' for one that is not known.
    found: tuple[tuple[str, str], ...]


def read_versions(sources: sources.Sources) -> Versions:
    """Ask each program for its version, '' where it does not tell."""
    return Versions((
        (KERNEL, os.uname().release),
        (FRR, _version(lambda: sources.frr(4).version)),
        (OVN, _version(lambda: [*sources.controller(), ''][0])),
        (OVS, _version(lambda: _switch(sources))),
        (NFT, _version(lambda: _nft(sources)))))


def _version(ask: Callable[[], str]) -> str:
    """A version, '' where a system does not tell; another check says why."""
    try:
        return ask()
    except (check.NotChecked, connection.Unavailable, *context.FAILURES):
        return ''


def _switch(sources: sources.Sources) -> str:
    with sources.database('ovs').rows() as ovs:
        return next((''.join(row.ovs_version)
                     for row in ovs['Open_vSwitch'].values()), '')


def _nft(sources: sources.Sources) -> str:
    sources.privileged()
    return nft.read_version()


def numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version such as '6.12.0-amd64'."""
    return tuple(int(part) for part in re.findall(
        r'[0-9]{1,9}', version)[:2])


def judge_versions(found: Versions) -> Iterator[check.Result]:
    """A version below :data:`LEAST` is broken.

    One beside all of :data:`TRIED` is a warning, one in between a remark.
    """
    problems = [result for name, version in found.found if version
                for result in _judged(name, version)]
    yield from problems
    if not problems:
        yield check.ok(', '.join(
            f'{name} {version}{_unseen(name, version)}'
            for name, version in found.found if version))


def _unseen(name: str, version: str) -> str:
    tried = TRIED.get(name, ())
    return '' if not tried or numbers(version) in map(numbers, tried) else (
        f' (no test ran with it, but with {", ".join(tried)})')


def _judged(name: str, version: str) -> Iterator[check.Result]:
    here = numbers(version)
    least, why = LEAST.get(name, ('0', ''))
    if here < numbers(least):
        yield check.broken(f'{name} {version} is older than {least}: {why}',
                           f'install {name} {least} or later')
        return
    tried = TRIED.get(name, ())
    if tried and not numbers(tried[0]) <= here <= numbers(tried[-1]):
        yield check.warn(
            f'{name} {version} was not tried: the tests ran with '
            f'{", ".join(tried)}', 'try it on a node without traffic first')
    elif here[:1] and here[0] in NEVER.get(name, ()):
        yield check.warn(f'{name} {version}: {name} {here[0]:d} was never '
                         'run', 'try it on a node without traffic first')


CHECKS = (
    check.Check(
        'versions', 'programs', 'Linux, FRR, OVN, Open vSwitch and nftables '
        'are of versions that were tried', read_versions, judge_versions),
)
