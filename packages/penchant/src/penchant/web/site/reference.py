"""API reference: what its pages say of each operation, taken from the OpenAPI document so that it cannot drift.

The examples are those of the interface's pages (``docs/interface*.md``), each as a curl command; tests run them all.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from markupsafe import Markup, escape

Json: TypeAlias = Mapping[str, Any]

ADDRESS = "http://127.0.0.1:8080"
"""Where the examples ask; what ``scripts/run`` listens on."""
TAG_TITLES = {
    "content": "Content and similar pieces",
    "people": "People and their interactions",
    "recommendations": "Recommendations and profiles",
    "explanations": "Reasons and previews",
    "curation": "Lists and settings",
    "source": "Sources",
    "administration": "Administration",
    "service": "The service itself",
}
_EXAMPLE = re.compile(r"```http\n(.*?)```", re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_PROBLEM = re.compile(r"`([a-z-]+)`: ([^;]+)")
_MAX_DEPTH = 4
"""Levels of a body's members that are listed; categories may nest without end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a body, or a parameter: its name, where it stands or its type, and what it means."""

    name: str
    kind: str
    text: Markup
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problems:
    """The errors of one status, by code."""

    status: str
    codes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSection:
    """An operation as its section shows it; ``like`` is an earlier one of its page that has the same answer, if any."""

    name: str
    method: str
    path: str
    tag: str
    summary: Markup
    note: Markup
    parameters: Sequence[Member]
    body_types: Sequence[str]
    body: Sequence[Member]
    status: str
    answer_type: str
    answer: Sequence[Member]
    like: str
    problems: Sequence[Problems]
    example: str
    needs_key: bool


def described(document: Json, interface: str) -> list[OperationSection]:
    """Return all operations of an OpenAPI document, with examples from the interface's page."""
    examples = [example.group(1) for example in _EXAMPLE.finditer(interface)]
    firsts: dict[tuple[str, str], str] = {}
    return [
        _operation(document, method.upper(), path, operation, examples, firsts)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def curl(request: str) -> str:
    """Return the command that sends a request written as in HTTP: first line, headers, an empty line, the body."""
    head, _, body = request.strip().partition("\n\n")
    first, *lines = head.splitlines()
    method, path = first.split(" ", 1)
    headers = dict(line.split(": ", 1) for line in lines)
    if not path.startswith("/-/"):
        headers = {"x-api-key": "$KEY"} | headers
    words = ["curl -s"]
    if method != ("POST" if body else "GET"):
        words.append(f"-X {method}")
    # Double quotes where the shell has to put a key in.
    words += [f'-H "{name}: {value}"' if "$" in value else f"-H '{name}: {value}'" for name, value in headers.items()]
    address = ADDRESS + path
    words.append(f'"{address}"' if "$" in address else shlex.quote(address))
    if body:
        words.append(f"--data-binary {shlex.quote(body)}")
    return " \\\n  ".join(words) if len(" ".join(words)) > 100 else " ".join(words)


def marked_up(text: str) -> Markup:
    """Return a description as HTML: what stands between backticks is code."""
    parts = _CODE.split(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def _operation(
    document: Json,
    method: str,
    path: str,
    operation: Json,
    examples: Sequence[str],
    firsts: dict[tuple[str, str], str],
) -> OperationSection:
    """Return an operation of the OpenAPI document as its section of the reference shows it.

    ``firsts`` notes the first operation of a tag with an answer of each schema: a page shows its members once.
    """
    body = operation.get("requestBody", {}).get("content", {})
    # The one answer that is no error and no 304; `openapi` puts it first.
    status, answer = next(each for each in operation["responses"].items() if each[0] < "400")
    content = answer.get("content", {})
    name, tag = operation["operationId"], operation["tags"][0]
    schema = next((each["schema"].get("$ref", "") for each in content.values()), "")
    first = firsts.setdefault((tag, schema), name) if schema else name
    return OperationSection(
        name=name,
        method=method,
        path=path,
        tag=tag,
        summary=marked_up(operation["summary"]),
        note=marked_up(operation.get("description", "")),
        parameters=[_parameter(each) for each in operation["parameters"]],
        body_types=list(body),
        body=_body_members(document, body),
        status=status,
        answer_type=next(iter(content), ""),
        answer=_body_members(document, content) if first == name else [],
        like="" if first == name else first,
        problems=list(_problems(operation["responses"])),
        example=_example(method, path, examples),
        needs_key=bool(operation["security"]),
    )


def _parameter(parameter: Json) -> Member:
    kind = f"{parameter['in']}, {_kind(parameter['schema'])}"
    if parameter.get("deprecated"):
        kind += ", old"
    return Member(
        name=parameter["name"],
        kind=kind,
        text=marked_up(parameter["description"]) + _limits(parameter["schema"]),
        is_required=parameter.get("required", False),
    )


def _problems(responses: Json) -> Iterator[Problems]:
    for status, answer in responses.items():
        if status >= "400":
            yield Problems(status=status, codes=dict(_PROBLEM.findall(answer["description"])))


def _example(method: str, path: str, examples: Sequence[str]) -> str:
    """Return the first example of an operation as a command; an address without parameters needs none."""
    # Each parameter of the path stands for any text without a slash or a query.
    pattern = re.compile(re.escape(method) + " " + re.sub(r"\\{\w+\\}", r"[^/?\\s]+", re.escape(path)) + r"(\?\S*)?")
    for example in examples:
        if pattern.fullmatch(example.partition("\n")[0]):
            return curl(example)
    return "" if "{" in path else curl(f"{method} {path}")


def _body_members(document: Json, content: Json) -> list[Member]:
    for described_form in content.values():
        return list(_members(document, described_form["schema"], "", 0, frozenset()))
    return []


def _members(document: Json, given: Json, name: str, depth: int, above: frozenset[str]) -> Iterator[Member]:
    """Yield the members below a schema, depth first, with their whole names (``content[].id``)."""
    schema = _resolved(document, given)
    reference = given.get("$ref", "")
    # A schema within itself, such as categories, is listed once on the way down.
    if depth > _MAX_DEPTH or reference in above:
        return
    above |= {reference} - {""}
    required = schema.get("required", ())
    for member, inner in schema.get("properties", {}).items():
        full = f"{name}.{member}" if name else member
        whole = _resolved(document, inner)
        yield Member(
            name=full,
            kind=_kind(whole),
            text=marked_up(inner.get("description", whole.get("description", ""))) + _limits(whole),
            is_required=member in required,
        )
        yield from _members(document, inner, full, depth + 1, above)
    if "items" in schema:
        yield from _members(document, schema["items"], f"{name}[]", depth + 1, above)


def _resolved(document: Json, schema: Json) -> Json:
    """Return what a schema refers to; of several choices the first one that is not null."""
    choices = schema.get("oneOf") or schema.get("anyOf")
    if choices:
        # The others are in the text: a table has one line for a member.
        chosen = next((each for each in choices if each.get("type") != "null"), choices[0])
        return {**_resolved(document, chosen), **{k: v for k, v in schema.items() if k not in {"oneOf", "anyOf"}}}
    if "$ref" not in schema:
        return schema
    return _resolved(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])


def _kind(schema: Json) -> str:
    kind = schema.get("type", "any value")
    names = [kind] if isinstance(kind, str) else list(kind)
    return " or ".join({"object": "object", "array": "list"}.get(name, name) for name in names)


def _limits(schema: Json) -> Markup:
    """Return the limits of a schema's values, as the end of a sentence."""
    facts = []
    if "enum" in schema:
        facts.append("one of " + ", ".join(str(each) for each in schema["enum"]))
    if "minimum" in schema and "maximum" in schema:
        facts.append(f"{schema['minimum']} to {schema['maximum']}")
    elif "minimum" in schema:
        facts.append(f"at least {schema['minimum']}")
    if "maxLength" in schema:
        facts.append(f"{schema.get('minLength', 0)} to {schema['maxLength']} characters")
    if "maxItems" in schema:
        facts.append(f"at most {schema['maxItems']} entries")
    if "default" in schema:
        facts.append(f"default {str(schema['default']).lower()}")
    return Markup(' <span class="limits">({})</span>').format("; ".join(facts)) if facts else Markup()
