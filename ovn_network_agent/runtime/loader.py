# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Loading drivers and backends through stevedore.

stevedore only warns of a missing, broken or doubled driver, which would leave
a gateway node half configured: here each is an error.  It would also read the
metadata of all packages again, or take a copy from the home directory of the
agent's user, and load all plugins to tell their names.
"""

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
from importlib import metadata
from typing import TYPE_CHECKING
from typing import Any
from typing import NoReturn
from typing import TypeAlias

from oslo_config import cfg
from stevedore import extension
from stevedore import named

from ovn_network_agent import resources
from ovn_network_agent.backends import base as backends
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf import settings
from ovn_network_agent.conf import validate
from ovn_network_agent.drivers import base as drivers
from ovn_network_agent.engine import contributions
from ovn_network_agent.ovn import sources
from ovn_network_agent.runtime.process import mode

DRIVERS = 'ovn_network_agent.drivers'
BACKENDS = 'ovn_network_agent.backends'
# The kinds of statements, and the default.
_NO_KINDS = (resources.Resource.kind, resources.Keep.kind,
             resources.Problem.kind)
# The oldest stevedore has no generic classes.
_Extension: TypeAlias = 'extension.Extension[Any]'
if TYPE_CHECKING:
    _NamedManager = named.NamedExtensionManager[Any]
else:
    _NamedManager = named.NamedExtensionManager
# Of a section and an option, see conf.settings.
Read = Callable[[str, str], Any]


class LoadError(Exception):
    """A plugin cannot be used; the text names it, and the remedy."""


class _Manager(_NamedManager):
    """Loads plugins by name, among the given entry points."""

    def __init__(self, namespace: str, points: list[metadata.EntryPoint],
                 names: Sequence[str], **callbacks: Any) -> None:
        self._points = points
        super().__init__(namespace, names, name_order=True, **callbacks)

    def list_entry_points(self) -> list[metadata.EntryPoint]:
        return self._points


def load_drivers(conf: cfg.ConfigOpts) -> list[drivers.Driver]:
    """The drivers of ``[DEFAULT] drivers`` with a use, in that order.

    :raises LoadError: when a driver cannot be used
    """
    names = list(conf.drivers)
    doubled = sorted({n for n in names if names.count(n) > 1})
    if doubled:
        raise LoadError(f'drivers = {",".join(names)}: {",".join(doubled)} is '
                        'named twice; name it once')
    points = _points(DRIVERS)
    made = [_create_driver(conf, ext)
            for ext in _load(DRIVERS, points, names)]
    used = [driver for driver in made if driver is not None]
    try:
        check_sources(used)
    except ValueError as e:
        raise LoadError(str(e)) from e
    return used


def _used(conf: cfg.ConfigOpts, plugin: Any, known: Any) -> bool:
    """One that cannot tell counts as used: making it reports the error."""
    return (not hasattr(plugin, 'runs_without_ovn') or
            mode.uses(conf, plugin, known))


def _create_driver(conf: cfg.ConfigOpts, ext: _Extension
                   ) -> drivers.Driver | None:
    _register('driver', conf, ext)
    with _reported('driver', ext, 'declares what cannot be used'):
        check_other_options(ext.plugin)
        known = settings.driver_settings(
            settings.live(conf), ext.name, ext.plugin)
    if not _used(conf, ext.plugin, known):
        return None
    driver: drivers.Driver = _create(
        'driver', ext, drivers.Driver, ext.name, known)
    with _reported('driver', ext, 'declares what cannot be used'):
        check_driver(driver)
    return driver


def renewed(loaded: Iterable[drivers.Driver], read: Read
            ) -> list[drivers.Driver]:
    """Drivers with the settings that the options give them now.

    :raises LoadError: when a driver refuses its settings
    """
    return [_renewed(driver, read) for driver in loaded]


def _renewed(driver: drivers.Driver, read: Read) -> drivers.Driver:
    known = settings.driver_settings(read, driver.name, type(driver))
    if known == driver.settings:
        return driver
    try:
        return type(driver)(driver.name, known)
    except Exception as e:
        raise LoadError(f'driver {driver.name} refuses its options: '
                        f'{type(e).__name__}: {e}') from e


def _create_backend(conf: cfg.ConfigOpts, ext: _Extension
                    ) -> backends.Backend:
    _register('backend', conf, ext)
    backend: backends.Backend = _create(
        'backend', ext, backends.Backend, conf)
    backend.name = backend.name or ext.name
    with _reported('backend', ext, 'declares what cannot be used'):
        check_backend(ext.name, backend)
    return backend


def _register(what: str, conf: cfg.ConfigOpts, ext: _Extension
              ) -> None:
    options = getattr(ext.plugin, 'CONFIG_OPTS', ())
    if not options:
        return
    with _reported(what, ext, 'has options that cannot be registered'):
        conf.register_opts(options, group=ext.name)
    values = conf[ext.name]
    wrong = [*validate.bad_values_of(ext.name, values)]
    wrong = wrong or [*validate.unset_in(ext.name, options, values)]
    if wrong:
        raise LoadError('; '.join(wrong))


@contextlib.contextmanager
def _reported(what: str, ext: _Extension, failure: str) -> Iterator[None]:
    try:
        yield
    except Exception as e:
        raise LoadError(f'{what} {ext.name} ({ext.entry_point_target}) '
                        f'{failure}: {type(e).__name__}: {e}') from e


def _create(what: str, ext: _Extension, base: type, *args: Any) -> Any:
    with _reported(what, ext, 'failed to start'):
        made = ext.plugin(*args)
    if not isinstance(made, base):
        raise LoadError(f'{what} {ext.name} ({ext.entry_point_target}) is not '
                        f'a {base.__module__}.{base.__name__}')
    return made


def load_backends(conf: cfg.ConfigOpts) -> list[backends.Backend]:
    """The installed backends with a use in this mode, by name.

    :raises LoadError: when a backend cannot be used
    """
    points = _points(BACKENDS)
    made = [_create_backend(conf, ext)
            for ext in _load(BACKENDS, points, sorted(_names(points)))
            if _used(conf, ext.plugin, conf)]
    for kind, names in owners_of(made).items():
        if len(names) > 1:
            raise LoadError(f'the kind {kind} belongs to the backends '
                            f'{", ".join(names)}; uninstall one of them')
    return made


def check_names(names: Collection[str]) -> None:
    """Check that drivers are installed, without loading any.

    :raises LoadError: when a driver is not installed
    """
    known = sorted(_names(_points(DRIVERS)))
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise _missing(DRIVERS, names, unknown, known)


def _missing(namespace: str, names: Iterable[str], unknown: Iterable[str],
             known: Iterable[str]) -> LoadError:
    absent = ','.join(sorted(unknown))
    return LoadError(
        f'drivers = {",".join(names)}: no such plugin {absent} in '
        f'{namespace}; there are {", ".join(known)}')


def _points(namespace: str) -> list[metadata.EntryPoint]:
    return list(plugins.everything().select(group=namespace))


def _names(points: list[metadata.EntryPoint]) -> set[str]:
    return {point.name for point in points}


def _load(namespace: str, points: list[metadata.EntryPoint],
          names: Sequence[str]) -> list[_Extension]:
    def failed(_manager: object, entry_point: metadata.EntryPoint,
               error: BaseException) -> NoReturn:
        raise LoadError(f'{namespace} {entry_point.name} '
                        f'({entry_point.value}) cannot be loaded: '
                        f'{type(error).__name__}: {error}') from error

    def missing(unknown: Iterable[str]) -> NoReturn:
        raise _missing(namespace, names, unknown, sorted(_names(points)))

    _refuse_doubles(namespace, points, names)
    return list(_Manager(namespace, points, names,
                         on_load_failure_callback=failed,
                         on_missing_entrypoints_callback=missing))


def _refuse_doubles(namespace: str, points: list[metadata.EntryPoint],
                    names: Iterable[str]) -> None:
    for name in sorted(set(names)):
        same = [point for point in points if point.name == name]
        if len(same) > 1:
            providers = ', '.join(
                f'{p.value} of {p.dist.name if p.dist else "no package"}'
                for p in same)
            raise LoadError(f'{namespace} {name} is provided twice: '
                            f'{providers}; uninstall one of them')


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


def check_backend(name: str, backend: backends.Backend) -> None:
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


def owners_of(backends: Iterable[backends.Backend]) -> dict[str, list[str]]:
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
