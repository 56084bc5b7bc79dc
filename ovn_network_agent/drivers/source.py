# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The interface of a source: from rows of OVN to subjects of a new kind."""

import abc
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import ClassVar
from typing import Protocol
from typing import TypeVar

#: Its database, 'nb' or 'sb', and its name.  For sources of the core, files of
#: an operator are tables of the database 'file'.
Place = tuple[str, str]

_Result = TypeVar('_Result')


class Find(Protocol):
    """Finds the rows of a table that have a key in an index."""

    def ask(self, function: Callable[..., _Result],
            *arguments: Hashable) -> _Result:
        """The result of function(find, *arguments), FIND being this object.

        Made again when a row has changed that the function has found, or would
        find now.  It must be the same object each time; results need ``==``.
        """

    def __call__(self, database: str, table: str, index: str,
                 key: Hashable) -> list[Any]:
        """The rows, in the order of their UUIDs."""


class Source(abc.ABC):
    """Turns rows of OVN into the subjects of one kind.  Pure, as a driver.

    The core makes a subject again when a row has changed that the source has
    found, or would find now.
    """

    #: The class of the subjects: frozen, with ``==``.
    KIND: ClassVar[type]
    #: The indexes of each table: functions of a row that give its keys.
    INDEXES: ClassVar[Mapping[Place, Mapping[
        str, Callable[[Any], Iterable[Hashable]]]]]
    #: Database, table and index whose keys, text, name the subjects.
    NAMES: ClassVar[tuple[str, str, str]]
    #: Further ones.
    MORE_NAMES: ClassVar[tuple[tuple[str, str, str], ...]] = ()

    @abc.abstractmethod
    def build(self, name: str, find: Find) -> object | None:
        """The subject of a name, None if there is none.

        The source reads rows that FIND gives, and those that they refer to
        only if the references cannot change without the row.
        """
