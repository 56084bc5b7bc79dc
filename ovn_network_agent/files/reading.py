# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Reading a YAML file of an operator."""

import typing

from ovn_network_agent.files import file_problems

if typing.TYPE_CHECKING:
    from ovn_network_agent.files import document

# 10,000 VIPs take less, so a larger file is a mistake.
_LARGEST = 32 * 1024 * 1024


def read(path: str, option: str) -> bytes:
    """The content of a file that OPTION names.

    :raises file_problems.BadFile: when the file cannot be read
    """
    try:
        with open(path, 'rb') as opened:
            content = opened.read(_LARGEST + 1)
    except OSError as error:
        raise file_problems.BadFile([
            f'{path}: {error.strerror or error}; let the user of the agent '
            f'read it, or name another file in {option}'])
    if len(content) > _LARGEST:
        raise file_problems.BadFile([
            f'{path}: has more than {_LARGEST} bytes; is this the file that '
            f'{option} should name?'])
    return content


def parse(content: bytes, name: str) -> 'document.Document':
    """The document in the content of a file.

    :raises file_problems.BadFile: when it is no UTF-8
    """
    # A start without files does without the parser: 7 ms, 18 modules.
    from ovn_network_agent.files import document
    try:
        return document.parse(content.decode('utf-8-sig'))
    except UnicodeDecodeError as error:
        line = content.count(b'\n', 0, error.start) + 1
        raise file_problems.BadFile([
            f'{name}, line {line}: this is no UTF-8; save it as such'
        ]) from error
