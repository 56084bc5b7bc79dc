# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Console script ovn-network-agent-ctl: commands to the running agent."""

import argparse
import sys

from ovn_network_agent.cmd import cleanup
from ovn_network_agent.control.socket import client
from ovn_network_agent.ctl import announce_method
from ovn_network_agent.ctl import diagnoses
from ovn_network_agent.ctl import drain
from ovn_network_agent.ctl import fleet
from ovn_network_agent.ctl import intents
from ovn_network_agent.ctl import program
from ovn_network_agent.ctl import report
from ovn_network_agent.ctl import running_agent
from ovn_network_agent.ctl import status

# In the order of the help.  Each module has add(commands), which adds its
# commands and sets "function", a function(given) that returns the exit status.
COMMANDS = (diagnoses, drain, status, fleet, intents, running_agent,
            announce_method, report, cleanup)

_EPILOG = """\
exit status: 0 done; 1 refused or failed, the message says why; 2 the command
line or the configuration cannot be used; 3 not carried out in time, the
message says what is missing: of "drain", "undrain" and "reload" with --wait,
of "resync" and of "announce-method"; 4 no agent runs; "health" and "plan" have
statuses of their own, see their --help; 5 and 6 of "explain": another node has
the address, nobody has it; 7 of "drain" with --wait: addresses remain here
"""


class _Version(argparse.Action):
    """Prints the version, which only this option has to look up."""

    def __call__(self, parser: argparse.ArgumentParser, *_values: object
                 ) -> None:
        from ovn_network_agent import version
        parser.exit(message=f'{program.NAME} {version.STRING}\n')


def main(argv: list[str] | None = None) -> int:
    """Run one command; the help has the exit statuses."""
    try:
        try:
            return _run(parser().parse_args(argv))
        finally:
            # Without this, the end of Python has a message about the reader.
            sys.stdout.flush()
    except BrokenPipeError:
        return program.broken_pipe()


def _run(args: argparse.Namespace) -> int:
    try:
        status: int = args.function(args)
        return status
    except BrokenPipeError:
        raise
    except program.NoSocket as e:
        return program.fail(e, program.USAGE)
    except client.NotRunning as e:
        return program.fail(e, program.NOT_RUNNING)
    except (client.NoAgent, client.Refused) as e:
        return program.fail(e, program.FAILED)
    except program.errors_of_configuration() as e:
        return program.fail(f'configuration: {e}', program.USAGE)
    except KeyboardInterrupt:
        return program.fail('interrupted', program.FAILED)


def parser() -> program.Parser:
    """The command line, a :class:`program.Parser`."""
    made = program.Parser(
        prog=program.NAME, epilog=_EPILOG,
        description='Operate the ovn-network-agent of this node.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument('--version', action=_Version, nargs=0,
                      help='show the version of the program, and exit')
    made.add_argument(
        '--socket', metavar='PATH', help='control socket of the agent; '
        'default: [DEFAULT] control_socket of its configuration, or '
        '/run/ovn-network-agent/control.ctl')
    for option in ('--config-file', '--config-dir'):
        made.add_argument(
            option, action='append', default=[], metavar='PATH',
            help='configuration of the agent, as for the agent itself')
    commands = program.Commands(made)
    for module in COMMANDS:
        module.add(commands)
    return made


if __name__ == '__main__':
    sys.exit(main())
