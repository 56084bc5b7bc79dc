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

"""Privileged entry points for FRR, through vtysh or its daemons' sockets.

No entry point takes a command: each runs fixed ones, with checked names and
addresses in them.  Static routes are written over the sockets of the daemons
(:mod:`vty`) where that is possible.  Other changes are read by ``vtysh -f``
from standard input, which makes one transaction of them; the same as ``-c``
arguments takes 15 times longer, and one process for each about 100 times.
Each process has a time limit, because vtysh waits for a daemon that hangs for
ever.

Of the running configuration only static routes of one VRF are given back:
there are passwords in it.
"""

import errno
import functools
import re

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf import frr as options
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output
from ovn_network_agent.frr import shape
from ovn_network_agent.privileged import command
from ovn_network_agent.privileged import limits
from ovn_network_agent.privileged import originals
from ovn_network_agent.privileged import vty

# 0.3 ms a route on a common machine, 1.4 ms on a very slow one: well within
# the time limit of 10 s.
_BATCH = 2500
# What is left to the inner limit to end first, seconds.
_GRACE = 2
# Who holds the configuration, in versions with mgmtd.
_OF_STATICS = (vty.MGMTD,)
_OF_PREFIX_LISTS = (vty.MGMTD, 'zebra', 'bgpd')
_CHATTER = re.compile(
    r"% Can't open configuration file|"
    r'\[\d+\|\w+\] (sending configuration|done)$|'
    r'Waiting for children to finish applying config|'
    r'MGMTD: No changes found to be committed')
_NOT_RUNNING = 'failed to connect to any daemons'


@privileged.frr.entrypoint
def read_static(vrf):
    """Read the static routes of a VRF that are configured.

    :param vrf: name, '' for the default VRF
    :returns: list of [prefix, what follows it in the configuration]
    :raises OSError: when they cannot be read in full
    """
    check_vrf(vrf)
    result = show('show daemons', 'show running-config')
    try:
        running, configuration = output.split(result.stdout)
        require(running, *output.holders(configuration))
        return [list(route) for route in
                output.static_routes(configuration, vrf)]
    except output.Unreadable as error:
        raise unreadable(error, result) from error


# What routes can come from, as 'show ip route' calls it.
_ORIGINS = ('static', 'kernel')


@privileged.frr.entrypoint
def read_known(vrf, origin):
    """Read which routes of an origin zebra knows, selected or not.

    :param vrf: name, '' for the default VRF
    :param origin: 'static' or 'kernel'
    :returns: sorted list of prefixes
    :raises OSError: when they cannot be read
    """
    if origin not in _ORIGINS:
        raise OSError(errno.EINVAL, f'{origin!r} is none of {_ORIGINS}')
    name = check_vrf(vrf)
    of_vrf = f'vrf {name} ' if name else ''
    result = show(f'show ip route {of_vrf}{origin} json')
    try:
        return sorted(output.known_routes(result.stdout))
    except output.Unreadable as error:
        raise unreadable(error, result) from error


@privileged.frr.entrypoint
def read_prefix_list(name):
    """Read the prefix lists of a name as each daemon has them.

    IPv4 and IPv6 have one each, with sequence numbers of their own.

    :param name: name of the list
    :returns: dict of daemon ('BGP', 'ZEBRA') to list of the fields of
        :class:`frr.output.Entry`; bgpd is always there, another daemon only
        when it has one of the lists
    :raises OSError: when it cannot be read, or bgpd does not run
    """
    check_prefix_list(name)
    found = _prefix_lists(name)
    # As long as what the original has left is all there.
    originals.networks({daemon: [output.Entry(*entry) for entry in entries]
                        for daemon, entries in found.items()},
                       limits.current().leak)
    return found


def _prefix_lists(name):
    result = show('show daemons', f'show ip prefix-list {name} json',
                  f'show ipv6 prefix-list {name} json')
    # A daemon that does not know the list prints nothing for it.
    brace = result.stdout.find('{')
    brace = len(result.stdout) if brace < 0 else brace
    running = output.daemons(result.stdout[:brace].split('\n'))
    require(running, 'zebra', 'bgpd')
    try:
        found = output.prefix_lists(result.stdout[brace:], name)
    except output.Unreadable as error:
        raise unreadable(error, result) from error
    return {daemon: [list(entry) for entry in entries] for daemon, entries
            in {'BGP': [], **found}.items()}


@privileged.frr.change
def change_static(vrf, adds, deletes):
    """Add static host routes to a VRF, then remove some.

    :param vrf: name, '' for the default VRF
    :param adds: list of [prefix, next hop]
    :param deletes: the same
    :returns: [refused, said]: list of [list name ('adds', 'deletes'),
        index, reason] of what was not even tried, and all that vtysh said,
        '' when it was content (it is also content without a staticd)
    :raises OSError: when vtysh cannot be run, takes too long, or cannot
        reach FRR; what was done is then unknown.  Or when zebra does not run
        and something is to be removed: staticd would forget it, and bgpd go
        on announcing it until zebra is back
    """
    name = check_vrf(vrf)
    if deletes:
        require(_daemons(), 'zebra')
    enter, leave = ([f'vrf {name}'], ['exit-vrf']) if name else ([], [])
    within = limits.current()

    def line(prefix, hop):
        within.check_next_hop(hop)
        return lines.static_route(prefix, hop)

    refused, configuration = _lines(adds, deletes, line)
    said = [_write([*enter, *configuration[at:at + _BATCH], *leave])
            for at in range(0, len(configuration), _BATCH)]
    return [refused, '\n'.join(filter(None, said))]


@privileged.frr.change
def change_prefix_list(name, adds, deletes):
    """Add entries to a prefix list, then remove some.

    FRR puts an entry in the place of another one that has its number.  So a
    number is one of our own (:func:`ownership.prefix_list_numbers`), or that
    of this entry in some daemon.  What is removed has a number of ours, or is
    of the original program (:mod:`originals`).

    :param name: name of the list
    :param adds: list of [network, ge, le, sequence]
    :param deletes: list of [network, ge, le]
    :returns: as :func:`change_static`
    :raises OSError: as :func:`change_static`
    """
    check_prefix_list(name)
    copies = functools.cache(lambda: _copies(name))

    def line(network, ge, le, *sequence):
        text = lines.prefix_list_entry(name, network, ge, le, *sequence)
        if not sequence:
            if network not in _removable(copies()):
                raise ValueError(f'there is no entry {network} of ours')
        elif not shape.is_ours(network, *sequence) and not any(
                (*sequence, 'permit', network, ge, le) in entries
                for entries in copies().values()):
            raise ValueError(f'sequence number {sequence[0]} is neither '
                             f'ours nor that of the entry {network}')
        return text
    refused, configuration = _lines(adds, deletes, line)
    return [refused, _configure(configuration, _OF_PREFIX_LISTS)
            if configuration else '']


@privileged.frr.change
def soft_refresh(vrf):
    """Have bgpd send its routes to all neighbours of the VRF again.

    Never in one process with a change of routes, nor over a socket right
    after one: zebra waits for 10 ms before it looks at what changed, so that
    bgpd would not have learned of it by then.

    :param vrf: name, '' for the default VRF
    :returns: [daemons, said]: list of the names of the daemons that run,
        and what bgpd has to complain about, '' for nothing
    :raises OSError: as :func:`change_static`
    """
    name = check_vrf(vrf)
    of_vrf = f'vrf {name} ' if name else ''
    result = show('show daemons', f'clear ip bgp {of_vrf}* soft out')
    running = output.daemons(result.stdout.split('\n'))
    # All but what 'show daemons' printed.
    said = '\n'.join(row for row in result.stdout.split('\n')
                     if not row.startswith(' '))
    return [sorted(running), _said(said + '\n' + result.stderr)]


@privileged.frr.entrypoint
def read_daemons(answering=False):
    """Names of the daemons that run, a list.

    :param answering: whether each of them has to answer, too: staticd takes
        a change while zebra hangs, and it is without effect until then
    :raises OSError: as :func:`change_static`
    """
    return sorted(_running() if answering else _daemons())


def _copies(name):
    """A prefix list, dict of daemon to list of :class:`frr.output.Entry`."""
    return {daemon: [output.Entry(*entry) for entry in entries]
            for daemon, entries in _prefix_lists(name).items()}


def _removable(copies):
    """Networks of the entries that are not the operator's, a set."""
    found = originals.networks(copies, limits.current().leak)
    for entries in copies.values():
        found |= {network for network, number in
                  shape.shaped(entries).items()
                  if shape.is_ours(network, number)}
    return found


def _daemons():
    """Names of the daemons that run, the short way if possible, a set."""
    try:
        return vty.daemons()
    except vty.Unavailable:
        return _running()


def _lines(adds, deletes, line):
    """Configuration lines, and [list name, index, reason] of bad items."""
    refused = []
    configuration = []
    for name, no, items in (('adds', '', adds), ('deletes', 'no ', deletes)):
        for index, item in enumerate(items):
            try:
                configuration.append(no + line(*item))
            except (OSError, TypeError, ValueError) as error:
                refused.append([name, index, str(error)])
    return refused, configuration


def _write(configuration):
    """Write static routes the short way if possible."""
    try:
        return vty.configure(configuration)
    except vty.Unavailable:
        return _configure(configuration, _OF_STATICS)


def _configure(configuration, daemons):
    """Feed lines to vtysh; returns what it said about them.

    :param daemons: names of those that they are for
    """
    text = '\n'.join(configuration) + '\n'
    results = [_vtysh([*only, '-f', '/dev/stdin'], text)
               for only in _one_by_one(daemons)]
    said = _said('\n'.join(text for result in results
                           for text in (result.stdout, result.stderr)))
    failed = [result.status for result in results if result.status != 0]
    if failed and not said:
        said = f'vtysh ended with status {failed[0]}'
    if failed and vty.MGMTD in _running():
        # See there.
        _vtysh(['-d', vty.MGMTD, '-f', '/dev/stdin'], vty.DISCARD + '\n')
    return said


def _running():
    """Names of the daemons that run, by way of vtysh."""
    return output.daemons(show('show daemons').stdout.split('\n'))


def _one_by_one(daemons):
    """Arguments for each process that is needed to reach all daemons.

    Since version 9, which has mgmtd, vtysh has a child for each daemon, and
    all of them read the standard input.  That they each read all of it is
    sure of a file, see :func:`command.run`, but a wrapper may make a pipe of
    it (as what enters a container does), which only one of them may read.
    """
    if _options().vtysh_wrapper.split():
        running = _running()
        if vty.MGMTD in running:
            return [['-d', name] for name in daemons if name in running]
    return [[]]


def _said(text):
    """Messages without what vtysh always says on many nodes.

    It misses vtysh.conf, which it does not need; and since version 9 it
    says what its children do, and mgmtd that there is nothing to do.
    """
    rows = [row.strip() for row in text.split('\n')]
    return '\n'.join(row for row in rows if row and not _CHATTER.match(row))


def ask(daemon, command):
    """Run a command that shows something of one daemon, the short way.

    Not an entry point.

    :param command: as for :func:`show`
    :returns: what it said
    :raises OSError: as :func:`change_static`, or when the daemon has ended
    """
    try:
        return vty.ask(daemon, command)
    except vty.Unavailable:
        return show(command).stdout


def show(*commands):
    """Run commands that show something.  Not an entry point.

    :param commands: fixed words with checked values in them
    :returns: :class:`command.Result`
    :raises OSError: as :func:`change_static`
    """
    arguments = [word for text in commands for word in ('-c', text)]
    result = _vtysh(arguments)
    if result.status != 0:
        raise OSError(errno.EIO, f'vtysh: {result.messages}')
    return result


def _options():
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    return cfg.CONF.frr


def _vtysh(arguments, stdin=''):
    conf = _options()
    limit = conf.vtysh_timeout
    argv = ['vtysh', *arguments]
    wrapper = conf.vtysh_wrapper.split()
    if wrapper:
        # Killing the wrapper may leave vtysh alive in its container.
        argv = [*wrapper, 'timeout', '-s', 'KILL', str(limit), *argv]
        limit += _GRACE
    try:
        result = command.run(argv, limit, stdin)
    except TimeoutError as error:
        raise TimeoutError(
            errno.ETIMEDOUT, f'vtysh did not end within {limit} s and was '
            'killed: a daemon of FRR hangs, or somebody else holds its '
            'configuration lock') from error
    if _NOT_RUNNING in result.stderr:
        raise OSError(errno.ECONNREFUSED, 'FRR is not running: vtysh cannot '
                                          'connect to any daemon')
    return result


def require(running, *names):
    """Daemons that have to run.

    :raises OSError: naming those that do not
    """
    missing = [name for name in names if name not in running]
    if missing:
        raise OSError(errno.ECONNREFUSED,
                      f'{" and ".join(missing)} of FRR not running')


def unreadable(error, result):
    """The OSError for output that was not understood."""
    return OSError(errno.EPROTO, f'{error} ({result.messages})')


def check_vrf(name):
    """The name of FRR's VRF, '' for the default one.

    :raises OSError: when it is another one
    """
    limits.current().check_vrf(name)
    return checked(lines.check_device, name) if name else ''


def check_prefix_list(name):
    """The name of our prefix list.

    :raises OSError: when it is another one
    """
    limits.current().check_prefix_list(checked(lines.check_name, name))


def checked(check, value):
    """A value that a check of :mod:`frr.lines` lets pass.

    :raises OSError: when it does not
    """
    try:
        return check(value)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from error
