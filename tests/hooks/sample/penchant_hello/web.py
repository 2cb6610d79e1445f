"""An operation, and a task that it tells of."""

from dataclasses import dataclass
from typing import Self

from penchant.live.background import BackgroundTask
from penchant.model import Scope
from penchant.service import Services
from penchant.web.operations import EVERYBODY, Answer, Call, Operation, OperationTable
from penchant.wire import encode
from penchant_hello.settings import HelloSettings

HELLO = OperationTable(Operation, "hello")


@dataclass
class Greetings:
    """How often the task has run."""

    count: int = 0

    @classmethod
    def build(cls, _services: Services) -> Self:
        return cls()


def counting(services: Services) -> BackgroundTask:
    """Return the task that counts."""
    greetings = services.of(Greetings)

    def count() -> None:
        greetings.count += 1

    return BackgroundTask(name="hello", interval_s=0.01, work=count)


@HELLO.operation("GET", "/{source}/hello", scope=Scope.READ, about=EVERYBODY, answer="Text")
async def hello(call: Call) -> Answer:
    """Greet a source, with the count of its pieces."""
    view = await call.view()
    count = call.services.of(Greetings).count
    word = view.source_settings.of(HelloSettings).greeting
    return Answer(body=encode({word: call.source, "pieces": view.head.piece_count, "counted": count > 0}))
