# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is fuzzed: a function of bytes, and the errors that it may raise."""

import contextlib
import dataclasses


@dataclasses.dataclass(frozen=True)
class Target:
    """A parser of foreign text or bytes, or an entry point.

    :ivar name: name, also of the file of the corpus
    :ivar function: function of bytes; any result is right.  An assertion
        there is a property of the result
    :ivar errors: tuple of the documented exceptions
    :ivar modules: names of the modules below ovn_network_agent whose parsers
        the target calls
    :ivar words: tuple of bytes that mean something in such an input
    :ivar json: whether inputs are JSON, and are changed as values
    :ivar values: further values for inputs in JSON
    :ivar world: context manager that prepares the process, once
    :ivar root: whether the world needs root
    :ivar share: how many times as many inputs as other targets get
    """

    name: str
    function: object
    errors: tuple
    modules: tuple
    words: tuple = ()
    json: bool = False
    values: tuple = ()
    world: object = contextlib.nullcontext
    root: bool = False
    share: float = 1.0
