"""Pages that are written from the programs they describe: commands, keys of study files, and the HTTP API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import typer.main
from typer.cli import get_docs_for_click

from clusterbandits.cli.main import app as commands
from clusterbandits.service.app import create_app
from clusterbandits.service.settings import ServiceSettings
from clusterbandits.studies.study_schema import schema_markdown
from clusterbandits.tables import Markdown, Table, markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
}


def write_pages(app: Sphinx) -> None:
    """Write the pages; one that has not changed keeps its date, and is not built again."""
    folder = Path(app.srcdir) / "reference" / "generated"
    (folder / "commands").mkdir(parents=True, exist_ok=True)
    pages = dict(_commands())
    pages["study-keys.md"] = schema_markdown().replace("### ", "## ")
    pages["http-api.md"] = _http_api()
    for name, text in pages.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def _commands() -> Iterator[tuple[str, str]]:
    group = typer.main.get_command(commands)
    context = typer.Context(group, info_name="clusterbandits")
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        text = get_docs_for_click(obj=command, ctx=context, call_prefix="clusterbandits")
        yield f"commands/{name}.md", text.replace("```console\n$ ", "```text\n")


def _http_api() -> str:
    described = create_app(ServiceSettings("sqlite:///unused.db")).openapi()
    objects = described["components"]["schemas"]
    by_tag: dict[str, list[str]] = {}
    for path, methods in described["paths"].items():
        for method, request in methods.items():
            entry = _request(f"`{method.upper()} {path}`: {request['summary'].lower()}", request)
            by_tag.setdefault(request["tags"][0], []).append(entry)
    parts = [text for tag, entries in by_tag.items() for text in (f"## {tag.capitalize()}", *entries)]
    parts += ["## Objects", *(_object(name, objects[name]) for name in sorted(objects))]
    return "\n\n".join(parts) + "\n"


def _request(title: str, request: dict[str, Any]) -> str:
    parts = [request["description"].replace("``", "`")]
    if parameters := request.get("parameters"):
        rows = [(one["name"], one["in"], _kind(one["schema"])) for one in parameters]
        parts.append(markdown_table(Table(("parameter", "in", "value"), tuple(map(_row, rows)))))
    if body := request.get("requestBody"):
        parts.append(f"Body: {_kind(_json(body))}.")
    answers = [
        (code, answer["description"].rstrip("."), _kind(_json(answer)))
        for code, answer in sorted(request["responses"].items())
    ]
    parts.append(markdown_table(Table(("status", "meaning", "body"), tuple(map(_row, answers)))))
    return _collapsed(title, parts)


def _object(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        (field, _kind(value), "yes" if field in required else "no", value.get("description", ""))
        for field, value in schema.get("properties", {}).items()
    ]
    table = Table(("field", "value", "always there", "meaning"), tuple(map(_row, rows)))
    return _collapsed(name, [f"({_target(name)})=", schema.get("description", ""), markdown_table(table)])


def _row(cells: tuple[str, ...]) -> tuple[Markdown, ...]:
    first, *others = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return (Markdown(f"`{first}`"), *map(Markdown, others))


def _collapsed(title: str, parts: list[str]) -> str:
    return "\n\n".join([f"::::{{dropdown}} {title}", *filter(None, parts), "::::"])


def _json(holder: dict[str, Any]) -> dict[str, Any]:
    content = holder.get("content", {"": {}})
    kind: dict[str, Any] = content.get("application/json", next(iter(content.values()))).get("schema", {})
    return kind


def _target(name: str) -> str:
    return f"http-{name.lower()}"


def _kind(schema: dict[str, Any]) -> str:
    """Return in words what a JSON schema allows."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_target(name)})"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return _with_default(" or ".join(dict.fromkeys(map(_kind, choices))), schema)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return _with_default(" or ".join(f"`{value}`" for value in values), schema)
    kind = schema.get("type", "")
    text = {"array": "list", "object": "object", "null": "`null`", "string": "text", "": ""}.get(kind, kind)
    if kind == "array" and schema.get("items"):
        text = f"list of {_kind(schema['items'])}"
    values = list(schema.get("patternProperties", {}).values()) or [schema.get("additionalProperties")]
    if kind == "object" and isinstance(values[0], dict) and values[0]:
        text = f"object with values: {_kind(values[0])}"
    limits = [words.format(f"{schema[key]:g}") for key, words in _LIMITS.items() if key in schema]
    return _with_default(", ".join([text, *limits]), schema)


def _with_default(text: str, schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return text if default is None else f"{text}; default: `{default}`"


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before any is read."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
