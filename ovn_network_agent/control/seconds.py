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


"""Options with a number of seconds, of commands and of the program."""

import argparse


def add_timeout(parser, default, what):
    """Add the option --timeout.

    :param parser: argparse.ArgumentParser of a command
    :param default: seconds, float
    :param what: text of the help: what the time is for
    """
    parser.add_argument('--timeout', type=positive, default=default,
                        metavar='SECONDS',
                        help=f'{what}, %(default)g by default')


def positive(value):
    """The number of seconds that an argument names.

    :param value: text
    :returns: float above 0
    :raises argparse.ArgumentTypeError: for anything else
    """
    try:
        number = float(value)
    except ValueError:
        number = 0
    if not 0 < number < float('inf'):
        raise argparse.ArgumentTypeError(
            f'{value!r} is not a number of seconds above 0')
    return number
