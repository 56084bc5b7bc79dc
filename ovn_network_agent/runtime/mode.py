# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The mode of the agent: all parts, or only the parts that forward ports.

With both remotes of OVN empty, the agent touches neither OVN nor Open vSwitch
nor FRR.  It loads no plugin for them and starts no privileged daemon for them.
"""

from ovn_network_agent.conf import mode as options

FULL = 'full'


def name(conf):
    """The name of the mode for the status and the log.

    :param conf: the oslo.config ConfigOpts
    :returns: 'full' or 'port-forward-only'
    """
    return options.FORWARDS_ONLY if options.forwards_only(conf) else FULL


def uses(conf, part, known):
    """Whether a part of the agent has a use in this mode.

    :param conf: the oslo.config ConfigOpts, checked
    :param part: a subclass of :class:`drivers.base.Driver` or
        :class:`backends.base.Backend`
    :param known: what the part may know: its :class:`conf.settings.Settings`
        for a driver, and the ConfigOpts for a backend
    """
    return not options.forwards_only(conf) or part.runs_without_ovn(known)


def contexts(conf):
    """The privileged daemons that this mode needs.

    :param conf: the oslo.config ConfigOpts
    :returns: list of :class:`privileged.context.Context`
    """
    # A diagnosis needs the drivers, and no daemon.
    from ovn_network_agent import privileged
    return [context for context in privileged.CONTEXTS
            if context.without_ovn or not options.forwards_only(conf)]
