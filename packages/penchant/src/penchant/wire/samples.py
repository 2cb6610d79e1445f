"""Samples of every body and answer, for the OpenAPI document; a test holds each against its schema."""

from collections.abc import Mapping
from typing import Any

from penchant.wire.administration import KEY_WISH, PLAN_WISH
from penchant.wire.drafts.edits import DRAFT, DRAFT_NOTE, DRAFT_SCHEDULE, EFFECT_WISH
from penchant.wire.lists import RANK_WISH
from penchant.wire.pieces import PIECE, TEXTS
from penchant.wire.placements import PAGE, PLACEMENT, PLACEMENT_WISH
from penchant.wire.preferences import LIKINGS, PREFERENCES
from penchant.wire.recording import INTERACTION, MOMENT, SEEN_LIST
from penchant.wire.settings import PREVIEW, settings_sample
from penchant.wire.words import WORDS

_INTERACTION = {
    "key": {"source": "films", "userId": "kim"},
    "type": "RateLike",
    "contentId": "alien",
    "timestamp": MOMENT,
}
_PIECE = PIECE.sample()
_SHARES = [{"category": "genre", "keyword": "science fiction", "share": 0.25}]
_SIMILAR_WHY = {"terms": _SHARES, "rules": [{"rule": "whitelist", "position": 0}]}
_PERSONAL_WHY = {
    "parts": [
        {"part": "content", "share": 0.2, "terms": _SHARES},
        {"part": "audience", "share": 0.3, "pieces": [{"id": "gravity", "share": 0.3}]},
        {"part": "popularity", "share": 0.05},
        {"part": "new", "share": 0.0},
    ],
    "rules": [],
}
_PREFERENCES = PREFERENCES.sample()
_ENTRIES = [{"id": "blade-runner", "score": 0.5}, {"id": "gravity", "score": 0.75}]
_PROBLEM = {
    "type": "/-/problems/unknown-piece",
    "title": "No such piece",
    "status": 404,
    "detail": "The source has no piece with this id.",
    "code": "unknown-piece",
}
_OUTRANKED = {"code": "outranked", "detail": "It would be number 12.", "remedy": {"limit": 12}}
_RANK = {"contentId": "gravity", "rank": None, "score": 0.75, "reasons": [_OUTRANKED]}
_KEY = {
    "keyId": "Zk4tQ9",
    "account": "press",
    "plan": "full",
    "role": "tenant",
    "state": "active",
    "createdAt": MOMENT,
    "expiresAt": None,
    "revokedAt": None,
    "scopes": ["read", "personal", "interact", "write"],
    "origins": [],
    "requestsPerSecond": None,
    "requestsPerMonth": None,
}
_PLACEMENT = PLACEMENT.sample()
_PLACEMENT_VERSION = {
    "name": "home",
    "version": 17,
    "timestamp": MOMENT,
    "keyId": "Zk4tQ9",
    "placement": _PLACEMENT,
}
_PLACEMENT_LIST = {"placement": "home", "variant": "mixed", "kind": "recommendations", "contentId": None}

_PREVIEWED = {
    "id": "alien",
    "before": _ENTRIES,
    "after": _ENTRIES[:1],
    "moves": [{"id": "gravity", "before": 2, "after": None}],
}
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

SAMPLES: Mapping[str, Any] = {
    "Addresses": {
        "name": "penchant",
        "version": "0.1.0",
        "documents": "/-/docs",
        "dashboard": "/-/dashboard",
        "openapi": "/-/openapi.json",
        "openapiForGenerators": "/-/openapi.json?for=generators",
        "health": "/-/health/ready",
        "metrics": "/-/metrics",
    },
    "ServiceVersion": {"version": "0.1.0", "packages": {"penchant": "0.1.0"}},
    "AnonymousResult": {"id": None, "content": _ENTRIES},
    "AskedIds": ["alien", "gravity"],
    "AuditLog": {
        "entries": [
            {
                "recordedAt": MOMENT,
                "account": "press",
                "actor": "command-line",
                "action": "key.create",
                "subject": "Zk4tQ9",
                "count": 1,
                "firstAt": MOMENT,
            }
        ]
    },
    "Removal": {"removed": 1},
    "BulkReceipt": {"accepted": 1, "duplicates": 1},
    "ContentList": {"source": "films", "timestamp": MOMENT, "content": [_PIECE]},
    "PiecesById": {"content": [_PIECE], "missing": ["gone"]},
    "Draft": {"categories": {"genre": ["noir", "crime"]}},
    "DraftResult": {"id": None, "content": [{"id": "blade-runner", "score": 0.75, "why": _SIMILAR_WHY}]},
    "DraftEdits": DRAFT.sample(),
    "DraftEffect": {
        "users": [],
        "pieces": [_PREVIEWED],
        "placements": [],
        "reach": {"into": 3, "out": 1, "moved": 12, "lists": 365, "of": 365},
        "left": 0,
        "without": [],
    },
    "DraftListing": {"drafts": [_DRAFT]},
    "DraftNote": DRAFT_NOTE.sample(),
    "DraftSchedule": DRAFT_SCHEDULE.sample(),
    "EffectWish": EFFECT_WISH.sample(),
    "PublishedVersion": {"version": 18, "blacklist": ["gravity", "alien"]},
    "SourceDraft": _DRAFT
    | {"blacklist": ["alien"], "changes": {"blacklist": {"added": {"alien": None}, "removed": []}}},
    "EmptyArray": [],
    "Texts": TEXTS.sample(),
    "WordsPreview": {
        "content": [{"id": "jaws", "language": "none", "words": ["jaws"]}],
        "words": WORDS.sample(),
    },
    "Health": {"status": "ok"},
    "IdArray": ["alien", "gravity"],
    "IdList": {"count": 2, "content": ["alien", "gravity"]},
    "ImpressionArray": [SEEN_LIST.sample()],
    "InteractionAnswer": _INTERACTION,
    "RecordedInteraction": _INTERACTION,
    "InteractionArray": [INTERACTION.sample()],
    "InteractionList": [_INTERACTION],
    "IssuedKeyAnswer": _KEY | {"key": "pk_Zk4tQ9_secret"},
    "KeyAnswer": _KEY,
    "KeyList": {"keys": [_KEY]},
    "SigningSecret": {"account": "press", "secret": "ps_secret"},
    "KeyWish": KEY_WISH.sample(),
    "Likings": LIKINGS.sample(),
    "OpenApi": {"openapi": "3.1.1"},
    "PageResult": {
        "userId": "kim",
        "lists": [
            _PLACEMENT_LIST | {"listId": "AGcj2X", "content": _ENTRIES},
            {"placement": "beside", "contentId": "not-there", "error": _PROBLEM},
        ],
    },
    "PageWish": PAGE.sample(),
    "PersonalPlace": {"id": "kim", "why": _PERSONAL_WHY, **_RANK},
    "Piece": _PIECE,
    "PersonPreferences": _PREFERENCES,
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
                "before": _ENTRIES,
                "after": _ENTRIES[:1],
                "moves": [{"id": "gravity", "before": 2, "after": None}],
            }
        ]
    },
    "PlacementWish": PLACEMENT_WISH.sample(),
    "PlacementResult": _PLACEMENT_LIST
    | {
        "userId": "kim",
        "categoryWeights": {"genre": 2},
        "content": [{"id": "alien", "score": 0.25, "why": _PERSONAL_WHY}],
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
            }
        ],
    },
    "PlanWish": PLAN_WISH.sample(),
    "Preferences": _PREFERENCES,
    "PreviewWish": PREVIEW.sample(),
    "Problem": _PROBLEM,
    "ProfileList": [{"source": "films", "userId": "kim", "categories": {"genre": {"horror": 500, "drama": -120}}}],
    "ProspectList": {"id": "alien", "people": [{"id": "kim", "score": 0.25}]},
    "RankResult": {"id": "kim", "content": _ENTRIES, "left": [{"id": "alien", "why": "seen"}]},
    "RankWish": RANK_WISH.sample(),
    "Receipt": {
        "source": "films",
        "version": 17,
        "accepted": 2,
        "created": 1,
        "replaced": 1,
        "superseded": 0,
        "ignored": ["/0/colour"],
    },
    "RecommendationResult": {"id": "alien", "content": _ENTRIES},
    "RecommendationResults": [{"id": "kim", "content": _ENTRIES}],
    "RevisitResult": {
        "id": "kim",
        "content": [{"id": "alien", "score": 0.0, "began": True, "days": 2, "timestamp": MOMENT}],
    },
    "Settings": settings_sample(),
    "SettingsPreview": {
        "pieces": [
            _PREVIEWED,
        ],
        "users": [],
    },
    "SimilarEntries": [{"id": "alien", "content": _ENTRIES}, {"id": "not-there", "error": _PROBLEM}],
    "SimilarPlace": {"id": "alien", "why": {"terms": _SHARES, "rules": []}, **_RANK},
    "SourceStatus": {
        "source": "films",
        "pieces": 2,
        "version": 17,
        "indexedVersion": 17,
        "createdAt": MOMENT,
        "updatedAt": MOMENT,
    },
    "Submission": [_PIECE, {"id": "gravity", "categories": {"genre": ["drama", "science fiction"]}}],
    "TasteSegments": {"id": "kim", "segments": [{"keyword": "horror", "score": 500}]},
    "Text": "…",
    "UsageReport": {
        "month": "2026-11",
        "accounts": [{"account": "press", "answers": 1200, "sources": 1, "pieces": 4730, "browserAnswers": 300}],
    },
    "UserIds": ["kim", "robin"],
    "ContentIds": ["alien", "gone"],
    "UserExport": {
        "source": "films",
        "userId": "kim",
        "interactions": [_INTERACTION | {"eventId": "e-1"}],
        "preferences": _PREFERENCES,
    },
}
"""A sample of each body and answer, by the name of its schema."""
