# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The declared metrics as objects of prometheus_client.

Counters and histograms count what happens.  All gauges, and the counters that
others keep, are asked for at each scrape, so an unknown gauge has no series.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
from typing import Any

import prometheus_client
from prometheus_client import core
from prometheus_client import registry

from ovn_network_agent.metrics import declared

_TOTAL = '_total'


class Store:
    """Holds the metrics of one agent.

    :param known: values on this node, for labels that are declared open
    :param present: the metrics to be asked for; called on any thread
    :param asked: names of the counters that ``present`` returns
    """

    def __init__(self, known: Mapping[str, Sequence[str]],
                 present: Callable[[], declared.Gauges],
                 asked: Iterable[str] = ()) -> None:
        # The time of creation of each series would double the page.
        prometheus_client.disable_created_metrics()
        self._known = known
        self._registry = registry.CollectorRegistry()
        self._counted: dict[str, Any] = {}
        names = set(asked)
        for metric in declared.METRICS:
            if metric.kind is declared.Kind.GAUGE:
                names.add(metric.name)
            elif metric.name not in names:
                self._counted[metric.name] = self._make(metric)
        self._registry.register(_Asked(
            [m for m in declared.METRICS if m.name in names], present))
        prometheus_client.ProcessCollector(registry=self._registry)

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count a counter up by an amount that is not negative."""
        self._series(name, labels).inc(amount)

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Add an observation to a histogram; see :meth:`count`."""
        self._series(name, labels).observe(seconds)

    def page(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        made: bytes = prometheus_client.generate_latest(self._registry)
        return made

    def _series(self, name: str, labels: Mapping[str, str]) -> Any:
        counted = self._counted[name]
        return counted.labels(**labels) if labels else counted

    def _make(self, metric: declared.Metric) -> Any:
        """The object of a counter or histogram, with all known series."""
        if metric.kind is declared.Kind.COUNTER:
            made: Any = prometheus_client.Counter(
                metric.full.removesuffix(_TOTAL), metric.text,
                tuple(metric.labels), registry=self._registry)
        else:
            made = prometheus_client.Histogram(
                metric.full, metric.text, tuple(metric.labels),
                registry=self._registry, buckets=metric.buckets)
        if metric.labels:
            for values in itertools.product(*(
                    values or self._known.get(label, ())
                    for label, values in metric.labels.items())):
                made.labels(*values)
        return made


class _Asked(registry.Collector):
    """Asks for the present values at each scrape; see :class:`Store`."""

    def __init__(self, metrics: Sequence[declared.Metric],
                 present: Callable[[], declared.Gauges]) -> None:
        self._metrics = metrics
        self._present = present

    def describe(self) -> list[core.Metric]:
        """The families without values, so that none is asked at the start."""
        return [_family(metric) for metric in self._metrics]

    def collect(self) -> Iterator[core.Metric]:
        found = self._present()
        for metric in self._metrics:
            family = _family(metric)
            values = found.get(metric.name)
            numbers: Mapping[Any, float] = (
                {} if values is None else
                values if isinstance(values, Mapping) else {(): values})
            for labels, number in numbers.items():
                family.add_metric([str(label) for label in labels], number)
            yield family


def _family(metric: declared.Metric) -> Any:
    if metric.kind is declared.Kind.COUNTER:
        return core.CounterMetricFamily(
            metric.full.removesuffix(_TOTAL), metric.text,
            labels=tuple(metric.labels))
    return core.GaugeMetricFamily(metric.full, metric.text,
                                  labels=tuple(metric.labels))
