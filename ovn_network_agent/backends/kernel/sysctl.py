# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend sysctl: values below /proc/sys/net, set and never restored."""

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends.kernel import kernel_base
from ovn_network_agent.common import error_words
from ovn_network_agent.common import notices
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.privileged.network import netlink


class SysctlBackend(kernel_base.KernelBackend):
    """Kernel settings that the agent sets and never restores."""

    name = 'sysctl'
    kinds = (resources.Sysctl,)
    finds_wanted_only = True
    doubted_by = (notices.kernel('link'), notices.kernel('sysctl'))

    def read(self, known: base.Known) -> list[resources.Sysctl]:
        """Read the wanted values that exist; no value has a mark.

        :raises base.BackendError: when an existing value cannot be read
        """
        present = []
        for ref in known:
            if ref.kind == resources.Sysctl.kind:
                path = str(ref.key[0])
                value = _value(path)
                if value is not None:
                    present.append(resources.Sysctl(path, value))
        return present

    def apply(self, delta: base.Delta) -> base.Failures:
        """Set values; see :meth:`base.Backend.apply`."""
        wanted = resources.of_kind(resources.Sysctl, delta.wanted)
        return kernel_base.refused(netlink.set_sysctls, wanted,
                                   [[r.path, r.value] for r in wanted])


def _value(path: str) -> str | None:
    """Text of a sysctl, None while the sysctl does not exist.

    :raises base.BackendError: when the sysctl exists and cannot be read
    """
    try:
        value: str | None = procfs.sysctl(path)
    except OSError as error:
        raise base.BackendError(
            f'sysctl {path}: {error_words.text(error)}') from error
    return value
