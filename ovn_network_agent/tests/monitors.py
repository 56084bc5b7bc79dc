# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Programs that tell of changes as long as a test looks."""

import contextlib
import itertools
import subprocess
import tempfile

from ovn_network_agent.tests import waiting


@contextlib.contextmanager
def telling(argv, mark, pattern, env=None):
    """Have a program tell of changes, in their order.

    :param argv: the program and its arguments
    :param mark: function(number) that makes a change of which the program
        tells; the numbers grow
    :param pattern: compiled pattern that finds the number of each mark in
        the output, decimal or with 0x
    :param env: environment of the program, dict
    :returns: context with a function that returns the lines so far
    """
    numbers = itertools.count(1)
    with tempfile.NamedTemporaryFile('r') as told:
        with open(told.name, 'w') as writing:
            process = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=writing,
                stderr=writing)
        text = []

        def lines():
            first = next(numbers)

            def tells_of_a_mark():
                # When it tells of this, it has told what came before.
                mark(next(numbers))
                text.append(told.read())
                return any(int(seen, 0) > first for seen in
                           pattern.findall(''.join(text)))

            waiting.eventually(tells_of_a_mark, lambda: (
                f"a mark in what {argv[0]} tells: {''.join(text)}"))
            return ''.join(text).splitlines()

        try:
            lines()
            yield lines
        finally:
            process.kill()
            process.wait()
