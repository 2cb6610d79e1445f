"""Operations for tools of agents, in no document yet: pieces found by their texts, and the health of a catalogue."""

from collections.abc import Sequence

from penchant.errors import invalid_parameter
from penchant.live.views import View
from penchant.model import Scope
from penchant.service.health import AudienceStanding, Findings
from penchant.service.health_reports import HealthReports, KappaFallText, like_mix, order_degree, telling_grade
from penchant.service.like_mix import mix_sentence
from penchant.web.operations import NOBODY, Answer, Call, Operation, OperationTable
from penchant.web.parameters import AFTER
from penchant.web.query import Parameter
from penchant.wire import encode, format_day, id_problem
from penchant_engine.model import Term

CATALOGUE = OperationTable(Operation, "agents")
_TEXT = Parameter(name="q", description="What to find.", schema={"type": "string"})
_EXAMPLES = 10


@CATALOGUE.operation("GET", "/{source}/search", about=NOBODY, scope=Scope.READ, parameters=(_TEXT, AFTER))
async def find_content(call: Call) -> Answer:
    """Pieces that have a text, or all words of it, anywhere."""
    values = call.values()
    text: str = values[_TEXT.name] or ""
    if problem := id_problem(text):
        raise invalid_parameter("text", problem)
    async with call.services.page_shares.turn(call.access.account_id):
        found = await call.services.search.pieces(await call.view(), text, after=values[AFTER.name])
    answer = {
        "content": [{"id": each.id, "label": each.label, "text": each.text} for each in found.hits],
        "count": found.count,
        "keywords": [_named(each.term) | {"pieces": each.pieces} for each in found.terms],
        "lookedAt": found.looked_at,
        "after": found.after,
    }
    return Answer(body=encode(answer))


@CATALOGUE.operation("GET", "/{source}/health", about=NOBODY, scope=Scope.READ)
async def catalogue_health(call: Call) -> Answer:
    """What was found out by now about a catalogue, and what is known of what people like."""
    call.values()
    view = await call.view()
    async with call.services.page_shares.turn(call.access.account_id):
        findings, standing = await call.services.of(HealthReports).by_now(view)
        fall = await call.services.of(HealthReports).kappa_fall(view, findings)
    answer = {"pieces": view.head.piece_count, "done": findings.done, "likes": _likes(view, findings, standing, fall)}
    answer |= _keywords(findings)
    return Answer(body=encode(answer), version=view.head.version)


def _likes(view: View, findings: Findings, standing: AudienceStanding, fall: KappaFallText | None) -> dict[str, object]:
    mix = like_mix(view, findings, standing)
    told: dict[str, object] = {
        "byType": {each.type.value: {"count": each.likes, "grade": each.grade} for each in mix},
        "fullLike": mix_sentence(mix),
    }
    if fall is not None:
        rows = [{"name": each.name, "opened": each.opened} for each in fall.openers]
        days = list(map(format_day, fall.days))
        told["keywordsTellHalf"] = {
            "from": fall.before,
            "to": fall.now,
            "days": days,
            "likes": fall.likes,
            "rows": rows,
        }
    return told | {
        "count": standing.likes,
        "keywordsTell": telling_grade(standing.telling),
        "orderCounts": order_degree(standing.direction),
        "pendingInteractions": standing.pending,
    }


def _keywords(findings: Findings) -> dict[str, object]:
    found, unreached = findings.vocabulary, findings.unreached
    answer: dict[str, object] = {}
    if found is not None:
        answer |= {
            "keywords": found.terms,
            "usedOnce": {"count": found.once_count, "examples": list(map(_named, found.once[:_EXAMPLES]))},
            "writtenAlike": {
                "count": found.alike_count,
                "examples": [[_named(each.term) for each in group] for group in found.alike[:_EXAMPLES]],
            },
            "lonely": {"count": found.lonely_count, "examples": _pieces(found.lonely)},
        }
    if unreached is not None:
        answer["unreached"] = {
            "count": unreached.count,
            "examples": _pieces(unreached.pieces),
            "lists": unreached.lists,
            "of": unreached.of,
        }
    return answer


def _pieces(ids: Sequence[str]) -> list[dict[str, str]]:
    return [{"id": each} for each in ids[:_EXAMPLES]]


def _named(term: Term) -> dict[str, str]:
    return {"category": term.category, "keyword": term.keyword}
