"""The order of checks (interface, section 1): of a request with all faults the first is told, then the next one."""

import pytest

from factories import piece
from penchant.settings import NodeSettings, PlanSettings
from serving import Service

FAULTS = ("path", "route", "method", "key", "rate", "plan", "source", "type", "size", "syntax", "entries", "shape")
STATUSES = (400, 404, 405, 401, 429, 403, 404, 415, 413, 400, 413, 422)


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    plans = {"one": PlanSettings(features=(), requests_per_second=1)}
    return NodeSettings(data=settings.data, plans=plans, list_limit_bytes=20_000)


def test_of_several_faults_the_first_in_the_order_is_told(service: Service) -> None:
    service.submit("s", piece("a", "x"))
    keys = {"key": "pk_no_key", "rate": service.new_key(plan="one"), "plan": service.new_key(plan="basic")}
    paths = {"path": "/s%zz/recommendations", "route": "/s/recommendations/a/b/c"}
    bodies = {"size": b"[" * 30_000, "syntax": b"[", "entries": b"[%s]" % b",".join([b"1"] * 1_001), "shape": b"[1]"}
    told = []
    for number in range(len(FAULTS)):
        # What is left of the faults: each leaves all after it in place.
        left = FAULTS[number:]
        method = "PUT" if "method" in left else "POST"
        path = next((paths[each] for each in left if each in paths), "/none" if "source" in left else "/s")
        path = path if path in paths.values() else f"{path}/recommendations"
        key = next((keys[each] for each in left if each in keys), service.key)
        headers = {"content-type": "text/plain" if "type" in left else "application/json"}
        body = next(bodies[each] for each in left if each in bodies)
        answers = [service.request(method, path, key=key, headers=headers, content=body) for _ in range(3)]
        told.append(max(each.status_code for each in answers) if left[0] == "rate" else answers[0].status_code)

    assert tuple(told) == STATUSES
