"""Traces: spans that tell where a request's time goes; none is made unless a collector is configured.

Attributes hold route templates, methods, statuses and counts only: never a source, an account or a person.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from penchant.errors import InvalidSettings
from penchant_engine.steps import begin_nothing, steps

Attributes = Mapping[str, str | int]
Tell = Callable[[Attributes], None]
"""Adds attributes to a span that has begun."""
Begin = Callable[[str, Mapping[str, str] | None], AbstractContextManager[Tell]]
"""Begins a span of this name, within the one that has begun before or the caller's, whose headers are given."""

SERVICE_NAME = "penchant"
_ERROR = "error.type"
"""The attribute that a span has only where the request failed inside."""


class _NoSpan:
    """The span that is not there."""

    def __enter__(self) -> Tell:
        return _ignore

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Let errors pass."""


def _ignore(_attributes: Attributes) -> None:
    pass


# One for all: it has no state, so that a span that is not made costs no object.
_NOTHING = _NoSpan()


class Tracer:
    """The spans of this process; until `collect` is called they cost a fraction of a microsecond."""

    def __init__(self) -> None:
        self._begin: Begin | None = None
        self._close: Callable[[], None] | None = None

    @property
    def collects(self) -> bool:
        """True where spans are made, so that attributes are worth gathering."""
        return self._begin is not None

    def span(self, name: str, headers: Mapping[str, str] | None = None) -> AbstractContextManager[Tell]:
        """Return a span to enter; what it gives adds attributes."""
        return _NOTHING if self._begin is None else self._begin(name, headers)

    def collect(self, begin: Begin | None, close: Callable[[], None] | None = None) -> None:
        """Make spans by ``begin`` from now on; ``None`` makes no more."""
        self._begin, self._close = begin, close
        steps.begin = begin_nothing if begin is None else self.span

    def close(self) -> None:
        """Send what has been collected, and collect no more."""
        # First no more spans, then the sending: `close` may take seconds.
        close = self._close
        self.collect(None)
        if close is not None:
            close()


tracing = Tracer()


def send_spans(endpoint: str) -> None:
    """Send the spans of this process to an OTLP address, in the background.

    Sampling and the like are set as the OpenTelemetry SDK has it, by its own ``OTEL_`` variables.

    Raises:
        InvalidSettings: the extra ``tracing`` is not installed.
    """
    try:
        # The extra "tracing": few installations send spans.
        from opentelemetry import propagate, trace  # noqa: PLC0415  # as above
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  # as above
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  # as above
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  # as above
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415  # as above
    except ImportError as error:
        raise InvalidSettings(
            "tracing-endpoint is set, but OpenTelemetry is not installed: install penchant[tracing]."
        ) from error
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE_NAME}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    tracing.collect(beginning(provider, propagate, trace), provider.shutdown)


def beginning(provider: Any, propagate: Any, trace: Any) -> Begin:
    """Return the function that begins spans of an OpenTelemetry provider, with these modules of OpenTelemetry."""
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
    """An OpenTelemetry span as `Tracer` has it."""

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
