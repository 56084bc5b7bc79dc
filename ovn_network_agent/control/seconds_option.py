# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Options with a number of seconds, of commands and of the program."""

import argparse


def add_timeout(parser: argparse.ArgumentParser, default: float, what: str
                ) -> None:
    """Add the option --timeout; ``what`` says in the help what it is for."""
    parser.add_argument('--timeout', type=positive, default=default,
                        metavar='SECONDS',
                        help=f'{what}, %(default)g by default')


def positive(value: str) -> float:
    """An argument's seconds; argparse.ArgumentTypeError for others."""
    try:
        number = float(value)
    except ValueError:
        number = 0
    if not 0 < number < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{value!r} is not a number of seconds above 0')
    return number
