# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Reading YAML files of an operator: their checks, and their entries.

Each ``description`` of a schema names the right values, as the second half of
a message.
"""

import abc
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import typing
from typing import Any
from typing import Generic
from typing import Protocol
from typing import TypeVar

from ovn_network_agent.files import file_problems

if typing.TYPE_CHECKING:
    from ovn_network_agent.files import document as documents

# 10,000 VIPs take less, so a larger file is a mistake.
_LARGEST = 32 * 1024 * 1024


class Keyed(Protocol):
    """A row with its key."""

    @property
    def uuid(self) -> str:
        """The key."""


_Row = TypeVar('_Row', bound=Keyed)
#: Path, value and text of a flaw.
Objection = tuple[file_problems.Path, object, str]


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


def parse(content: bytes, name: str) -> 'documents.Document':
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


def check(document: 'documents.Document',
          schema: Mapping[str, Any]) -> list[file_problems.Flaw]:
    """Compare a document with a schema, in which all have a description."""
    # A seventh of the time of all imports, so not without files.
    import jsonschema
    validator = jsonschema.Draft202012Validator(schema)
    found: dict[tuple[file_problems.Path, int], file_problems.Flaw] = {}
    # A value that could not be read cannot be checked.
    known = {flaw.path for flaw in document.flaws}
    for error in validator.iter_errors(document.value):
        for flaw in _flaws(document, error, tuple(error.absolute_path)):
            # A value with several errors is reported once.
            if flaw.path not in known:
                found.setdefault((flaw.path, flaw.line), flaw)
    return list(found.values())


def _flaws(document: 'documents.Document', error: Any,
           path: file_problems.Path) -> Iterator[file_problems.Flaw]:
    if error.validator == 'additionalProperties':
        known = error.schema['properties']
        for key in error.instance.keys() - known.keys():
            yield file_problems.Flaw(
                document.line(path + (key,)), path + (key,),
                file_problems.NOTHING,
                f'this key is not known; {_alternative(path, key, known)}')
    elif error.validator == 'required':
        missing = [key for key in error.schema['required']
                   if key not in error.instance]
        for key in missing:
            wanted = error.schema['properties'][key]['description']
            yield file_problems.Flaw(
                document.line(path), path + (key,), file_problems.NOTHING,
                f'is missing; it has to be {wanted}')
    else:
        yield file_problems.Flaw(document.line(path), path, error.instance,
                                 _wrong(error))


def _alternative(path: file_problems.Path, key: str,
                 known: Collection[str]) -> str:
    if not path:
        return (f'this file has the one key "{", ".join(known)}", all other '
                'options are in the configuration of the agent')
    return file_problems.meant(key, known)


def _wrong(error: Any) -> str:
    value, wanted = error.instance, error.schema['description']
    if error.validator in ('maxItems', 'minItems') and value:
        return f'has {len(value)} items; it must be {wanted}'
    if value is None or error.validator == 'minItems':
        return f'is empty; it must be {wanted}'
    if isinstance(value, str) and _would_fit(error):
        return f'is text; it must be {wanted}: remove the quotes'
    if isinstance(value, str) and _is_number(error) and value:
        return f'is no decimal number; it must be {wanted}'
    return f'is not possible; it must be {wanted}'


def _is_number(error: Any) -> bool:
    return error.validator == 'type' and (
        error.validator_value in ('integer', 'number'))


def _would_fit(error: Any) -> bool:
    text = error.instance
    if error.validator == 'type' and error.validator_value == 'boolean':
        return text.lower() in ('true', 'false', 'yes', 'no', 'on', 'off')
    return _is_number(error) and text.isascii() and text.isdigit() and (
        text == '0' or text[0] != '0')


@dataclasses.dataclass(frozen=True, slots=True)
class Content(Generic[_Row]):
    """The rows in a file by their keys, and what has been left out."""

    rows: Mapping[str, _Row]
    flaws: tuple[str, ...] = ()


class EntryParser(abc.ABC, Generic[_Row]):
    """Makes rows of the entries of one file, in the order of the file."""

    def __init__(self, document: 'documents.Document') -> None:
        self.document = document

    @abc.abstractmethod
    def objections(self, path: file_problems.Path,
                   entry: Mapping[str, Any]) -> Iterable[Objection]:
        """What is wrong in an entry of the right shape."""

    @abc.abstractmethod
    def make(self, path: file_problems.Path,
             entry: Mapping[str, Any]) -> Iterator[_Row]:
        """The rows of an entry without flaws; each has its key as "uuid"."""


def schema_of_list(key: str, entry: Mapping[str, Any], many: str
                   ) -> dict[str, Any]:
    """The JSON schema of a file with one list.

    An empty file may be one that is being written, so it is no empty list.

    :param key: the only key of the file
    :param many: plural noun for the entries
    """
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'type': 'object',
        'description': f'a mapping with the one key "{key}"',
        'required': [key],
        'additionalProperties': False,
        'properties': {
            key: {'type': 'array', 'items': entry,
                  'description': f'a list of {many}, [] for none'}}}


def parse_entries(
        content: bytes, name: str, schema: Mapping[str, Any],
        parser: type[EntryParser[_Row]], cost: str) -> Content[_Row]:
    """The rows in the content of a file with one list.

    :param schema: has one property, the list
    :param cost: what a flaw costs, the end of a message
    :raises file_problems.BadFile: when the file cannot be used at all
    """
    document = parse(content, name)
    found = [*document.flaws, *check(document, schema)]
    if any(len(flaw.path) < 2 for flaw in found):
        raise file_problems.BadFile(flaw.say(name)
                                    for flaw in _in_order(found))
    wrong = {flaw.path[1] for flaw in found}
    rows: dict[str, _Row] = {}
    (key,) = schema['properties']
    made = parser(document)
    for index, entry in enumerate(document.value[key]):
        if index in wrong:
            continue
        path = (key, index)
        objections = [*dict.fromkeys(made.objections(path, entry))]
        found += [file_problems.Flaw(document.line(at), at, value, text)
                  for at, value, text in objections]
        for row in () if objections else made.make(path, entry):
            rows[row.uuid] = row
    return Content(rows, tuple(f'{flaw.say(name)}; {cost}'
                               for flaw in _in_order(found)))


def _in_order(found: Iterable[file_problems.Flaw]) -> list[file_problems.Flaw]:
    return sorted(found, key=lambda flaw: flaw.line)
