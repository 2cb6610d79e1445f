"""Documents as pages: a hook of mkdocs (mkdocs.yml), which makes the reference of the code and mends links.

The documents are written to be read in the repository as well: their links lead to files of the project, wherever
these lie, and here become links of the site. A page is made for each format of imports and for each page of the
interface; where a document has the line `<!-- made of the code: NAME -->`, a table of `TABLES` stands in its place.
To add one, add a function there.
"""

import ast
import functools
import inspect
import json
import posixpath
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from penchant import cli, hooks, settings
from penchant.telemetry import Metrics
from penchant.web.documents import OpenApiDocument, interface_pages
from penchant.web.problems import problem_kinds
from penchant.web.routes import interface_operations
from penchant_client.methods import Methods
from penchant_import.drafts import ACTION_NAMES
from penchant_mcp.tools import TOOLS
from penchant_rows.service.metrics import RowMetrics

OPERATIONS = interface_operations()

Json = Mapping[str, Any]

ROOT = Path(__file__).parents[1]
ADDRESS = "http://127.0.0.1:8080"
"""Where examples ask; what `scripts/run` listens on."""
FORMATS_FILE = "packages/penchant-import/src/penchant_import/formats/README.md"
PROJECT_FILES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Files beside the documents that are pages as well."""
_LINKED = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s:]*)(?P<anchor>#[^)\s]*)?\)")
_MARK = re.compile(r"^<!-- made of the code: (\w+) -->$", re.MULTILINE)
_SECTION = re.compile(r"^### (.+)$", re.MULTILINE)
_MAX_DEPTH = 4
"""Levels of a body's members that are listed; categories may nest without end."""


def curl(request: str) -> str:
    """Return the command that sends a request written as in HTTP: first line, headers, an empty line, the body."""
    head, _, body = request.strip().partition("\n\n")
    first, *lines = head.splitlines()
    method, path = first.split(" ", 1)
    headers = dict(line.split(": ", 1) for line in lines)
    if not path.startswith("/-/") or path.startswith(("/-/account", "/-/key")):
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


# Which pages there are


@functools.cache
def pages() -> dict[str, tuple[str, str]]:
    """Return the pages that are no documents, by their place in the site: the file that each is of, and its text."""
    made = {f"project/{name.lower()}": (name, (ROOT / name).read_text(encoding="utf-8")) for name in PROJECT_FILES}
    for page in map(Path, map(str, interface_pages(OPERATIONS))):
        path = page.relative_to(ROOT).as_posix()
        made[f"reference/operations/{page.name}"] = path, operations_page(page.read_text(encoding="utf-8"))
    head, *sections = re.split(r"^## ", (ROOT / FORMATS_FILE).read_text(encoding="utf-8"), flags=re.MULTILINE)
    made["reference/formats/index.md"] = FORMATS_FILE, head
    for section in sections:
        name = section.partition("\n")[0]
        made[f"reference/formats/{name}.md"] = FORMATS_FILE, f"# {section}"
    return made


def _place(path: str, anchor: str) -> tuple[str, str]:
    """Return where a file of the project is in the site, with what is left of the anchor."""
    if path == FORMATS_FILE:
        names = {_slug(name): name for name in _formats()}
        name = names.get(anchor.removeprefix("#"), "")
        return (f"reference/formats/{name}.md", "") if name else ("reference/formats/index.md", anchor)
    if path.startswith("packages/") and "/interface/" in path:
        return f"reference/operations/{posixpath.basename(path)}", anchor
    if path in PROJECT_FILES:
        return f"project/{path.lower()}", anchor
    return path.removeprefix("docs/") if path.startswith("docs/") else path, anchor


def _formats() -> list[str]:
    return [line.removeprefix("## ") for line in (ROOT / FORMATS_FILE).read_text().splitlines() if line[:3] == "## "]


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


# What mkdocs calls


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages that are made into the navigation, where it names their folder."""
    made = list(pages())
    for drawer in config.nav or ():
        for entries in drawer.values():
            for number, entry in reversed(list(enumerate(entries if isinstance(entries, list) else ()))):
                if isinstance(entry, dict) and str(folder := next(iter(entry.values()))).endswith("/"):
                    entries[number] = {next(iter(entry)): [name for name in made if name.startswith(folder)]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and the examples of configuration that documents link to."""
    for place, (_, text) in pages().items():
        files.append(File.generated(config, place, content=text))
    for path in sorted((ROOT / "deploy").glob("*.*")):
        files.append(File.generated(config, f"deploy/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a document as mkdocs understands it: links of the site, blocks with their language alone, tables."""
    del config
    place = page.file.src_uri
    home = pages()[place][0] if place in pages() else f"docs/{place}"
    markdown = _MARK.sub(lambda mark: TABLES[mark[1]](), markdown)
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    # What is between blocks has links, every second part is a block.
    parts[::2] = [_LINKED.sub(lambda link: _led(link, home, place, files), part) for part in parts[::2]]
    parts[1::2] = [_block(part) for part in parts[1::2]]
    return "".join(parts)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return a page whose scripts are files: where it is served no script within a page runs."""
    scripts: dict[str, str] = {}

    def led_out(match: re.Match[str]) -> str:
        name = f"assets/javascripts/page-{abs(hash_of(match[1])):x}.js"
        scripts[name] = match[1]
        return f'<script src="{posixpath.relpath(name, posixpath.dirname(page.file.dest_uri) or ".")}"></script>'

    output = re.sub(r"<script>(.*?)</script>", led_out, output, flags=re.DOTALL)
    for name, text in scripts.items():
        file = Path(config.site_dir) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return output


def on_post_build(config: MkDocsConfig) -> None:
    """Remove what nobody asks the service for: a page for what is not found, and what other languages need."""
    site = Path(config.site_dir)
    for path in (site / "404.html", *site.glob("sitemap.xml*"), *site.glob("assets/**/*.map")):
        path.unlink(missing_ok=True)
    shutil.rmtree(site / "assets" / "javascripts" / "lunr")


def hash_of(text: str) -> int:
    """Return a number of a text that is the same in every process."""
    number = 0
    for byte in text.encode():
        number = (number * 31 + byte) % (1 << 61)
    return number


def _led(link: re.Match[str], home: str, place: str, files: Files) -> str:
    """Return a link of a document as one of the site; its text alone where it leads to what is no page."""
    if not link["target"] and home != FORMATS_FILE:
        return link.group()
    # A format's section is a page of its own, so what links to another one within the file leads to a page as well.
    path = posixpath.normpath(posixpath.join(posixpath.dirname(home), link["target"])) if link["target"] else home
    target, anchor = _place(path, link["anchor"] or "")
    if files.get_file_from_path(target) is None:
        if not (ROOT / path).exists():
            raise SystemExit(f"{home}: {link['target']} leads nowhere")
        return link["text"]
    return f"[{link['text']}]({posixpath.relpath(target, posixpath.dirname(place) or '.')}{anchor})"


def _block(block: str) -> str:
    """Return a block of code with its language alone; a request becomes the command that sends it."""
    first, _, rest = block.partition("\n")
    language = first.removeprefix("```").partition(" ")[0]
    text = rest.removesuffix("```")
    if language == "http":
        return f"```sh\n{curl(text)}\n```"
    return f"```{language}\n{text}```"


# The reference of the operations


def operations_page(text: str) -> str:
    """Return a page of the interface with what the operations say themselves below each section."""
    document = OpenApiDocument(OPERATIONS, "").document
    head, *parts = _SECTION.split(text)
    # In the navigation they stand under "Operations".
    sections = [re.sub(r"^# The interface: (.)", lambda title: f"# {title[1].upper()}", head)]
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        words = re.split(r"[ ,?]+", heading)
        found = [
            _operation(document, method, path)
            for path in words
            for method in words
            if method.lower() in document["paths"].get(path, ())
        ]
        sections.append(f"## `{heading}`\n{body.rstrip()}\n\n{''.join(found)}\n")
    return "".join(sections)


def _operation(document: Json, method: str, path: str) -> str:
    """Return what the OpenAPI document says of an operation, folded."""
    operation = document["paths"][path][method.lower()]
    lines = [f"*{operation['description']}*", ""]
    if operation["parameters"]:
        lines += _table(("parameter", "", ""), [_parameter(each) for each in operation["parameters"]])
    body = operation.get("requestBody", {}).get("content", {})
    lines += _members_table(document, "body", body)
    status, answer = next(each for each in operation["responses"].items() if each[0] < "400")
    lines += _members_table(document, f"answer, {status}", answer.get("content", {}))
    errors = [(status, each["description"]) for status, each in operation["responses"].items() if status >= "400"]
    lines += _table(("error", ""), errors)
    indented = "\n".join(f"    {line}" if line else "" for line in lines)
    return f'??? info "{method} {path}: parameters, body, answer, errors"\n\n{indented}\n\n'


def _parameter(parameter: Json) -> tuple[str, str, str]:
    kind = f"{parameter['in']}, {_kind(parameter['schema'])}"
    return f"`{parameter['name']}`", kind, parameter["description"] + _bounds(parameter["schema"])


def _members_table(document: Json, title: str, content: Json) -> list[str]:
    rows = [
        row for form in list(content.values())[:1] for row in _members(document, form["schema"], "", 0, frozenset())
    ]
    return _table((title, "", ""), rows) if rows else []


def _members(document: Json, given: Json, name: str, depth: int, above: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """Yield the members below a schema, depth first, with their whole names (``content[].id``)."""
    schema = _resolved(document, given)
    reference = given.get("$ref", "")
    # A schema within itself, such as categories, is listed once on the way down.
    if depth > _MAX_DEPTH or reference in above:
        return
    above |= {reference} - {""}
    for member, inner in schema.get("properties", {}).items():
        full = f"{name}.{member}" if name else member
        whole = _resolved(document, inner)
        yield f"`{full}`", _kind(whole), inner.get("description", whole.get("description", "")) + _bounds(whole)
        yield from _members(document, inner, full, depth + 1, above)
    if "items" in schema:
        yield from _members(document, schema["items"], f"{name}[]", depth + 1, above)


def _resolved(document: Json, schema: Json) -> Json:
    """Return what a schema refers to; of several choices the first one that is not null."""
    choices = schema.get("oneOf") or schema.get("anyOf")
    if choices:
        chosen = next((each for each in choices if each.get("type") != "null"), choices[0])
        return {**_resolved(document, chosen), **{k: v for k, v in schema.items() if k not in {"oneOf", "anyOf"}}}
    if "$ref" not in schema:
        return schema
    return _resolved(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])


def _kind(schema: Json) -> str:
    kind = schema.get("type", "any value")
    names = [kind] if isinstance(kind, str) else list(kind)
    return " or ".join({"array": "list"}.get(name, name) for name in names)


def _bounds(schema: Json) -> str:
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
        facts.append(f"default {json.dumps(schema['default'])}")
    return f" ({'; '.join(facts)})" if facts else ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, with an empty one behind it."""
    cells = [[" ".join(str(cell).replace("|", "\\|").split()) for cell in row] for row in rows]
    written = [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *cells)]
    return [*written, ""]


# Tables of other parts of the code


def _fields(record: type) -> Iterator[tuple[str, str, str]]:
    """Yield the members of a record of settings: name in the file, default, and what its docstring says."""
    (tree,) = ast.parse(inspect.getsource(record)).body
    texts = {
        before.target.id: after.value.value
        for before, after in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    }
    for field in msgspec.structs.fields(record):
        default = msgspec.to_builtins(None if field.default is msgspec.NODEFAULT else field.default)
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        text = texts[field.name].replace("``", "`")
        yield field.encode_name, "none" if default is None else f"`{json.dumps(default)}`", text


def settings_table() -> str:
    """Return the settings of the service; those that may change while it runs are marked."""
    reloaded = {name.replace("_", "-") for name in settings.RELOADED}
    rows = [
        (f"`{name}`{' *' if name in reloaded else ''}", default, text)
        for name, default, text in _fields(settings.NodeSettings)
    ]
    return "\n".join(_table(("setting", "default", "what it does"), rows))


def plans_table() -> str:
    """Return the members of a plan."""
    rows = [(f"`{name}`", default, text) for name, default, text in _fields(settings.PlanSettings)]
    return "\n".join(_table(("member of a plan", "default", "what it does"), rows))


def groups_table() -> str:
    """Return the members of a group of people."""
    rows = [(f"`{name}`", default, text) for name, default, text in _fields(settings.GroupSettings)]
    return "\n".join(_table(("member of a group", "default", "what it does"), rows))


def metrics_table() -> str:
    """Return the metrics, with their kinds and labels."""
    rows = []
    metrics = Metrics()
    for collector in (*vars(metrics).values(), *vars(metrics.of(RowMetrics)).values()):
        if hasattr(collector, "describe") and hasattr(collector, "_labelnames"):
            (metric,) = collector.describe()
            name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            labels = ", ".join(f"`{label}`" for label in collector._labelnames)  # noqa: SLF001  # told nowhere else
            rows.append((f"`{name}`", metric.type, labels, metric.documentation))
    return "\n".join(_table(("metric", "kind", "labels", "what it tells"), rows))


def errors_table() -> str:
    """Return the codes of errors."""
    kinds = problem_kinds().items()
    rows = [(f"`{code}`", str(kind.status), f"**{kind.title}.** {kind.explanation}") for code, kind in kinds]
    return "\n".join(_table(("code", "status", "what it means, and what to do"), rows))


def commands_table() -> str:
    """Return the commands with their options, as `--help` says them."""
    return "\n".join(_commands(cli.commands, click.Context(cli.commands, info_name="penchant")))


def _commands(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _commands(inner, click.Context(inner, info_name=name, parent=context))
        return
    yield f"### {context.command_path}\n\n{inspect.cleandoc(command.help or '')}\n"
    records = [each.get_help_record(context) for each in command.params]
    rows = [(f"`{record[0]}`", record[1]) for record in records if record is not None]
    yield "\n".join(_table(("option", ""), rows)) if rows else ""


def hooks_table() -> str:
    """Return the hooks by which packages bring things, with what each is to return."""
    tree = ast.parse(inspect.getsource(hooks))
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
    modules = {name.name: each.module for each in imports for name in each.names}
    (record,) = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "Hooks"]
    rows = []
    for each in record.body:
        if isinstance(each, ast.FunctionDef) and each.returns is not None:
            returned = ast.unparse(each.returns).strip("'")
            kind = re.split(r"[^\w]", returned.removeprefix("Iterable[").removeprefix("type["))[0]
            given = ", ".join(argument.arg for argument in each.args.args[1:])
            text = (ast.get_docstring(each) or "").replace("``", "`")
            rows.append((f"`{each.name}({given})`", f"`{returned}`", f"`{modules.get(kind, hooks.__name__)}`", text))
    return "\n".join(_table(("hook", "returns", "of", ""), rows))


def tools_table() -> str:
    """Return the tools for agents, with what they take beside a source."""
    rows = [
        (
            f"`{name}`",
            ", ".join(f"`{each}`" for each in tool.schema["properties"] if each != "source"),
            tool.description,
        )
        for name, tool in TOOLS.items()
    ]
    return "\n".join(_table(("tool", "takes", ""), rows))


def actions_table() -> str:
    """Return the names by which imports know what people did, by type."""
    rows = [(f"`{kind.value}`", ", ".join(names.split())) for kind, names in ACTION_NAMES.items()]
    return "\n".join(_table(("type", "names beside its own"), rows))


def client_table() -> str:
    """Return the methods of the Python client."""
    methods = inspect.getmembers(Methods, inspect.isfunction)
    rows = [(f"`{name}`", (inspect.getdoc(each) or "").partition("\n")[0].replace("``", "`")) for name, each in methods]
    return "\n".join(_table(("method", ""), rows))


TABLES: Mapping[str, Callable[[], str]] = {
    "hooks": hooks_table,
    "actions": actions_table,
    "tools": tools_table,
    "settings": settings_table,
    "plans": plans_table,
    "groups": groups_table,
    "metrics": metrics_table,
    "errors": errors_table,
    "commands": commands_table,
    "client": client_table,
}
"""What is made of the code, by the name in the documents."""
