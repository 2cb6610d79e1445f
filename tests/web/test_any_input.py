"""Whatever a request holds, the service answers with a success or a clear refusal, never with a failure."""

import json
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factories import piece
from penchant.web.routes import interface_operations
from serving import Service
from strategies import examples

OPERATIONS = interface_operations()

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SHAPED = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "id": JSON,
            "label": JSON,
            "categories": st.dictionaries(
                st.text(max_size=3), st.lists(JSON | st.fixed_dictionaries({"key": JSON, "weight": JSON}), max_size=3)
            ),
            "filters": st.fixed_dictionaries(
                {}, optional={"catalogs": JSON, "availableFrom": JSON, "availableUntil": JSON}
            ),
            "extras": JSON,
            "userId": JSON,
            "type": JSON,
            "contentId": JSON,
            "timestamp": JSON,
            "eventId": JSON,
        },
    ),
    max_size=3,
)
ANYTHING = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def is_clear(answer: Any) -> bool:
    """Return whether an answer is a success, or a refusal that says what is wrong."""
    if answer.status_code < 300:
        return True
    problem = answer.json()
    return 400 <= answer.status_code < 500 and bool(problem["code"] and problem["title"] and problem["detail"])


BODIES = (
    "POST /s/content",
    "DELETE /s/content",
    "POST /s/interactions",
    "PUT /s/whitelist",
    "PUT /s/blacklist",
    "PUT /s/settings",
    "POST /s/similar",
    "POST /s/preview/similar",
    "POST /s/preview/settings",
)


@given(
    asked=st.sampled_from(BODIES),
    body=st.binary(max_size=30)
    | (JSON | SHAPED | SHAPED.map(lambda entries: entries[0] if entries else {})).map(
        lambda value: json.dumps(value).encode()
    ),
)
@settings(ANYTHING, max_examples=examples(400))
def test_any_body_is_answered_clearly(service: Service, asked: str, body: bytes) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))

    answer = service.request(*asked.split(), content=body, headers={"content-type": "application/json"})

    assert is_clear(answer), answer.text
    assert service.get("/s/content/a/similar").status_code in {200, 404, 409}


@given(data=st.data())
@settings(ANYTHING, max_examples=examples(300))
def test_any_parameter_value_is_answered_clearly(service: Service, data: st.DataObject) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    asked = [each for each in OPERATIONS if each.method == "GET" and not each.public and each.parameters]
    operation = data.draw(st.sampled_from(asked))
    path = operation.path.replace("{source}", "s").replace("{contentID}", "a").replace("{userID}", "u")
    path = path.replace("{other}", "b")
    names = [parameter.name for parameter in operation.parameters]
    chosen = data.draw(
        st.lists(st.tuples(st.sampled_from(names), st.text(max_size=8) | st.integers().map(str)), max_size=4)
    )
    chosen = [pair for pair in chosen if pair[0] != "min-version"]
    query = "&".join(
        f"{name}={quote(value, safe='', errors='replace')}" for name, value in chosen if value.isprintable()
    )

    key = service.new_key(admin=True) if operation.admin else None
    assert is_clear(service.get(f"{path}?{query}", key=key))


@given(st.text(min_size=1, max_size=600))
@ANYTHING
def test_any_id_in_a_path_is_answered_clearly(service: Service, text: str) -> None:
    service.submit("s")
    encoded = quote(text, safe="", errors="replace")

    for path in (f"/s/content/{encoded}", f"/{encoded}/ids", f"/s/users/{encoded}/recommendation"):
        assert is_clear(service.get(path)), path


@given(st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable() and text not in {".", ".."}))
@ANYTHING
def test_any_printable_id_is_found_again(service: Service, piece_id: str) -> None:
    service.submit("s", piece(piece_id))

    assert service.get(f"/s/content/{quote(piece_id, safe='')}").json()["id"] == piece_id
    assert service.delete(f"/s/content?id={quote(piece_id, safe='')}").status_code == 202
    assert service.get(f"/s/content/{quote(piece_id, safe='')}").status_code == 404
