# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of a plugin's declarations, before the agent uses it.

Otherwise a wrong one would silently have no effect.
"""

from collections.abc import Collection
from collections.abc import Iterable
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.conf import plugins
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.engine import contributions
from ovn_network_agent.ovn import sources

# The kinds of statements, and the default.
_NO_KINDS = (resources.Resource.kind, resources.Keep.kind,
             resources.Problem.kind)


def check_other_options(plugin: object) -> None:
    """Look at which options a driver reads beside its own section.

    :raises TypeError: when it is no tuple
    """
    _check_tuple('OTHER_OPTIONS', getattr(plugin, 'OTHER_OPTIONS', ()))


def check_driver(driver: drivers.Driver) -> None:
    """Check the declarations of a driver.

    :raises TypeError: when a value is of the wrong type
    :raises ValueError: when a value is unknown
    """
    _check_tuple('ASKS', driver.ASKS)
    _check_known('ASKS', driver.ASKS, plugins.SERVICES)
    _check_tuple('SUBJECTS', driver.SUBJECTS)
    _check_tuple('SOURCES', driver.SOURCES)
    own = {*contributions.KINDS, *sources.OF_MODEL}
    kinds = {*own, *(each.KIND for each in driver.SOURCES)}
    for each in driver.SOURCES:
        if each.KIND in own:
            raise ValueError(f'KIND of the source {_path(each)} is '
                             f'{each.KIND!r}, which the agent makes itself; '
                             'give the source a class of its own')
    for kind in driver.SUBJECTS:
        if kind not in kinds:
            raise ValueError(f'SUBJECTS has {kind!r}, which is no kind of '
                             'subject; see drivers.base.Driver.resources')
    answers = type(driver).resources is not drivers.Driver.resources
    if bool(driver.SUBJECTS) is not answers:
        raise TypeError('it has no SUBJECTS for its method resources'
                        if answers else
                        'it has SUBJECTS and no method resources')
    for watch in driver.events():
        _check_watch(watch)


def check_sources(loaded: Iterable[drivers.Driver]) -> None:
    """Check that one source alone makes the subjects of a kind.

    Drivers may share one by naming the same class.

    :raises ValueError: when two sources have the same kind
    """
    known: dict[type, tuple[str, Any]] = {}
    for driver in loaded:
        for each in driver.SOURCES:
            name, first = known.setdefault(each.KIND, (driver.name, each))
            if first is not each:
                raise ValueError(
                    f'the sources {_path(first)} of driver {name} and '
                    f'{_path(each)} of driver {driver.name} both make '
                    f'subjects of the class {_path(each.KIND)}; remove one '
                    'of the drivers from [DEFAULT] drivers, or give each '
                    'source a class of its own')


def _path(named: Any) -> str:
    return f'{named.__module__}.{named.__qualname__}'


def _check_watch(watch: drivers.Watch) -> None:
    if not isinstance(watch, drivers.Watch):
        raise TypeError(f'events() has {watch!r}, which is not a '
                        'drivers.base.Watch')
    _check_known('database of a Watch', [watch.database], drivers.DATABASES)
    for field in ('columns', 'conditions', 'events', 'stale'):
        _check_tuple(f'{field} of a Watch', getattr(watch, field))
    _check_known('events of a Watch', watch.events, drivers.ALL_EVENTS)


def check_backend(name: str, backend: base.Backend) -> None:
    """Check the declarations of a backend.

    :raises TypeError: when a value is of the wrong type
    :raises ValueError: when a value cannot be used
    """
    if backend.name != name:
        raise ValueError(f'name is {backend.name!r}, but the entry point is '
                         f'called {name!r}; call both the same')
    for field in ('kinds', 'invalidates', 'doubted_by', 'revived_by'):
        _check_tuple(field, getattr(backend, field))
    if not backend.kinds:
        raise ValueError('kinds is empty; name the classes of its resources')
    for kind in backend.kinds:
        _check_kind(kind)


def _check_kind(kind: object) -> None:
    if not (isinstance(kind, type) and
            issubclass(kind, resources.Resource)):
        raise TypeError(f'kinds has {kind!r}, which is no class of resources')
    if kind.kind in _NO_KINDS:
        raise ValueError(f'the class {kind.__name__} has no kind of its own; '
                         f'it says {kind.kind!r}')
    if not isinstance(kind.stage, resources.Stage):
        raise TypeError(f'the stage of the class {kind.__name__} is '
                        f'{kind.stage!r}, which is no resources.Stage')


def owners_of(backends: Iterable[base.Backend]) -> dict[str, list[str]]:
    """Names of the backends of each kind."""
    owners: dict[str, list[str]] = {}
    for backend in backends:
        for kind in backend.kinds:
            owners.setdefault(kind.kind, []).append(backend.name)
    return owners


def _check_tuple(what: str, value: object) -> None:
    if isinstance(value, str) or not hasattr(value, '__iter__'):
        raise TypeError(f'{what} is {value!r}, which is no tuple')


def _check_known(what: str, found: Iterable[str], known: Collection[str]
                 ) -> None:
    unknown = [value for value in found if value not in known]
    if unknown:
        raise ValueError(f'{what}: {unknown[0]!r} is none of '
                         f'{", ".join(known)}')
