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
"""The command: ``python3 -m lab``."""

import argparse
import signal
import sys

from lab import boot
from lab import kernel


def _interrupt(_number, _frame):
    """SIGTERM ends what runs in good order, like Ctrl-C."""
    raise KeyboardInterrupt


def main():
    """Parse the command line and do it; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog='lab', description='A cloud of separate nodes in one program.')
    commands = parser.add_subparsers(dest='command', required=True)
    run = commands.add_parser(
        'run', help='run a command as root in a new lab machine')
    run.add_argument('--mem', default='3G', help='memory of the machine')
    run.add_argument('--rw', action='append', default=[], metavar='DIR',
                     help='directory of the host that stays writable')
    run.add_argument('--verbose', action='store_true',
                     help='show the messages of the kernel')
    run.add_argument('-i', '--interactive', action='store_true',
                     help='give the command this terminal')
    run.add_argument('argv', nargs='+', metavar='COMMAND')
    commands.add_parser('kernel', help='build the kernel, print its path')
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        if args.command == 'kernel':
            print(kernel.choose())
            return 0
        return boot.run(args.argv, args.mem, args.rw, args.interactive,
                        args.verbose)
    except (boot.BootError, kernel.KernelError) as e:
        print('lab: %s' % e, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
