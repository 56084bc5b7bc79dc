# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A file with a list of entries, of which a flaw costs one."""

import abc
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
from ovn_network_agent.files import reading

if typing.TYPE_CHECKING:
    from ovn_network_agent.files import document as documents


class Keyed(Protocol):
    """A row with its key."""

    @property
    def uuid(self) -> str:
        """The key."""


_Row = TypeVar('_Row', bound=Keyed)
#: Path, value and text of a flaw.
Objection = tuple[file_problems.Path, object, str]


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


def parse(content: bytes, name: str, schema: Mapping[str, Any],
          parser: type[EntryParser[_Row]], cost: str) -> Content[_Row]:
    """The rows in the content of a file with one list.

    :param schema: has one property, the list
    :param cost: what a flaw costs, the end of a message
    :raises file_problems.BadFile: when the file cannot be used at all
    """
    document = reading.parse(content, name)
    found = [*document.flaws, *reading.check(document, schema)]
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
