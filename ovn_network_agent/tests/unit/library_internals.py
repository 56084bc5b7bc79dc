# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Names of libraries that are not for others, and that we use all the same.

python-ovs and oslo.config may drop any of them in any release.  Unit tests say
which is missing and who needs it, and find uses not in this list.  A new use
needs a reason why nothing public does, and goes into the module that uses the
names of its library already.
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
        'ovs.db.idl:Row', '_data', ('ovsdb.columns',),
        'whether a column is replicated, and references to rows that are '
        'not; attributes of a row have neither, and cost ten times as much'),
    PrivateName(
        'ovs.db.idl:Row', '_uuid_to_row',
        ('ovsdb.columns', 'ovsdb.query'),
        'the rows that a column refers to; the attribute makes copies of the '
        'column first, which shows in a view of a thousand routers'),
    PrivateName(
        'ovs.db.idl:Row', '_table', ('ovsdb.columns',),
        'the table of a row that an event is about'),
    PrivateName(
        'ovs.db.idl:Transaction', '_txn_rows', ('ovsdb.command',),
        'a row that is verified and not changed belongs to a transaction, '
        'too; verify() alone does nothing for it'),
    PrivateName(
        'ovs.db.idl:Idl', '_session', ('ovsdb.session_idl',),
        'probes of Unix sockets, whether and since when it is connected, a '
        'reconnection with a pause, questions beside the updates'),
    PrivateName(
        'ovs.stream:Stream', '_open', ('ovsdb.streams',),
        'streams with files and reasons for each remote: what open() calls '
        'of a registered class'),
    PrivateName(
        'oslo_config.cfg:ConfigOpts', '_mutable_ns', ('conf.opts',),
        'the former values, when the files have changed after their check; '
        'nothing public takes a reload back'),
    PrivateName(
        'oslo_config.cfg:ConfigOpts', '_env_driver', ('conf.opts',),
        'variables with the names of the original; a further source of '
        'values would come after the files'),
)
