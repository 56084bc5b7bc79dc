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

"""Messages of pyroute2, without its sockets.

pyroute2 says how a message looks, encodes and decodes it;
:mod:`netlink.connection` sends and receives it, many at once.  The classes
are the same in pyroute2 0.8 and 0.9, and need neither a thread nor an event
loop (ADR 0012).
"""

#: how many decoded messages a reader remembers, see :mod:`netlink.links`
REMEMBERED = 4096

_UNKNOWN = 'UNKNOWN'


def narrow(message, *wanted, fields=None):
    """A message class of pyroute2, with few attributes and no header.

    Decoding costs by the attribute.  The ones that are left out are still
    seen, see :func:`is_narrow`.

    :param message: class of pyroute2, a subclass of nlmsg
    :param wanted: names of attributes, str; or (number, name, type) or
        (number, name, type, flags) of one that pyroute2 0.8 does not have
        yet, or decodes otherwise
    :param fields: of the family header, where they are not the message's
    :returns: a class
    :raises KeyError: when pyroute2 has no such attribute
    """
    known = {name: (number, name, *rest)
             for number, name, *rest in _numbered(message.nla_map)}
    made = type(message.__name__, (message,), {
        '__slots__': (), 'header': None,
        'fields': message.fields if fields is None else fields,
        'nla_map': tuple(known[attribute] if isinstance(attribute, str)
                         else attribute for attribute in wanted)})
    # Now, and for itself: else it would take over the table of its parent,
    # if that was used before.
    made().compile_nla_table()
    return made


def _numbered(nla_map):
    """The attributes of a class of pyroute2, each with its number."""
    return [entry if isinstance(entry[0], int) else (number, *entry)
            for number, entry in enumerate(nla_map)]


def encode(message, attributes=(), **fields):
    """Body of a message.

    :param message: what :func:`narrow` returns
    :param attributes: iterable of (name, value)
    :param fields: of the family header; what is not named is 0
    :returns: bytes
    """
    made = message()
    made.update(fields)
    made['attrs'] = list(attributes)
    made.encode()
    return bytes(made.data)


def decode(message, data, start, end):
    """A message from its body.

    :param message: what :func:`narrow` returns
    :param data: bytes
    :param start: offset of the body, a multiple of four
    :param end: offset behind it
    :returns: the message, a dict of its header's fields
    """
    found = message(data, start, end - start)
    found.decode()
    return found


def attributes(found):
    """Attributes by name; the last one counts when a name is repeated.

    :param found: a message, or an attribute that holds others
    :returns: dict of str to what the type of the attribute is in Python;
        bytes when they are not of that type
    """
    return {slot.name: slot.value for slot in found['attrs']
            if slot.name != _UNKNOWN}


def is_narrow(found):
    """Whether a message has no attributes but those of its class."""
    return all(slot.name != _UNKNOWN for slot in found['attrs'])
