# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Console script ovn-network-agent-migrate: settings of the original, ours."""

import argparse
import sys

from ovn_network_agent import version
from ovn_network_agent.ctl import program
from ovn_network_agent.migrate import command

_DESCRIPTION = f"""\
Reads the settings of the original program, which is written in Go and has the
same name, and writes them as the configuration of this agent. The sources are
the YAML file, the file of environment variables, and the flags of the original
after "--". A flag wins over a variable, and a variable wins over the YAML
file. Without --config and --environment-file the usual files are read, if they
are there: {command.YAML} and
{command.ENVIRONMENT}.
"""
_EPILOG = """\
exit status: 0: done, and the agent would start with the result. 1: a file is
there already, or cannot be written. 2: the command line or a source cannot be
used; nothing is written. 3: written, but the agent would not start with the
result on this node; the messages say why.
"""


def main(argv: list[str] | None = None) -> int:
    """Convert the settings; the help has the exit statuses."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    own, original = arguments, []
    if '--' in arguments:
        place = arguments.index('--')
        own, original = arguments[:place], arguments[place + 1:]
    args = parser().parse_args(own)
    args.original = original
    status: int = command.run(args)
    return status


def parser() -> program.Parser:
    """The command line, a :class:`program.Parser`."""
    made = program.Parser(
        prog=command.PROGRAM, description=_DESCRIPTION, epilog=_EPILOG,
        usage='%(prog)s [OPTION]... [-- FLAG-OF-THE-ORIGINAL...]',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument('--version', action='version',
                      version=f'{command.PROGRAM} {version.STRING}',
                      help='show the version of the program, and exit')
    made.add_argument('--config', metavar='FILE',
                      help='YAML file of the original')
    made.add_argument('--environment-file', metavar='FILE',
                      help='file with variables OVN_NETWORK_... of the '
                      'original')
    made.add_argument('--output', metavar='DIR',
                      help='directory that gets the files; without this '
                      'option they go to standard output')
    made.add_argument('--rules-file', metavar='PATH',
                      help='path of the file of port forwards; default: '
                      f'{command.RULES} in the directory of --output, or in '
                      f'{command.FOLDER}')
    made.add_argument('--force', action='store_true',
                      help='replace files that are there')
    return made


if __name__ == '__main__':
    sys.exit(main())
