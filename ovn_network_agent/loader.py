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

"""Loading drivers and backends through stevedore.

Stevedore's defaults only warn.  A driver that is missing, broken or there
twice would leave a gateway half configured, so each of them is an error.
"""

from stevedore import exception
from stevedore import extension
from stevedore import named

DRIVERS = 'ovn_network_agent.drivers'
BACKENDS = 'ovn_network_agent.backends'


class LoadError(Exception):
    """A plugin cannot be used; the text names it, and the remedy."""


def load_drivers(conf):
    """The drivers named by ``[DEFAULT] drivers``, in that order.

    :returns: list of :class:`drivers.base.Driver`
    :raises LoadError:
    """
    names = conf.drivers
    doubled = sorted({n for n in names if names.count(n) > 1})
    if doubled:
        raise LoadError('drivers = %s: %s is named twice; name it once'
                        % (','.join(names), ','.join(doubled)))
    return [_create_driver(conf, ext) for ext in _load(DRIVERS, names)]


def _create_driver(conf, ext):
    if ext.plugin.CONFIG_OPTS:
        conf.register_opts(ext.plugin.CONFIG_OPTS, group=ext.name)
    try:
        return ext.plugin(ext.name, conf)
    except Exception as e:
        raise LoadError('driver %s (%s) failed to start: %s: %s' % (
            ext.name, ext.entry_point_target, type(e).__name__, e)) from e


def load_backends(conf):
    """All backends that are installed, in order of their names.

    :returns: list of :class:`backends.base.Backend`
    :raises LoadError:
    """
    names = sorted(extension.ExtensionManager(BACKENDS).entry_points_names())
    return [ext.plugin(conf) for ext in _load(BACKENDS, names)]


def _load(namespace, names):
    def failed(_manager, entry_point, error):
        raise LoadError('%s %s (%s) cannot be loaded: %s: %s' % (
            namespace, entry_point.name, entry_point.value,
            type(error).__name__, error)) from error

    def missing(unknown):
        known = sorted(_manager_names(namespace))
        raise LoadError('drivers = %s: no such plugin %s in %s; there are '
                        '%s' % (','.join(names), ','.join(sorted(unknown)),
                                namespace, ', '.join(known)))

    try:
        manager = named.NamedExtensionManager(
            namespace, names, name_order=True,
            on_load_failure_callback=failed,
            on_missing_entrypoints_callback=missing,
            conflict_resolver=extension.error_on_conflict)
    except exception.MultipleMatches as e:
        raise LoadError(str(e)) from e
    _refuse_doubles(namespace, manager)
    return list(manager)


def _refuse_doubles(namespace, manager):
    names = manager.names()
    doubled = sorted({n for n in names if names.count(n) > 1})
    for name in doubled:
        where = ', '.join(ext.entry_point_target for ext in manager
                          if ext.name == name)
        raise LoadError('%s %s is provided twice: %s; uninstall one of them'
                        % (namespace, name, where))


def _manager_names(namespace):
    return extension.ExtensionManager(namespace).entry_points_names()
