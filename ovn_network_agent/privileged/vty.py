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


"""What is sent to the command sockets of FRR's daemons, without vtysh.

vtysh spends 25 ms to build a tree of all commands of all daemons before it
sends the first of them; the daemons themselves need 2 ms for a route.  So
what is on the way of a floating IP talks to them as vtysh does: a command
and a zero byte, and the answer is text, three zero bytes and a status.

Whoever calls this has vtysh to fall back to.  That is for everything that
goes wrong as long as nothing has been changed; vtysh knows more ways, and
says better what is wrong.

Not entry points: they are called with lines that were checked.
"""

import contextlib
import errno
import os
import socket
import time

from oslo_config import cfg

from ovn_network_agent.conf import frr as options

_SUFFIX = '.vty'
_SUCCESS = 0
# Since FRR 9 mgmtd has the static routes, and a lock that those have to ask
# for who want several lines to be one transaction.  Before, staticd has them.
MGMTD = 'mgmtd'
_WRITERS = ((MGMTD, 'configure terminal file-lock'),
            ('staticd', 'configure terminal'))
# mgmtd keeps what a session that broke off has sent, and adds it to whatever
# comes next, from whomever; that of FRR 10.7 also what it has refused, and
# refuses the next with it.  Until somebody says this.  It takes as long as
# the change of a route does, when there are thousands of them, so it is not
# said each time.
DISCARD = 'mgmt commit abort'
_MARK = b'\0\0\0'
# Whether the last session may have broken off: the root side may be killed.
_broken_off = True


class Unavailable(Exception):
    """Not this way; nothing has been changed."""


def daemons():
    """Names of the daemons that take connections, a set.

    :raises Unavailable: when there are none, or they are not to be asked
    """
    found = set()
    for name in _sockets():
        with contextlib.suppress(ConnectionError, FileNotFoundError,
                                 PermissionError):
            _Session(name, _deadline()).close()
            found.add(name)
    if not found:
        raise Unavailable('no daemon takes connections')
    return found


def configure(lines):
    """Have FRR take configuration lines of static routes, all or none.

    :param lines: list of str
    :returns: what it said, '' when it was content
    :raises Unavailable: when nothing has been changed
    :raises OSError: when a daemon does not answer in time or ends meanwhile;
        what was done is then unknown
    """
    global _broken_off
    deadline = _deadline()
    running = _answering(deadline)
    for name, enter in _WRITERS:
        if name in running:
            break
    else:
        raise Unavailable('neither mgmtd nor staticd')
    with contextlib.closing(_Session(name, deadline)) as session:
        for command in ('enable', enter):
            _begin(session, command)
        if _broken_off and name == MGMTD:
            session.ask(DISCARD)
        _begin(session, 'XFRR_start_configuration')
        _broken_off = True
        said = [session.ask(line)[1] for line in lines]
        # Here the transaction is done, or not.
        status, answer = session.ask('XFRR_end_configuration')
        said.append(answer)
        if status != _SUCCESS and name == MGMTD:
            session.ask(DISCARD)
        said.append(session.ask('end')[1])
        _broken_off = False
    return '\n'.join(filter(None, said))


def ask(name, command):
    """Run a command that shows something.

    :param name: of the daemon
    :returns: what it said
    :raises Unavailable: when the daemon is not to be asked this way
    :raises OSError: when it takes no connections, does not answer in time,
        or ends meanwhile
    """
    if name not in _sockets():
        raise Unavailable(f'{name} has no socket')
    with contextlib.closing(_Session(name, _deadline())) as session:
        return session.ask(command)[1]


def _begin(session, command):
    """Run a command that changes nothing yet."""
    status, said = session.ask(command)
    if status != _SUCCESS:
        raise Unavailable(f'{command}: {said}')


def _answering(deadline):
    """Names of the daemons; all have to answer.

    What one takes while another hangs would not reach the fabric, and a
    withdrawal would be believed that is none.
    """
    found = set()
    for name in daemons():
        try:
            with contextlib.closing(_Session(name, deadline)) as session:
                _begin(session, 'enable')
        except ConnectionError:
            # It has ended since.
            continue
        found.add(name)
    return found


def _sockets():
    conf = _conf()
    if conf.vtysh_wrapper:
        # FRR is in a container; there may be another one on this node.
        raise Unavailable('configured to use vtysh')
    try:
        return [entry.removesuffix(_SUFFIX)
                for entry in os.listdir(conf.frr_run_dir)
                if entry.endswith(_SUFFIX)]
    except OSError as error:
        raise Unavailable(str(error)) from error


def _deadline():
    return time.monotonic() + _conf().vtysh_timeout


def _conf():
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    return cfg.CONF.frr


class _Session:
    """Connection to one daemon.

    :param name: of the daemon
    :param deadline: monotonic time until which it has to have answered all
    :raises OSError: when it takes no connections
    """

    def __init__(self, name, deadline):
        self._name = name
        self._deadline = deadline
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._in_time(self._socket.connect, os.path.join(
                _conf().frr_run_dir, name + _SUFFIX))
        except BaseException:
            self.close()
            raise

    def ask(self, command):
        """Run a command.

        :returns: (status, text)
        :raises OSError: when there is no answer
        """
        self._in_time(self._socket.sendall, command.encode() + b'\0')
        answer = b''
        while answer[-4:-1] != _MARK:
            data = self._in_time(self._socket.recv, 65536)
            if not data:
                raise ConnectionResetError(
                    errno.ECONNRESET, f'{self._name} of FRR has ended')
            answer += data
        status, said = answer[-1], answer[:-4].decode(errors='replace')
        if status != _SUCCESS and not said.strip():
            said = f'status {status} of {self._name}'
        return status, said.strip()

    def close(self):
        self._socket.close()

    def _in_time(self, function, argument):
        # None of them may wait for ever, and zero would mean not to wait.
        left = max(0.001, self._deadline - time.monotonic())
        self._socket.settimeout(left)
        try:
            return function(argument)
        except (TimeoutError, BlockingIOError) as error:
            raise TimeoutError(
                errno.ETIMEDOUT, f'{self._name} of FRR did not answer within '
                f'{_conf().vtysh_timeout} s: it hangs, or somebody else '
                'holds its configuration lock') from error
