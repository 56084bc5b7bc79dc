# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""[ovn]: the databases of OVN."""

from oslo_config import cfg

from ovn_network_agent.conf import types

GROUP = 'ovn'

OPTS = [
    cfg.Opt(
        'ovn_nb_remote', type=types.CommaList(types.OvsdbRemote()),
        default=[],
        # Also of ovn-bgp-agent; Neutron's name.
        deprecated_opts=[cfg.DeprecatedOpt('ovn_nb_connection',
                                           group=GROUP)],
        help='Northbound database: one remote, or a comma-separated list '
             'with all members of the cluster, like '
             '"ssl:192.0.2.1:6641,ssl:192.0.2.2:6641". Any member will do, '
             'not only the leader. Set this option together with '
             'ovn_sb_remote: with both empty the agent works without OVN and '
             'only forwards the ports in [port_forward] rules_file.'),
    cfg.Opt(
        'ovn_sb_remote', type=types.CommaList(types.OvsdbRemote()),
        default=[],
        # Neutron's name of it, and that of ovn-bgp-agent.
        deprecated_opts=[cfg.DeprecatedOpt('ovn_sb_connection',
                                           group=GROUP)],
        help='Southbound database: written like ovn_nb_remote. An OVSDB '
             'relay will do.'),
    cfg.StrOpt(
        'ovn_ssl_ca', default='',
        help='PEM file with the certificates of the authorities that may '
             'vouch for the servers of "ssl:" remotes. Without this file '
             'every authority that this system trusts may vouch, and the '
             'agent warns. A list of revoked certificates (CRL) in the same '
             'file is obeyed; then each of these authorities needs a present '
             'list there.'),
    cfg.StrOpt(
        'ovn_ssl_cert', default='',
        help='PEM file with the certificate of this client, and all '
             'certificates between this certificate and its authority. Set '
             'this option together with ovn_ssl_key. The agent reads the '
             'files again for each connection, so a renewed certificate needs '
             'no restart.'),
    cfg.StrOpt(
        'ovn_ssl_key', default='',
        help='PEM file with the private key of this client, without a '
             'password. The user of the agent must be able to read the file; '
             'its group and all others must not. An agent that was started '
             'as root has no privileges over files of other users: then the '
             'file has to belong to root.'),
    cfg.BoolOpt(
        'ovn_ssl_check_name', default=True,
        help='Whether the certificate of a server must be for the host name '
             'or address in the remote (as a subject alternative name). Set '
             'the option to false for certificates without such a name, like '
             'certificates of ovs-pki: then any server with a certificate of '
             'the authorities in ovn_ssl_ca is accepted.'),
    cfg.Opt(
        'ovsdb_connection_timeout', type=types.Integer(1, 3600), default=180,
        help='Seconds within which a new connection to a database has to '
             'deliver its content. After that time the agent tries again.'),
    cfg.Opt(
        'ovsdb_probe_interval', type=types.Integer(0, 3600000), default=6000,
        help='Milliseconds without traffic after which the agent asks the '
             'other side whether it is alive. Without an answer in the same '
             'time the agent makes the connection again, to another member '
             'of the cluster where there is one. So a connection that died '
             'without a sign is found within twice this time. Raise the '
             'value if the servers are silent for longer while they work. '
             '0 switches this off.'),
    cfg.Opt(
        'transaction_timeout', type=types.Integer(1, 600), default=15,
        help='Seconds that one transaction may take. The limit is shorter '
             'than ovsdb_connection_timeout, because the next pass tries a '
             'failed change again.'),
    cfg.Opt(
        'bfd_min_rx', type=types.Integer(0, 60000), default=0, mutable=True,
        help='Milliseconds: the least time between two packets of BFD that a '
             'chassis wants to receive in a tunnel of OVN. The agent writes '
             'the value as bfd-min-rx into options of NB_Global in the '
             'Northbound database, from where every chassis of the cloud '
             'takes the value. Set this option together with bfd_min_tx and '
             'bfd_mult, and on all gateway nodes alike; of different values '
             'the slowest one counts. The larger one of bfd_min_rx and '
             'bfd_min_tx, times bfd_mult, is the time after which OVN gives '
             'the gateway ports of a node without power to another one; '
             'without the options OVN takes 3 seconds. The agent never '
             'overwrites a value of somebody else, and removes its values '
             'when the last agent with these options stops or loses the '
             'options. At least 50, or 0 for off.'),
    cfg.Opt(
        'bfd_min_tx', type=types.Integer(0, 60000), default=0, mutable=True,
        help='Milliseconds: the least time between two packets of BFD that a '
             'chassis sends in a tunnel of OVN, bfd-min-tx in options of '
             'NB_Global. See bfd_min_rx. At least 50, or 0 for off.'),
    cfg.Opt(
        'bfd_mult', type=types.Integer(0, 255), default=0, mutable=True,
        help='Number of packets of BFD in a row that have to be missing '
             'before a chassis counts as dead, bfd-mult in options of '
             'NB_Global. See bfd_min_rx. At least 2, or 0 for off.'),
    cfg.Opt(
        'retry_max_interval', type=types.Integer(1, 3600), default=30,
        help='While a database cannot be reached, the pauses between '
             'attempts grow up to this number of seconds. The agent never '
             'gives up, and withdraws nothing meanwhile.'),
]
