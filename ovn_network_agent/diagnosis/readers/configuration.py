# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The configuration of the agent, loaded for a diagnosis."""


from oslo_config import cfg

from ovn_network_agent.common import ip_text
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import validate


def load(files: list[str]) -> cfg.ConfigOpts:
    """Load the configuration as the agent does, and check it.

    It is cfg.CONF, which the modules that talk to FRR read.

    :param files: arguments that name files, see :func:`program.files`
    :raises cfg.Error: when a file cannot be read or parsed
    :raises ValueError: when a value cannot be used
    """
    conf = cfg.CONF
    opts.load(conf, files)
    try:
        validate.check(conf)
        if not all(map(_is_plain, (*conf.ovn.ovn_nb_remote,
                                   *conf.ovn.ovn_sb_remote,
                                   conf.ovs.ovsdb_connection))):
            # TLS and host names, which take long to import.
            from ovn_network_agent.ovsdb import streams
            streams.configure(conf)
    except validate.ConfigError as error:
        raise ValueError('; '.join(error.messages)) from error
    return conf


def _is_plain(remote: str) -> bool:
    """Whether python-ovs alone can open a remote well."""
    scheme, _colon, rest = remote.partition(':')
    if scheme == 'unix':
        return True
    try:
        ip_text.address(rest.rpartition(':')[0].strip('[]'))
    except ValueError:
        return False
    return scheme == 'tcp'
