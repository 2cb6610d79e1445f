"""Schemas and samples of what operations of rows and drafts take and answer."""

from collections.abc import Mapping
from typing import Any

from penchant.wire.fields import Json
from penchant.wire.recording import MOMENT
from penchant.wire.samples import ENTRIES, PERSONAL_WHY, PREVIEWED, PROBLEM
from penchant.wire.schemas import LIST_OR_ERROR, InterfacePart, TimeText, array
from penchant_rows.model import MAX_IMPRESSIONS_PER_REQUEST
from penchant_rows.wire import drafts as draft_answers
from penchant_rows.wire import placement_answers
from penchant_rows.wire.edits import DRAFT, DRAFT_NOTE, DRAFT_SCHEDULE, EFFECT_WISH, draft_schemas
from penchant_rows.wire.placements import PAGE, PLACEMENT, PLACEMENT_WISH, kind_names, placement_schemas
from penchant_rows.wire.recording import SEEN_LIST

_PLACEMENT = PLACEMENT.sample()
_PLACEMENT_VERSION = {
    "name": "home",
    "version": 17,
    "timestamp": MOMENT,
    "keyId": "Zk4tQ9",
    "placement": _PLACEMENT,
}
_PLACEMENT_LIST = {"placement": "home", "variant": "mixed", "kind": "recommendations", "contentId": None}
_DRAFT = {
    "name": "spring",
    "revision": "2f0c61d5a8b3e947",
    "title": "Crime in spring",
    "state": "proposed",
    "by": "Zk4tQ9",
    "changedAt": MOMENT,
    "writers": ["Zk4tQ9"],
    "steps": [
        {"step": "propose", "by": "Zk4tQ9", "timestamp": MOMENT, "note": "Please look."},
        {"step": "save", "by": "Zk4tQ9", "timestamp": MOMENT},
    ],
}


def _schemas(generated: Mapping[str, Json]) -> Json:
    return {
        "ImpressionInput": SEEN_LIST.schema(),
        "ImpressionArray": array("ImpressionInput", MAX_IMPRESSIONS_PER_REQUEST),
        **placement_schemas(),
        "PlacementKind": generated["PlacementKind"] | {"enum": kind_names()},
        "PlacementWish": PLACEMENT_WISH.schema(),
        **draft_schemas(generated["DraftSummary"]),
        "PageWish": PAGE.schema(),
        "PageEntry": generated["PageEntry"] | LIST_OR_ERROR,
    }


_SAMPLES: Mapping[str, Any] = {
    "DraftEdits": DRAFT.sample(),
    "DraftEffect": {
        "users": [],
        "pieces": [PREVIEWED],
        "placements": [],
        "reach": {"into": 3, "out": 1, "moved": 12, "lists": 365, "of": 365},
        "left": 0,
        "without": [],
        "active": 20,
        "figures": {
            "lists": 20,
            "moved": 12,
            "moves": 3,
            "gaining": 9,
            "risen": 2,
            "before": {"pieces": 61, "variety": 0.7, "newness": 0.1},
            "after": {"pieces": 66, "variety": 0.74, "newness": 0.1},
        },
    },
    "DraftListing": {"drafts": [_DRAFT]},
    "DraftNote": DRAFT_NOTE.sample(),
    "DraftSchedule": DRAFT_SCHEDULE.sample(),
    "EffectWish": EFFECT_WISH.sample(),
    "PublishedVersion": {"version": 18, "blacklist": ["gravity", "alien"]},
    "SourceDraft": _DRAFT
    | {"blacklist": ["alien"], "changes": {"blacklist": {"added": {"alien": None}, "removed": []}}},
    "ImpressionArray": [SEEN_LIST.sample()],
    "PageResult": {
        "userId": "kim",
        "lists": [
            _PLACEMENT_LIST | {"listId": "AGcj2X", "content": ENTRIES},
            {"placement": "beside", "contentId": "not-there", "error": PROBLEM},
        ],
    },
    "PageWish": PAGE.sample(),
    "Placement": _PLACEMENT,
    "PlacementCard": {
        "placement": "home",
        "title": "For you",
        "purpose": "What to watch tonight.",
        "kind": "recommendations",
        "since": MOMENT,
        "changedAt": MOMENT,
        "counts": [{"part": "audience", "share": 0.8}],
        "rules": ["Only from the catalog screen."],
        "uses": ["Keywords of the pieces."],
        "retentionDays": 396,
        "control": ["What the person does next counts in the next list."],
        "leastPeople": 10,
        "weeks": [
            {
                "from": "2026-11-16",
                "to": "2026-11-22",
                "shown": 1200,
                "pinned": 40,
                "complete": True,
                "coverage": 0.42,
                "popularity": 0.31,
                "newness": 0.08,
                "diversity": 0.66,
                "shares": {"language": {"en": 0.7, "cy": 0.2}},
            }
        ],
    },
    "PlacementHistory": {"versions": [_PLACEMENT_VERSION]},
    "PlacementListing": {"placements": [_PLACEMENT_VERSION]},
    "PlacementPreview": {
        "lists": [
            {
                "userId": "kim",
                "variantBefore": "base",
                "variantAfter": "mixed",
                "before": ENTRIES,
                "after": ENTRIES[:1],
                "moves": [{"id": "gravity", "before": 2, "after": None}],
            }
        ],
        "fitting": 365,
    },
    "PlacementWish": PLACEMENT_WISH.sample(),
    "PlacementResult": _PLACEMENT_LIST
    | {
        "userId": "kim",
        "categoryWeights": {"genre": 2},
        "content": [{"id": "alien", "score": 0.25, "why": PERSONAL_WHY}],
    },
    "PlacementResults": {
        "placement": "home",
        "from": "2026-11-01",
        "to": "2026-11-21",
        "base": "base",
        "counted": "successes",
        "designEffect": 2.4,
        "stopped": [],
        "variants": [
            {
                "variant": "mixed",
                "lists": 12,
                "shown": 120,
                "anonymous": 20,
                "successes": 9,
                "interactions": {"Play": 9, "Watch": 2},
                "pinned": {"shown": 20, "successes": 3, "interactions": {"Play": 3}},
                "raised": {"shown": 12, "successes": 1, "interactions": {"Play": 1}},
                "rate": {"value": 0.08, "lower": 0.0, "upper": 0.3},
                "difference": {"value": 0.01, "lower": -0.2, "upper": 0.22},
                "verdict": "undecided",
                "stop": {"reason": "edited", "timestamp": "2026-11-20T09:30:00.000Z", "by": "4fG7kQ2m"},
                "pieces": 40,
                "coverage": 0.2,
                "share": {"value": 0.52, "lower": 0.2, "upper": 0.84, "expected": 0.5, "off": False},
                "positions": [{"position": 1, "shown": 12, "successes": 3}],
                "days": [{"day": "2026-11-21", "shown": 120, "successes": 9}],
                "course": [{"day": "2026-11-21", "shown": 240, "value": 0.01, "lower": -0.2, "upper": 0.22}],
            }
        ],
    },
}

ROWS = InterfacePart(
    answers=(
        placement_answers.PlacementResults,
        placement_answers.PlacementCard[TimeText],
        placement_answers.PlacementResult,
        placement_answers.PageResult,
        placement_answers.PlacementListing[TimeText],
        placement_answers.PlacementHistory[TimeText],
        placement_answers.PlacementPreview,
        draft_answers.DraftListing[TimeText],
        draft_answers.PublishedVersion,
        draft_answers.DraftEffect,
    ),
    schemas=_schemas,
    samples=_SAMPLES,
    tags={
        "drafts": "Edits that wait, published as one version.",
        "placements": "What the rows of pages show, in which variants.",
        "pages": "The lists of rows, one by one or all of a page, and what a draft of a row would show.",
        "results": "What people saw of the rows of pages, and what came of that.",
    },
    segments={"name": ("The name of a placement; percent-encoded once.", "home")},
)
"""What operations of rows and drafts take and answer."""
