"""``penchant keywords``: which keywords are likely meant as one, and putting a file in force that says so."""

import io
import sys
from pathlib import Path

import click

from penchant.cli import SentenceGroup
from penchant.cli.locations import DataLocation, data_options, existing_file
from penchant.cli.options import COMMAND_LINE, account_option, head_of, new_file, view_of
from penchant.cli.output import output_file
from penchant.findings import KeywordVariants, variants
from penchant.importing import (
    StoredTarget,
    VariantRow,
    put_in_force,
    read_vocabulary_file,
    write_table,
)
from penchant.vocabulary import MAX_ENTRIES, Vocabulary, keyword_name

_category_option = click.option("--category", help="Category that a thesaurus' labels are keywords of (SKOS).")
_language_option = click.option(
    "--language",
    "languages",
    multiple=True,
    metavar="CODE",
    help="Language of labels that count; repeatable, the first one names (SKOS; default all).",
)


@click.group(cls=SentenceGroup)
def keywords() -> None:
    """Find keywords that are written in several ways, and have them count as one."""


@keywords.command(name="variants")
@data_options
@account_option
@click.option("--source", required=True, help="Source to look through.")
@click.option("--output", type=new_file, help="File; default stdout.")
def list_variants(*, location: DataLocation, account: str, source: str, output: Path | None) -> None:
    """Write a table of keywords that differ in case, accents, blanks, hyphens or an English plural only.

    Each stands beside that of its group which most pieces have. Those that say nothing have no second keyword: they are
    to be ignored. Look the table over, delete what is wrong, and put it in force by `penchant keywords apply`.
    """
    with location.opened() as (settings, storage):
        alike = variants(view_of(storage, Path(settings.data), account, source).snapshot)
    rows = _rows(alike)
    table = io.StringIO(newline="")
    write_table(rows, table)
    if output is None:
        sys.stdout.write(table.getvalue())
    else:
        with output_file(output) as file:
            file.write(table.getvalue().encode())
    groups, useless = len(alike.groups), len(alike.useless)
    click.echo(f"{source}: keywords written in several ways: {groups}, saying nothing: {useless}", err=True)
    if not alike.complete:
        click.echo("There are more keywords than are looked at; the rest is left out.", err=True)
    if len(rows) > MAX_ENTRIES:
        click.echo(f"A vocabulary has up to {MAX_ENTRIES} keywords; keep those that most pieces have.", err=True)


def _rows(alike: KeywordVariants) -> list[VariantRow]:
    """Return the rows of a table: what stands for the first of its group, and what is to be ignored."""
    rows = []
    for first, *others in alike.groups:
        target = keyword_name(*first.term)
        rows += [VariantRow(keyword_name(*each.term), target, each.pieces) for each in others]
    return rows + [VariantRow(keyword_name(*each.term), "", each.pieces) for each in alike.useless]


@keywords.command()
@data_options
@account_option
@click.option("--source", required=True, help="Source whose keywords they are.")
@click.argument("path", type=existing_file, metavar="FILE")
@_category_option
@_language_option
@click.option("--replace", "replaces", is_flag=True, help="Instead of the vocabulary in force, not beside it.")
def apply(
    *,
    location: DataLocation,
    account: str,
    source: str,
    path: Path,
    category: str | None,
    languages: tuple[str, ...],
    replaces: bool,
) -> None:
    """Have keywords count as others, and some for nothing, as a file says, also while a server runs on the same data.

    A table has the columns from and to, keywords with their categories (genre/Noir); those without a second one count
    for nothing. Of a thesaurus in SKOS (RDF/XML, Turtle; penchant[skos]) other labels stand for the preferred one.
    """
    file = read_vocabulary_file(path, category=category, languages=languages)
    with location.opened() as (_, storage):
        head_of(storage, account, source)
        target = StoredTarget(storage, account=account, source=source, actor=COMMAND_LINE)
        in_force = put_in_force(target, file.vocabulary, replaces=replaces)
    for remark in file.remarks:
        click.echo(remark, err=True)
    click.echo(f"{source}: {describe(in_force)}", err=True)


def describe(vocabulary: Vocabulary) -> str:
    """Return in words what a vocabulary says."""
    return f"keywords that count as others: {len(vocabulary.aliases)}, for nothing: {len(vocabulary.ignored)}"
