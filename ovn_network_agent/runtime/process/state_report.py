# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The report of oslo.reports about a running process, on SIGUSR2.

It is rare, so the signal imports its 50 modules (20 ms, 4 MiB).
"""

import functools
import signal
import types

from oslo_config import cfg
from oslo_log import log as logging
from oslo_reports import opts

from ovn_network_agent import version

LOG = logging.getLogger(__name__)


def set_defaults(conf: cfg.ConfigOpts) -> None:
    """Register the options of the library."""
    opts.set_defaults(conf)


def arm(conf: cfg.ConfigOpts) -> None:
    """Write the report at SIGUSR2, or when the configured file changes."""
    if conf.oslo_reports.file_event_handler:
        # The library has a thread for the file.
        _set_up(conf)
    else:
        signal.signal(signal.SIGUSR2, functools.partial(_first, conf))


def _set_up(conf: cfg.ConfigOpts) -> None:
    from oslo_reports import guru_meditation_report
    guru_meditation_report.TextGuruMeditation.setup_autorun(
        version.Info(), conf=conf)


def _first(conf: cfg.ConfigOpts, number: int, frame: types.FrameType | None
           ) -> None:
    """The library handles all later ones."""
    try:
        _set_up(conf)
    except ImportError:
        # A failed report must not end the agent.
        LOG.exception('There can be no report of the state')
    else:
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, frame)
