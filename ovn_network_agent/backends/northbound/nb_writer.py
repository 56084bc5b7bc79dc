# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The common parts of the backends that write to OVN NB."""

from ovn_network_agent.backends.northbound import ovsdb_writer


class Writer(ovsdb_writer.Writer):
    """A backend of rows in NB, see :class:`ovsdb_writer.Writer`."""

    database = 'nb'
