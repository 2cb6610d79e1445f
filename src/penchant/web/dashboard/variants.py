"""Variants in a form: what an editor wants to try beside a placement, added to the placement's JSON."""

from collections.abc import Mapping
from typing import Any

import msgspec

from penchant.model import PlacementKind
from penchant.web.dashboard.forms import Form, number_in
from penchant.wire import decode_placement, encode

BLEND = ("content", "audience", "popularity")
_NUMBERS = ("diversity", "rotation")
FIELDS = ("variant-name", "variant-share", "variant-kind", *(f"variant-{name}" for name in (*BLEND, *_NUMBERS)))
KINDS = list(PlacementKind)


def with_variant(draft: str, form: Form) -> str:
    """Return the JSON of a placement with the variant of a form as its last one.

    Through the interface's own reader before and after, so that a page accepts no more than it does.

    Raises:
        InvalidSyntax, InvalidInput: the placement was none, or is none with this variant.
    """
    members = dict(decode_placement(draft.encode(errors="replace")).members)
    members["variants"] = [*(members.get("variants") or []), _variant(form)]
    body = encode(members)
    decode_placement(body)
    return msgspec.json.format(body, indent=2).decode()


def _variant(form: Form) -> Mapping[str, Any]:
    """Return the variant in a form by the names of the interface; a field that is left blank is not given."""
    share = number_in(form.text("variant-share"))
    given: dict[str, Any] = {
        "name": form.text("variant-name").strip(),
        # Of what is no number the reader says so.
        "share": share if isinstance(share, str) else round(share / 100, 6),
    }
    if kind := form.text("variant-kind"):
        given["kind"] = kind
    blend = _numbers(form, BLEND)
    return given | ({"blend": blend} if blend else {}) | _numbers(form, _NUMBERS)


def _numbers(form: Form, names: tuple[str, ...]) -> dict[str, Any]:
    texts = {name: form.text(f"variant-{name}") for name in names}
    return {name: number_in(text) for name, text in texts.items() if text.strip()}
