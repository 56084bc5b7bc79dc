# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The processes with the real agents, for the process that measures."""

import collections
import dataclasses
import multiprocessing

from ovs.db import idl

from tools.bench import processes
from tools.bench.fleet import agents

_SUCCEEDED = (idl.Transaction.SUCCESS,)
_REFUSED = (idl.Transaction.TRY_AGAIN, idl.Transaction.ERROR)


@dataclasses.dataclass(frozen=True)
class Counts:
    """What all agents have done in a time."""

    accepted: int
    refused: int
    silent: int  # connections given up because the server was silent
    attempts: int
    size: int  # bytes received from NB and SB
    withdrawn: int  # removed objects of the kernel and FRR
    errors: collections.Counter


class Crews:
    """Agents of some chassis, dealt out to processes.

    As a context manager, it ends them.

    :param jitter: see :class:`ovn.chassis.absent_chassis.Absence`
    """

    def __init__(self, numbers, remotes: dict[str, str], count: int, options,
                 jitter=None):
        context = multiprocessing.get_context('spawn')
        self._parts = []
        for first in range(count):
            here, there = context.Pipe()
            process = context.Process(
                target=agents.serve, daemon=True, args=(
                    there, numbers[first::count], remotes, options, jitter))
            process.start()
            there.close()
            self._parts.append((process, here))
        for _process, pipe in self._parts:
            pipe.recv()

    def ask(self, name: str, *args) -> list:
        """Ask all processes at once: list of their answers."""
        for _process, pipe in self._parts:
            pipe.send((name, *args))
        return [pipe.recv() for _process, pipe in self._parts]

    def counts(self):
        """What has been counted since the last call."""
        found, texts = collections.Counter(), collections.Counter()
        for counted, said in self.ask('counts'):
            found += counted
            texts += said
        return Counts(
            accepted=sum(found[status] for status in _SUCCEEDED),
            refused=sum(found[status] for status in _REFUSED),
            silent=found[agents.SILENT], attempts=found[agents.ATTEMPTS],
            size=found[agents.BYTES], withdrawn=found[agents.WITHDRAWN],
            errors=texts)

    def objects(self):
        """How many objects of the kernel and FRR all agents have made."""
        return sum(self.ask('objects'))

    def processor(self):
        """Seconds of processor time of all agents so far."""
        return processes.load(
            process.pid for process, _pipe in self._parts).processor / 1000

    def memory(self):
        """Resident memory of all agents in MB."""
        return sum(processes.resident(process.pid)
                   for process, _pipe in self._parts)

    def close(self):
        """End all agents."""
        for _process, pipe in self._parts:
            pipe.close()
        for process, _pipe in self._parts:
            process.join()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()
