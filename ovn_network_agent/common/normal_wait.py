# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What has not come yet, although nothing has failed so far: normal waits.

The loop makes its first pass before the databases are loaded, and asks the
servers before it withdraws many addresses: a warning would frighten operators.
After a failed attempt, or USUAL, it is a failure like any other.
"""


# Seconds for which a wait may be a normal one.
USUAL = 10.0


class NotYet(Exception):
    """A system has still to send what it usually sends soon."""


class Reason(str):
    """The reason for a normal wait: it is logged, and is no warning."""


def reason(error: BaseException, text: str | None = None) -> str:
    """The text of an error, a :class:`Reason` if it or its cause is a wait.

    :param text: text around that of the error, None for that of the error
    """
    waits = any(isinstance(each, NotYet)
                for each in (error, error.__cause__))
    return (Reason if waits else str)(error if text is None else text)


def like(why: str, text: str) -> str:
    """A text that has a reason in it, a :class:`Reason` if that is one."""
    return (Reason if isinstance(why, Reason) else str)(text)
