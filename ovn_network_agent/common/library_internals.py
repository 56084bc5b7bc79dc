# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Names of libraries that are not for others, and that we use all the same.

python-ovs and oslo.config may drop any of them in any
release.  A unit test says which one is missing, and who needs it; a second one
finds uses that are not in this list.  A new use needs a reason why nothing
public does.
"""

import typing


class PrivateName(typing.NamedTuple):
    """A name that begins with an underscore, or may as well."""

    owner: str  # 'module:Class' whose source has the name, or 'module'
    name: str
    users: tuple[str, ...]  # modules of ours, below the package
    why: str  # what for, and what the public interface lacks


NAMES = (
    PrivateName(
        'ovs.db.idl:Row', '_data',
        ('ovn.comparisons', 'ovn.events', 'ovsdb.columns', 'ovsdb.values'),
        'whether a column is replicated, and references to rows that are '
        'not; attributes of a row have neither; equal values of many rows '
        'that are there once'),
    PrivateName(
        'ovs.db.idl:Row', '_uuid_to_row',
        ('ovsdb.columns', 'ovsdb.single_query'),
        'the rows that a column refers to; the attribute makes copies of the '
        'column first, which shows in a view of a thousand routers'),
    PrivateName(
        'ovs.db.idl:Row', '_table', ('ovn.events', 'ovsdb.replica'),
        'the table of a row that an event is about'),
    PrivateName(
        'ovs.db.idl:Transaction', '_txn_rows', ('ovsdb.command',),
        'a row that is verified and not changed belongs to a transaction, '
        'too; verify() alone does nothing for it'),
    PrivateName(
        'ovs.db.idl:Idl', '_session',
        ('ovsdb.lock', 'ovsdb.replica_query', 'ovsdb.replica'),
        'probes of Unix sockets, whether and since when it is connected, a '
        'reconnection with a pause'),
    PrivateName(
        'ovs.db.idl:Idl', '_last_seqno', ('ovsdb.lock', 'ovsdb.replica'),
        'whether the content is of this connection or of the former one'),
    PrivateName(
        'ovs.db.idl:Idl', '_db', ('ovsdb.replica_query', 'ovsdb.replica'),
        'the name of the database, for the log and for questions'),
    PrivateName(
        'ovs.db.idl:Idl', '__row_update', ('ovsdb.values',),
        'the columns of a row without the checks that their types do not '
        'need: most of the time that a load of thousands of rows takes'),
    PrivateName(
        'ovs.db.idl:Idl', '__add_default', ('ovsdb.values',),
        'the default values of a table once, and not for each of thousands '
        'of rows'),
    PrivateName(
        'ovs.db.idl:Idl', '_outstanding_txns', ('ovsdb.replica_query',),
        'a question to the server whose answer comes in the order of the '
        'updates; a transaction cannot select'),
    PrivateName(
        'ovs.db.idl:Idl', '_process_reply', ('ovsdb.replica_query',),
        'what a transaction in that list is called back with'),
    PrivateName(
        'ovs.db.idl:Idl', '_status', ('ovsdb.replica_query',),
        'what is set of a transaction in that list when it is given up'),
    PrivateName(
        'ovs.db.idl', 'vlog', ('ovsdb.update_errors',),
        'an update that could not be applied is told to the log alone'),
    PrivateName(
        'ovs.stream:Stream', '_open', ('ovsdb.streams',),
        'streams with files and reasons for each remote: what open() calls '
        'of a registered class'),
    PrivateName(
        'ovs.stream:UnixStream', '_open', ('ovsdb.streams',),
        'a Unix socket that only the root side may open'),
    PrivateName(
        'oslo_config.cfg:ConfigOpts', '_mutable_ns', ('conf.reload',),
        'the former values, when the files have changed after their check; '
        'nothing public takes a reload back'),
    PrivateName(
        'oslo_config.cfg:ConfigOpts', '_env_driver', ('conf.opts',),
        'variables with the names of the original; a further source of '
        'values would come after the files'),
)
