# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Errors in words for a person."""

import os


def text(error: BaseException) -> str:
    """An error without its type; an OSError without its number, with its path.

    Of another error without a text the name of its type.
    """
    if not isinstance(error, OSError) or not error.strerror:
        return str(error) or type(error).__name__
    if error.filename is None:
        return str(error.strerror)
    path = os.fsdecode(error.filename) if isinstance(
        error.filename, (str, bytes, os.PathLike)) else f'{error.filename}'
    return (f'{path} does not exist' if isinstance(error, FileNotFoundError)
            else f'{path}: {error.strerror}')


def named(error: BaseException) -> str:
    """As :func:`text`, with the type of an error that nobody expects."""
    ours = type(error).__module__.startswith('ovn_network_agent.')
    return text(error) if ours or isinstance(error, OSError) else (
        f'{type(error).__name__}: {error}')
