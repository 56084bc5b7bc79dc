# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The command: ``python3 -m lab``."""

import argparse
import os
import shlex
import signal
import sys

from lab import boot
from lab import console
from lab import kernel
from lab import running
from lab import terminal


def _interrupt(_number, _frame):
    """SIGTERM ends the command in good order, like Ctrl-C."""
    raise KeyboardInterrupt


def _command(args):
    """The words of the command; a "--" before them is optional."""
    return args.argv[1:] if args.argv[:1] == ['--'] else args.argv


def _run(args):
    return boot.run(_command(args), args.mem, args.rw, args.interactive,
                    args.verbose, log=args.log)


def _up(args):
    argv = [sys.executable, '-W', 'ignore', '-m', 'lab.up', '--gateways',
            str(args.gateways), '--computes', str(args.computes)]
    if args.agents:
        argv.append('--agents')
    return boot.run(argv, args.mem)


def _kernel(args):
    if args.ready:
        return 0 if kernel.ready() else 1
    print(kernel.choose())
    return 0


def _list(_args):
    for one in running.labs():
        try:
            nodes = ' '.join(terminal.names(one['socket'])) or 'none'
        except running.NotRunning as e:
            nodes = f'not known: {e}'
        command = shlex.join(one['argv']).partition('\n')[0]
        print(f'{one["name"]}  pid {one["pid"]:d}  {command[:70]}\n'
              f'    nodes: {nodes}')
    return 0


def _session(args, argv, interactive):
    """Run a session; like ssh, 255 is an error of the session itself."""
    try:
        return terminal.session(running.find(args.lab)['socket'], args.node,
                                argv, interactive)
    except running.NotRunning as e:
        print(f'lab: {e}', file=sys.stderr)
        return 255
    except BrokenPipeError:
        # The reader of the output is gone; Python's last flush must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + signal.SIGPIPE


def _enter(args):
    if not sys.stdin.isatty():
        raise running.NotRunning('"enter" needs a terminal; there is "exec"')
    return _session(args, _command(args) or ['bash'], True)


def _exec(args):
    if not _command(args):
        raise running.NotRunning('"exec" needs a command')
    return _session(args, _command(args), False)


def _down(args):
    running.end(running.find(args.lab))
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog='lab', description='A cloud of separate nodes in one program.')
    commands = parser.add_subparsers(dest='command', required=True)
    machine = argparse.ArgumentParser(add_help=False)
    machine.add_argument('--mem', default='3G', help='memory of the machine')
    which = argparse.ArgumentParser(add_help=False)
    which.add_argument('--lab', metavar='NAME',
                       help='which one, where several are running')

    run = commands.add_parser(
        'run', parents=[machine],
        help='run a command as root in a new lab machine')
    run.add_argument('--rw', action='append', default=[], metavar='DIR',
                     help='directory of the host that stays writable')
    run.add_argument('--verbose', action='store_true',
                     help='show the messages of the kernel')
    run.add_argument('--log', metavar='FILE',
                     help='keep the messages of the kernel in this file')
    run.add_argument('-i', '--interactive', action='store_true',
                     help='give the command this terminal')
    run.add_argument('argv', nargs=argparse.REMAINDER, metavar='COMMAND')
    run.set_defaults(function=_run)
    up = commands.add_parser('up', parents=[machine],
                             help='boot a cloud and stay')
    up.add_argument('--gateways', type=int, default=2, choices=(1, 2, 3))
    up.add_argument('--computes', type=int, default=1, choices=(1, 2))
    up.add_argument('--agents', action='store_true',
                    help='start the agent on the gateways')
    up.set_defaults(function=_up)
    enter = commands.add_parser(
        'enter', parents=[which], help='a shell in a node of a running lab')
    enter.add_argument('node')
    enter.add_argument('argv', nargs=argparse.REMAINDER,
                       metavar='COMMAND')
    enter.set_defaults(function=_enter)
    shell = commands.add_parser(
        'shell', parents=[which],
        help='a shell in the machine, outside of all nodes')
    shell.set_defaults(function=_enter, node=console.MACHINE, argv=[])
    execute = commands.add_parser(
        'exec', parents=[which], help='run a command in a node')
    execute.add_argument('node')
    execute.add_argument('argv', nargs=argparse.REMAINDER,
                         metavar='COMMAND')
    execute.set_defaults(function=_exec)
    for name, function, text in (
            ('down', _down, 'end a running lab'),
            ('list', _list, 'the running labs and their nodes'),
            ('kernel', _kernel, 'build the kernel, print its path')):
        one = commands.add_parser(
            name, help=text, parents=[which] if name == 'down' else [],
            aliases=['ps'] if name == 'list' else [])
        one.set_defaults(function=function)
        if name == 'kernel':
            one.add_argument('--ready', action='store_true',
                             help='only tell, by the exit status, whether '
                             'there is one that need not be built')
    return parser


# Exit status when the machine itself ended: EX_SOFTWARE of sysexits.h.
DIED = 70


def main():
    """Run the command of the command line; returns the exit status."""
    args = _parser().parse_args()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return args.function(args)
    except boot.MachineDied as e:
        print(f'lab: {e}', file=sys.stderr)
        return DIED
    except (boot.BootError, kernel.KernelError, running.NotRunning,
            OSError) as e:
        print(f'lab: {e}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
