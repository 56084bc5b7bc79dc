# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Messages of pyroute2, without its sockets.

The message classes are the same in pyroute2 0.8 and 0.9, and need neither a
thread nor an event loop (decision record 0012).
"""

from collections.abc import Iterable
import re
import struct
import typing

from pyroute2.netlink import exceptions

#: number of decoded messages that a reader caches, see
#: :mod:`netlink.objects.links`
REMEMBERED = 4096

# A decoded message, or an attribute with others; pyroute2 has no types.
Message: typing.TypeAlias = typing.Any

_UNKNOWN = 'UNKNOWN'
_INTEGER = re.compile(r'(?:be|u?int)(?:8|16|32|64)')
# The exceptions of pyroute2 for a message that it cannot decode.
_MALFORMED = (struct.error, exceptions.NetlinkDecodeError)


def narrow(message: typing.Any, *wanted: str | tuple[typing.Any, ...],
           fields: tuple[tuple[str, str], ...] | None = None) -> typing.Any:
    """Make a message class of pyroute2 with few attributes and no header.

    Each attribute costs time to decode; :func:`is_narrow` tells whether a
    message has others than the wanted.

    :param wanted: names; or (number, name, type) or (number, name, type,
        flags) of an attribute that pyroute2 0.8 lacks, or decodes otherwise
    :param fields: of the family header, None for the message's own
    :raises KeyError: when pyroute2 has no such attribute
    """
    known = {name: (number, name, *rest)
             for number, name, *rest in _numbered(message.nla_map)}
    attributes = tuple(known[attribute] if isinstance(attribute, str)
                       else attribute for attribute in wanted)
    made = type(message.__name__, (message,), {
        '__slots__': (), 'header': None,
        'fields': message.fields if fields is None else fields,
        'nla_map': attributes,
        'integers': frozenset(name for _number, name, kind, *_flags
                              in attributes if _INTEGER.match(str(kind)))})
    # Else the class inherits the table of a parent that was used before.
    made().compile_nla_table()
    return made


def _numbered(nla_map: Iterable[tuple[typing.Any, ...]]
              ) -> list[tuple[typing.Any, ...]]:
    """The attributes of a class of pyroute2, each with its number."""
    return [entry if isinstance(entry[0], int) else (number, *entry)
            for number, entry in enumerate(nla_map)]


def encode(message: typing.Any,
           attributes: Iterable[tuple[str, typing.Any]] = (),
           **fields: typing.Any) -> bytes:
    """Body of a message; missing fields of the family header are 0."""
    made = message()
    made.update(fields)
    made['attrs'] = list(attributes)
    made.encode()
    return bytes(made.data)


def decode(message: typing.Any, data: bytes, start: int, end: int) -> Message:
    """A message from its body, whose start is a multiple of four.

    :raises ValueError: when pyroute2 cannot decode it
    """
    # pyroute2 would read what follows a body that is too short.
    found = message(data[:end], start, end - start)
    try:
        found.decode()
    except _MALFORMED as error:
        raise ValueError(f'netlink message of {end - start} bytes: '
                         f'{error!r}') from error
    # pyroute2 leaves an attribute of another size as bytes.
    for slot in found['attrs']:
        if slot.name in message.integers and type(slot.value) is not int:
            raise ValueError(f'netlink attribute {slot.name}: '
                             f'{slot.value!r} is no number')
    return found


def attributes(found: Message | bytes) -> dict[str, typing.Any]:
    """Attributes by name; of a repeated name, the last attribute counts.

    Bytes that are not of an attribute's type stay bytes.

    :raises ValueError: for an attribute without nested ones
    """
    if isinstance(found, bytes):
        raise ValueError(f'{found!r} are no nested netlink attributes')
    return {slot.name: slot.value for slot in found['attrs']
            if slot.name != _UNKNOWN}


def is_narrow(found: Message) -> bool:
    """Whether a message has only attributes of its class."""
    return all(slot.name != _UNKNOWN for slot in found['attrs'])
