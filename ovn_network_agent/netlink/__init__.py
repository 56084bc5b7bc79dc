# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The parts of netlink that the agent needs.

They import only the model and modules of the root. Dumps need no privileges
and run in the agent; changes run on the privileged side.

A function that asks the kernel raises OSError when the kernel refuses or does
not answer. One that decodes raises ValueError when a length does not fit, and
one that encodes when a text is malformed.

An import of any module of pyroute2 loads all others, 0.1 s and 10 MiB in each
process, of which the agent needs a tenth. So an empty package takes its place,
until other code asks for a name that is no module, such as IPRoute.
"""

import importlib.util
import sys
import types
import typing

_NAME = 'pyroute2'


class _Package(types.ModuleType):
    """The package until other code asks for a name that is no module."""

    def __getattr__(self, name: str) -> typing.Any:
        if name.startswith('__') and name != '__version__':
            # The import system asks for names that may be missing.
            raise AttributeError(name)
        module = f'{_NAME}.{name}'
        if importlib.util.find_spec(module) is not None:
            return importlib.import_module(module)
        # A module of another class may become a plain one again, and the spec
        # is the one that was found.
        self.__class__ = types.ModuleType  # type: ignore[assignment]
        self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
        return getattr(self, name)


def _prepare() -> None:
    """Put the empty package in place, unless pyroute2 is loaded already.

    :raises ModuleNotFoundError: when pyroute2 is not installed
    """
    if _NAME in sys.modules:
        return
    spec = importlib.util.find_spec(_NAME)
    if spec is None:
        raise ModuleNotFoundError(f'No module named {_NAME!r}', name=_NAME)
    package = importlib.util.module_from_spec(spec)
    package.__class__ = _Package
    sys.modules[_NAME] = package


# This comes before the first import of a module of pyroute2.
_prepare()
