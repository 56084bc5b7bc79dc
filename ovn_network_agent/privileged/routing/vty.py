# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Commands to the sockets of FRR's daemons, without vtysh.

vtysh takes 25 ms before its first command, a daemon 2 ms for a route.  But it
knows more ways to the daemons and has better messages, so the callers, which
pass checked lines, use it on :class:`Unavailable`, before the first change.
"""

from collections.abc import Collection
from collections.abc import Container
from collections.abc import Iterable
import contextlib
import time

from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.frr import output
from ovn_network_agent.frr import session

# Since FRR 9, mgmtd has the static routes, and several lines in one
# transaction need its lock.  In FRR 8, staticd has them.
MGMTD = 'mgmtd'
# Line by line, each waits for the other twice.  So staticd gets 200 lines,
# which fit the buffers of a socket with their answers.  mgmtd loses what
# follows a line in its buffer while at work (vtysh_read in FRR's lib/vty.c).
_WRITERS = ((MGMTD, 'configure terminal file-lock', 1),
            ('staticd', 'configure terminal', 200))
# mgmtd adds the lines of a session that broke off to the next transaction.
# FRR 10.7 also keeps refused lines, and refuses the next one with them.  This
# discards such lines, but takes as long as a change with thousands of routes,
# so it is not sent each time.
DISCARD = 'mgmt commit abort'
# most questions at once, 2 ms of FRR 8.4; meanwhile it does nothing else
_BATCH_SIZE = 20
# whether the last session may have broken off, or that of a killed daemon
_broken_off = True


class Unavailable(Exception):
    """The socket cannot be used; nothing has been changed."""


def daemons(answering: bool = False) -> set[str]:
    """Names of the daemons that accept connections, or that answer."""
    if answering:
        return _answering(_deadline())
    found = set()
    for name in _sockets():
        with contextlib.suppress(ConnectionError, FileNotFoundError,
                                 PermissionError):
            _session(name, _deadline()).close()
            found.add(name)
    if not found:
        raise Unavailable('no daemon takes connections')
    return found


def configure(lines: list[str]) -> str:
    """Send lines of static routes, in one transaction.

    :raises OSError: when a daemon hangs or ends; they may be written
    """
    global _broken_off
    deadline = _deadline()
    running = _answering(deadline)
    for name, enter, batch_size in _WRITERS:
        if name in running:
            break
    else:
        raise Unavailable('neither mgmtd nor staticd')
    with contextlib.closing(_session(name, deadline)) as opened:
        for command in ('enable', enter):
            _begin(opened, command)
        if _broken_off and name == MGMTD:
            opened.ask(DISCARD)
        _begin(opened, 'XFRR_start_configuration')
        _broken_off = True
        messages = [
            text for at in range(0, len(lines), batch_size)
            for _status, text in opened.ask_all(lines[at:at + batch_size])]
        # tells whether the transaction is done
        status, answer = opened.ask('XFRR_end_configuration')
        messages.append(answer)
        if status != session.SUCCESS and name == MGMTD:
            opened.ask(DISCARD)
        messages.append(opened.ask('end')[1])
        _broken_off = False
    return '\n'.join(filter(None, messages))


def configure_each(lines: list[str], names: Iterable[str]) -> str:
    """At most 200 lines to daemons side by side, a transaction each; only
    vtysh knows how versions with mgmtd divide lines.
    """
    deadline = _deadline()
    running = _answering(deadline)
    if MGMTD in running or not running.issuperset(names):
        raise Unavailable('only vtysh knows which daemons take the lines')
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(contextlib.closing(
            _session(name, deadline))) for name in names]
        for opened in sessions:
            for command in ('enable', 'configure terminal',
                            'XFRR_start_configuration'):
                _begin(opened, command)
        commands = [*lines, 'XFRR_end_configuration', 'end']
        for opened in sessions:
            opened.send(commands)
        return '\n'.join(text for opened in sessions for _status, text
                         in opened.receive(len(commands)) if text)


def static_configuration(running: Container[str]) -> list[str]:
    """The configuration of the daemon that has the static routes."""
    name = next((name for name, *_how in _WRITERS if name in running), None)
    if name is None:
        raise Unavailable('neither mgmtd nor staticd')
    return configuration(name)


def configuration(name: str) -> list[str]:
    """The configuration of a daemon, with the version of FRR."""
    lines = enabled(name, 'show running-config').split('\n')
    if not any(map(output.is_version, lines)):
        raise Unavailable(f'{name}: {lines[0]}')
    return lines


def ask(questions: dict[str, list[str]]) -> str:
    """Run commands that need no enabled mode, one session for each daemon."""
    return '\n'.join(text for _status, text in _answers(questions))


def texts(questions: dict[str, list[str]]) -> list[str]:
    """As :func:`ask`; empty when a command fails, as in an old version."""
    answers = _answers(questions)
    succeeded = all(status == session.SUCCESS for status, _text in answers)
    return [text for _status, text in answers] if succeeded else []


def _answers(questions: dict[str, list[str]]) -> list[session.Answer]:
    missing = questions.keys() - set(_sockets())
    if missing:
        raise Unavailable(f'{", ".join(sorted(missing))} without a socket')
    deadline = _deadline()
    answers = []
    for name, commands in questions.items():
        with contextlib.closing(_session(name, deadline)) as opened:
            for at in range(0, len(commands), _BATCH_SIZE):
                answers += opened.ask_all(commands[at:at + _BATCH_SIZE])
    return answers


def enabled(name: str, command: str) -> str:
    """The answer to a command of a daemon's enabled mode."""
    if name not in _sockets():
        raise Unavailable(f'{name} has no socket')
    with contextlib.closing(_session(name, _deadline())) as opened:
        _begin(opened, 'enable')
        return opened.ask(command)[1]


def _begin(opened: session.Session, command: str) -> None:
    status, messages = opened.ask(command)
    if status != session.SUCCESS:
        raise Unavailable(f'{command}: {messages}')


def _answering(deadline: float) -> set[str]:
    """All have to answer: with one hanging, a change would not reach the
    fabric.
    """
    found = set()
    for name in daemons():
        try:
            with contextlib.closing(_session(name, deadline)) as opened:
                _begin(opened, 'enable')
        except ConnectionError:
            # the daemon has ended meanwhile
            continue
        found.add(name)
    return found


def _sockets() -> Collection[str]:
    conf = registered.group(options)
    if conf.vtysh_wrapper:
        # FRR is in a container; these sockets may be of another
        raise Unavailable('configured to use vtysh')
    try:
        return session.daemons(conf.frr_run_dir)
    except OSError as error:
        raise Unavailable(str(error)) from error


def _session(name: str, deadline: float) -> session.Session:
    conf = registered.group(options)
    return session.Session(conf.frr_run_dir, name, conf.vtysh_timeout,
                           deadline)


def _deadline() -> float:
    return time.monotonic() + float(registered.group(options).vtysh_timeout)
