# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the templates of the role for kolla-ansible become.

Values are rendered when a template asks for them, as Ansible does.  The
variables of kolla-ansible that the role uses are listed here, so a default of
the role that needs another one is an error.
"""

import functools
import json
import pathlib

import jinja2
from jinja2 import nativetypes
from jinja2 import runtime
import yaml

KOLLA = pathlib.Path(__file__).resolve().parents[4] / 'contrib' / 'kolla'
IMAGE = KOLLA / 'docker' / 'ovn-network-agent'
ROLE = KOLLA / 'ansible' / 'roles' / 'ovn_network_agent'

# With the defaults of kolla-ansible, but for addresses.
OF_KOLLA_ANSIBLE = {
    'container_config_directory': '/var/lib/kolla/config_files',
    'default_container_dimensions': {},
    'default_container_healthcheck_interval': 30,
    'default_container_healthcheck_retries': 3,
    'default_container_healthcheck_timeout': 30,
    'default_extra_volumes': [],
    'docker_common_options': {'graceful_timeout': 60, 'client_timeout': 120,
                              'restart_policy': 'unless-stopped'},
    'docker_image_url': 'quay.io/openstack.kolla/',
    'enable_container_healthchecks': True,
    'kolla_container_engine': 'docker',
    'kolla_copy_ca_into_containers': False,
    'network_interface': 'eth0',
    'neutron_bridge_name': 'br-ex',
    'node_config_directory': '/etc/kolla',
    'openstack_logging_debug': False,
    'openstack_tag': '2026.1',
    'ovn_nb_connection': 'tcp:192.0.2.1:6641,tcp:192.0.2.2:6641',
    'ovn_sb_connection': 'tcp:192.0.2.1:16641',
    'ovsdb_port': 6640,
}


def _bool(value):
    """Ansible's filter of that name."""
    return str(value).lower() in ('true', 'yes', 'on', '1')


FILTERS = {'bool': _bool, 'combine': lambda one, other: {**one, **other}}


class _Lazy(runtime.Context):
    """Variables that are templates themselves."""

    def resolve_or_missing(self, key):
        found = super().resolve_or_missing(key)
        if found is runtime.missing:
            return found
        return value(found, tuple(self.parent.items()))


def _environment(kind):
    made = kind(undefined=jinja2.StrictUndefined, trim_blocks=True,
                keep_trailing_newline=True)
    made.context_class = _Lazy
    made.filters.update(FILTERS)
    return made


NATIVE = _environment(nativetypes.NativeEnvironment)
TEXT = _environment(jinja2.Environment)


def value(template, variables):
    """A value with all its templates rendered.

    :param template: what YAML has, of any type
    :param variables: pairs of name and value
    """
    if isinstance(template, dict):
        return {name: value(one, variables) for name, one in template.items()}
    if isinstance(template, list):
        return [value(one, variables) for one in template]
    if not isinstance(template, str) or '{' not in template:
        return template
    return NATIVE.from_string(template.strip()).render(dict(variables))


@functools.cache
def defaults():
    """The defaults of the role as they are written."""
    return yaml.safe_load((ROLE / 'defaults' / 'main.yml').read_text())


class Role:
    """The role with some variables set.

    :param variables: name=value, as in globals.yml
    """

    def __init__(self, **variables):
        self._variables = {**OF_KOLLA_ANSIBLE, **defaults(), **variables}

    def __getitem__(self, name):
        return value(self._variables[name], tuple(self._variables.items()))

    def file(self, name):
        """Text of a template of the role."""
        template = (ROLE / 'templates' / name).read_text()
        return TEXT.from_string(template).render(self._variables)

    def config_json(self):
        """What kolla_set_configs reads."""
        return json.loads(self.file('ovn-network-agent.json.j2'))
