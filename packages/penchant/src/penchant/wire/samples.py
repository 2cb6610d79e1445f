"""Samples of bodies and answers of the service, for the OpenAPI document; a test holds each against its schema."""

from collections.abc import Mapping
from typing import Any

from penchant.model import Feature, Scope
from penchant.wire.administration import KEY_WISH, PLAN_WISH
from penchant.wire.lists import RANK_WISH
from penchant.wire.pieces import PIECE
from penchant.wire.preferences import LIKINGS, PREFERENCES
from penchant.wire.recording import INTERACTION, MOMENT
from penchant.wire.settings import PREVIEW, settings_sample

_INTERACTION = {
    "key": {"source": "films", "userId": "kim"},
    "type": "RateLike",
    "contentId": "alien",
    "timestamp": MOMENT,
}
_PIECE = PIECE.sample()
_SHARES = [{"category": "genre", "keyword": "science fiction", "share": 0.25}]
_SIMILAR_WHY = {"terms": _SHARES, "rules": [{"rule": "whitelist", "position": 0}]}
PERSONAL_WHY = {
    "parts": [
        {"part": "content", "share": 0.2, "terms": _SHARES},
        {"part": "audience", "share": 0.3, "pieces": [{"id": "gravity", "share": 0.3}]},
        {"part": "popularity", "share": 0.05},
        {"part": "new", "share": 0.0},
    ],
    "rules": [],
}
_PREFERENCES = PREFERENCES.sample()
ENTRIES = [{"id": "blade-runner", "score": 0.5}, {"id": "gravity", "score": 0.75}]
_SHOWN = {"lists": 12, "shown": 120, "opened": 9, "played": 7}
_KEYWORD_COUNT = {"category": "genre", "keyword": "horror", "pieces": 2}
_CHANGES = [
    {"pointer": "/blend/popularity", "before": 0.1, "after": 0.02},
    {"added": "alien"},
    {"removed": "gravity"},
    {"reordered": True},
    {"more": 7},
]
PROBLEM = {
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
    "name": "Ida Berg",
}

PREVIEWED = {
    "id": "alien",
    "before": ENTRIES,
    "after": ENTRIES[:1],
    "moves": [{"id": "gravity", "before": 2, "after": None}],
}

_PLAN: dict[str, Any] = {
    "name": "full",
    "features": [each.value for each in Feature],
    "requestsPerSecond": None,
    "sources": None,
    "piecesPerSource": None,
    "recommendationsPerMonth": None,
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
    "AnonymousResult": {"id": None, "content": ENTRIES},
    "AskedIds": ["alien", "gravity"],
    "AuditLog": {
        "entries": [
            {
                "recordedAt": MOMENT,
                "account": "press",
                "actor": "b2Xq81",
                "action": "key.create",
                "subject": "Zk4tQ9",
                "count": 1,
                "firstAt": MOMENT,
                "actorName": "Ida Berg",
                "changes": _CHANGES,
            }
        ]
    },
    "Removal": {"removed": 1},
    "BulkReceipt": {"accepted": 1, "duplicates": 1},
    "ActivityListing": {
        "days": [{"day": "2026-11-28", "interactions": {"Play": 9}, "placements": {"home": _SHOWN}, **_SHOWN}],
        "complete": True,
    },
    "CatalogueFindings": {
        "source": "films",
        "version": 17,
        "pieces": 3,
        "madeAt": MOMENT,
        "done": True,
        "failed": False,
        "keywords": {
            "count": 4,
            "complete": True,
            "usedOnce": {"count": 1, "examples": [{"category": "genre", "keyword": "noir"}]},
            "writtenAlike": {
                "count": 1,
                "examples": [[_KEYWORD_COUNT, {"category": "genre", "keyword": "Horror", "pieces": 1}]],
            },
            "oneWeight": [{"category": "mood", "weight": 100, "keywords": 3}],
            "lonely": {"count": 1, "examples": ["gravity"], "wordsOnly": 0},
        },
        "unreached": {"count": 1, "examples": ["gravity"], "lists": 3, "of": 3, "done": True},
        "unseen": {"count": 1, "examples": ["alien"], "since": MOMENT, "shown": 1},
        "mostPlayed": [{"id": "heat", "played": 12, "shown": 40}],
        "likes": {
            "count": 1200,
            "pending": 3,
            "ageSeconds": 0.5,
            "tells": 1.4,
            "grade": "something",
            "categories": [{"category": "genre", "tells": 1.2, "grade": "little"}],
            "people": 300,
            "ofPeople": 300,
            "direction": 0.05,
            "degree": "somewhat",
            "sameGaps": 0.01,
            "countsOrder": True,
            "types": [{"type": "Watch", "count": 1200, "grade": 16}],
            "fullLike": "A like counts by its grade: here watches are what people do, so a watch is a full one.",
            "fullWeight": 8.0,
            "fall": {
                "before": 1.2,
                "now": 0.5,
                "days": ["2026-11-27"],
                "likes": 400,
                "placements": [{"placement": "home", "title": "For you", "opened": 250}],
            },
        },
    },
    "CategoryListing": {"count": 1, "categories": [{"category": "genre", "keywords": 3, "pieces": 2}]},
    "KeywordListing": {"count": 1, "keywords": [_KEYWORD_COUNT]},
    "CatalogListing": {"count": 1, "catalogs": [{"catalog": "tv", "pieces": 2}]},
    "ExtrasListing": {
        "lookedAt": 3,
        "extras": [
            {"pointer": "/year", "type": "integer", "pieces": 3, "examples": [{"value": 1979, "pieces": 1}]},
        ],
    },
    "SteeringListing": {
        "versions": [
            {
                "version": 17,
                "timestamp": MOMENT,
                "keyId": "Zk4tQ9",
                "actorName": "Ida Berg",
                "changes": _CHANGES,
                "settings": {"blend": {"content": 1, "audience": 2, "popularity": 0.02}},
                "content": ["alien"],
            }
        ]
    },
    "TitleListing": {"titles": [{"id": "alien", "label": "Alien"}]},
    "SearchAnswer": {
        "kind": "piece",
        "count": 2,
        "complete": False,
        "after": "gravity",
        "content": [
            {"id": "alien", "label": "Alien", "place": "label"},
            {"id": "gravity", "place": "text", "text": "description: An alien planet."},
        ],
    },
    "ContentList": {"source": "films", "timestamp": MOMENT, "content": [_PIECE]},
    "PiecesById": {"content": [_PIECE], "missing": ["gone"]},
    "Draft": {"categories": {"genre": ["noir", "crime"]}},
    "DraftResult": {"id": None, "content": [{"id": "blade-runner", "score": 0.75, "why": _SIMILAR_WHY}]},
    "EmptyArray": [],
    "Health": {"status": "ok"},
    "IdArray": ["alien", "gravity"],
    "IdList": {"count": 2, "content": ["alien", "gravity"]},
    "InteractionAnswer": _INTERACTION,
    "RecordedInteraction": _INTERACTION,
    "InteractionArray": [INTERACTION.sample()],
    "InteractionList": [_INTERACTION],
    "IssuedKeyAnswer": _KEY | {"key": "pk_Zk4tQ9_secret"},
    "KeyAnswer": _KEY,
    "KeyList": {"keys": [_KEY]},
    "PlanList": {"plans": [_PLAN]},
    "OwnKey": {"keyId": "Zk4tQ9", "role": "editor", "scopes": list(Scope), "plan": _PLAN, "name": "Kim"},
    "SigningSecret": {"account": "press", "secret": "ps_secret"},
    "KeyWish": KEY_WISH.sample(),
    "Likings": LIKINGS.sample(),
    "OpenApi": {"openapi": "3.1.1"},
    "PersonalPlace": {"id": "kim", "why": PERSONAL_WHY, **_RANK},
    "OwnAccount": {
        "account": "press",
        "keyNames": {"Zk4tQ9": "Ida Berg"},
        "count": 1,
        "sources": [
            {
                "source": "films",
                "pieces": 2,
                "version": 17,
                "indexedVersion": 17,
                "createdAt": MOMENT,
                "updatedAt": MOMENT,
            }
        ],
    },
    "Piece": _PIECE,
    "PersonPreferences": _PREFERENCES,
    "PlanWish": PLAN_WISH.sample(),
    "Preferences": _PREFERENCES,
    "PreviewWish": PREVIEW.sample(),
    "Problem": PROBLEM,
    "ProfileList": [{"source": "films", "userId": "kim", "categories": {"genre": {"horror": 500, "drama": -120}}}],
    "ProspectList": {"id": "alien", "people": [{"id": "kim", "score": 0.25}]},
    "RankResult": {"id": "kim", "content": ENTRIES, "left": [{"id": "alien", "why": "seen"}]},
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
    "RecommendationResult": {"id": "alien", "content": ENTRIES},
    "RecommendationResults": [{"id": "kim", "content": ENTRIES}],
    "RevisitResult": {
        "id": "kim",
        "content": [{"id": "alien", "score": 0.0, "began": True, "days": 2, "timestamp": MOMENT}],
    },
    "Settings": settings_sample(),
    "SettingsPreview": {
        "pieces": [
            PREVIEWED,
        ],
        "users": [],
    },
    "SimilarEntries": [{"id": "alien", "content": ENTRIES}, {"id": "not-there", "error": PROBLEM}],
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
