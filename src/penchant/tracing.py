"""Where does a request's time go? Spans, of which nothing is made unless somebody collects them.

Attributes hold route templates, methods, statuses and counts only: never a source, an account or a person.
"""

import importlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from penchant.errors import InvalidSettings

Attributes = Mapping[str, str | int]
Tell = Callable[[Attributes], None]
"""Adds attributes to a span that has begun."""
Begin = Callable[[str, Mapping[str, str] | None], AbstractContextManager[Tell]]
"""Begins a span of this name, within the one that has begun before or the caller's, whose headers are given."""

SERVICE_NAME = "penchant"
_ERROR = "error.type"
"""The attribute that a span has only where the request failed inside."""


class _Nothing:
    """The span that is not there."""

    def __enter__(self) -> Tell:
        return _ignore

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let errors pass."""


def _ignore(_attributes: Attributes) -> None:
    pass


_NOTHING = _Nothing()


class Tracing:
    """The spans of this process; until `collect` is called they cost a fraction of a microsecond."""

    def __init__(self) -> None:
        self._begin: Begin | None = None
        self._close: Callable[[], None] | None = None

    @property
    def collects(self) -> bool:
        """Whether spans are made, and attributes worth gathering."""
        return self._begin is not None

    def span(self, name: str, headers: Mapping[str, str] | None = None) -> AbstractContextManager[Tell]:
        """Return a span to enter; what it gives adds attributes."""
        return _NOTHING if self._begin is None else self._begin(name, headers)

    def collect(self, begin: Begin | None, close: Callable[[], None] | None = None) -> None:
        """Make spans by ``begin`` from now on; ``None`` makes no more."""
        self._begin, self._close = begin, close

    def close(self) -> None:
        """Send what has been collected, and collect no more."""
        close = self._close
        self.collect(None)
        if close is not None:
            close()


tracing = Tracing()


def send_spans(endpoint: str) -> None:
    """Send the spans of this process to an OTLP address, in the background.

    Sampling and the like are set as the OpenTelemetry SDK has it, by its own ``OTEL_`` variables.

    Raises:
        InvalidSettings: the extra ``tracing`` is not installed.
    """
    try:
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        resources = importlib.import_module("opentelemetry.sdk.resources")
        export = importlib.import_module("opentelemetry.sdk.trace.export")
        otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    except ImportError as error:
        raise InvalidSettings(
            "tracing-endpoint is set, but OpenTelemetry is not installed: pip install 'penchant[tracing]'."
        ) from error
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": SERVICE_NAME}))
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter(endpoint=endpoint)))
    tracing.collect(beginning(provider), provider.shutdown)


def beginning(provider: Any) -> Begin:
    """Return what begins spans of an OpenTelemetry provider."""
    propagate = importlib.import_module("opentelemetry.propagate")
    trace = importlib.import_module("opentelemetry.trace")
    tracer = trace.get_tracer(SERVICE_NAME, tracer_provider=provider)

    def begin(name: str, headers: Mapping[str, str] | None) -> AbstractContextManager[Tell]:
        context = None if headers is None else propagate.extract(headers)
        kind = trace.SpanKind.INTERNAL if headers is None else trace.SpanKind.SERVER
        # Exceptions are not recorded: their messages may hold ids.
        current = tracer.start_as_current_span(
            name, context=context, kind=kind, record_exception=False, set_status_on_exception=False
        )
        return _OpenSpan(current, trace)

    return begin


class _OpenSpan:
    """An OpenTelemetry span as `Tracing` has it."""

    def __init__(self, current: AbstractContextManager[Any], trace: Any) -> None:
        self._current = current
        self._trace = trace

    def __enter__(self) -> Tell:
        entered = self._current.__enter__()

        def tell(attributes: Attributes) -> None:
            entered.set_attributes(attributes)
            if _ERROR in attributes:
                entered.set_status(self._trace.StatusCode.ERROR)

        return tell

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._current.__exit__(kind, error, traceback)
