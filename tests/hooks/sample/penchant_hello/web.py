"""An operation, and a task that it tells of."""

from dataclasses import dataclass
from typing import Self

from penchant.hooks import PersonExport
from penchant.live.background import BackgroundTask
from penchant.live.views import View
from penchant.model import Scope
from penchant.service import Services
from penchant.web.operations import EVERYBODY, IN_PATH, Answer, Call, Operation, OperationTable
from penchant.wire import encode
from penchant.wire.fields import Record
from penchant_hello.settings import HelloSettings
from penchant_hello.storage import PART, Greet, GreetingStore

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
    told = {word: call.source, "pieces": view.head.piece_count, "counted": count > 0, "greeted": view.parts[PART.name]}
    return Answer(body=encode(told))


@HELLO.operation(
    "POST", "/{source}/users/{userID}/hello", scope=Scope.INTERACT, about=IN_PATH, personal=True, answer="EmptyArray"
)
async def greet(call: Call) -> Answer:
    """Greet a person of a source."""
    command = Greet(account_id=call.access.account_id, source=call.source, user_id=call.path["userID"])
    change = await call.services.database.change(command)
    return Answer(body=b"[]", version=change.version)


class Greeted(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a person was greeted."""

    greeted: bool = False


async def _greeted(services: Services, view: View, user_id: str, _limit: int | None) -> Greeted:
    is_greeted = services.database.storage.store(GreetingStore).is_greeted
    return Greeted(greeted=await services.database.in_thread(is_greeted, view.head.source_id, user_id))


EXPORT = PersonExport(Greeted, _greeted)
