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

"""Console script ovn-network-agent-ctl: commands to the running agent."""

import argparse
import json
import sys
import time

from oslo_config import cfg

from ovn_network_agent import version
from ovn_network_agent.conf import base
from ovn_network_agent.conf import opts
from ovn_network_agent.control import client
from ovn_network_agent.control import text
from ovn_network_agent.control import waiting

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_WAITED = 3
EXIT_NOT_RUNNING = 4

PROGRAM = 'ovn-network-agent-ctl'
# Seconds for one answer; the agent waits less than this for its databases.
_ANSWER = 60.0
# Seconds between two questions with --wait, and the default of its limit.
_INTERVAL = 0.5
_WAIT = 300.0

_EPILOG = """\
exit status: 0 done; 1 refused or failed, the message says why; 2 the command
line or the configuration cannot be used; 3 with --wait: written, but not
carried out in time, the message says what is missing; 4 no agent runs
"""


def main(argv=None):
    """Run one command.

    :param argv: list of str, default sys.argv[1:]
    :returns: exit status, see the epilog of the help
    """
    given = _parser().parse_args(argv)
    try:
        path = given.socket or _configured(given)
        if not path:
            return _fail('[DEFAULT] control_socket is empty: this agent '
                         'takes no commands; set it, or give --socket',
                         EXIT_USAGE)
        return given.function(path, given)
    except client.NotRunning as e:
        return _fail(e, EXIT_NOT_RUNNING)
    except (client.NoAgent, client.Refused) as e:
        return _fail(e, EXIT_FAILED)
    except (cfg.Error, OSError, ValueError) as e:
        return _fail(f'configuration: {e}', EXIT_USAGE)
    except KeyboardInterrupt:
        return _fail('interrupted', EXIT_FAILED)


def _fail(message, status):
    print(f'{PROGRAM}: {message}', file=sys.stderr)
    return status


# -- the command line ---------------------------------------------------------


def _parser():
    parser = argparse.ArgumentParser(
        prog=PROGRAM, allow_abbrev=False, epilog=_EPILOG,
        description='Commands to the ovn-network-agent of this node.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--version', action='version',
                        version=f'{PROGRAM} {version.STRING}')
    parser.add_argument(
        '--socket', metavar='PATH', help='control socket of the agent; '
        'default: [DEFAULT] control_socket of its configuration')
    for option in ('--config-file', '--config-dir'):
        parser.add_argument(
            option, action='append', default=[], metavar='PATH',
            help='as for the agent, to find its control socket')
    commands = parser.add_subparsers(dest='command', required=True,
                                     metavar='COMMAND')
    drain = commands.add_parser(
        'drain', allow_abbrev=False, help='hand gateways over to other '
        'nodes, and keep them away')
    drain.add_argument('--force', action='store_true',
                       help='write it also where no other candidate is '
                       'ready: what nobody can take over goes later')
    undrain = commands.add_parser(
        'undrain', allow_abbrev=False,
        help='be a candidate again; nothing moves back by itself')
    for each in (drain, undrain):
        each.add_argument(
            '--router', action='append', default=[], metavar='ROUTER',
            help='only this router: its UUID or its name, in Neutron or in '
                 'OVN; may be given several times; default: all')
        each.add_argument('--wait', action='store_true',
                          help='until it is carried out')
        each.add_argument('--timeout', type=_seconds, default=_WAIT,
                          metavar='SECONDS', help='for --wait, %(default)g '
                          'by default')
        each.set_defaults(function=_change)
    status = commands.add_parser(
        'status', allow_abbrev=False, help='what the agent does, and where '
        'the gateways are')
    status.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    status.set_defaults(function=_status)
    return parser


def _seconds(value):
    try:
        number = float(value)
    except ValueError:
        number = 0
    if not 0 < number < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{value!r} is not a number of seconds above 0')
    return number


def _configured(given):
    """The control socket of the agent's configuration, a path."""
    conf = cfg.ConfigOpts()
    conf.register_opts([option for option in base.OPTS
                        if option.name == 'control_socket'])
    files = []
    for name in ('config_file', 'config_dir'):
        for path in getattr(given, name):
            files += ['--' + name.replace('_', '-'), path]
    conf(args=files, project=opts.PROJECT, prog=opts.PROJECT)
    return conf.control_socket


# -- commands -----------------------------------------------------------------


def _status(path, given):
    argv = ['--json'] if given.json else []
    sys.stdout.write(client.call(path, 'status', argv, _ANSWER))
    if given.json:
        print()
    return EXIT_OK


def _change(path, given):
    argv = ['--json']
    for router in given.router:
        argv += ['--router', router]
    if getattr(given, 'force', False):
        argv.append('--force')
    deadline = time.monotonic() + given.timeout
    done = json.loads(client.call(path, given.command, argv, _ANSWER))
    sys.stdout.write(text.of_change(done))
    sys.stdout.flush()
    return _wait(path, done, deadline) if given.wait else EXIT_OK


def _wait(path, done, deadline):
    """Wait until a command is carried out; returns the exit status."""
    said = None
    while True:
        missing = _missing(path, done, deadline)
        if not missing:
            print(f'{done["command"]}: carried out')
            return EXIT_OK
        if missing != said:
            print(f'waiting: {"; ".join(missing)}', flush=True)
            said = missing
        left = deadline - time.monotonic()
        if left <= 0:
            return _fail('written, but not carried out in time: '
                         f'{"; ".join(missing)}', EXIT_WAITED)
        time.sleep(min(_INTERVAL, left))


def _missing(path, done, deadline):
    """The steps that a command still waits for, a list of str."""
    limit = min(_ANSWER, max(1.0, deadline - time.monotonic()))
    try:
        return waiting.missing(done, json.loads(
            client.call(path, 'status', ['--json'], limit)))
    except client.NoAgent as e:
        # The agent may restart; the wish in the database stays.
        return [str(e)]


if __name__ == '__main__':
    sys.exit(main())
