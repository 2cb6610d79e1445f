"""The verdict after an import: what lists come of it, by the product's own index, and what would make better ones."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from import_folders import Folder, run
from penchant.importing import StoredTarget, count_figures, sampled_source
from penchant.model import SourceSettings
from penchant.storage import Storage
from penchant.wire.settings import read_settings
from penchant_import.advice import ImportVerdict, judge, verdict_lines
from penchant_import.hosting import Settings
from penchant_import.options import ImportOptions, KeywordColumn
from penchant_import.remote import RemoteTarget
from penchant_import.rules import DEFAULT_WORDS
from penchant_import.running import Import, new_source_settings
from penchant_words.settings import settings_by
from penchant_words.texts import WordRule

NOW = 1_700_000_000_000
BOOKS = (
    "Book Id,Title,Author,Bookshelves,Format,Review",
    '1,Dune,Herbert,"sf, desert",Book,A long review of the desert planet with its worms.',
    '2,Emma,Austen,"classics, romance",Book,A long review of matchmaking in a village.',
    '3,Persuasion,Austen,"classics, romance",Book,A long review of second chances in Bath.',
    "4,Ubik,Dick,sf,Book,A long review of coins and of a half life.",
)


def verdict_of(folder: Folder, name: str = "csv", **options: Any) -> ImportVerdict:
    """Return the verdict of a dry run."""
    chosen = ImportOptions(**options)
    work = run(name, folder, None, options=chosen)
    settings = new_source_settings(chosen, work.sample.pieces.values())
    return judged(work, settings, name)


def judged(
    work: Import, settings: Settings, name: str = "csv", *, is_there: bool = False, image_hosts: Sequence[str] = ()
) -> ImportVerdict:
    """Return the verdict about what an import has read."""
    source = sampled_source(work.sample, read_settings(settings), work.tally.pieces, NOW)
    figures = count_figures(replace(source, image_hosts=image_hosts), work.sample.pieces.values(), NOW)
    return judge(figures, work.sample, name, settings, is_there=is_there)


def column(category: str, name: str) -> KeywordColumn:
    return KeywordColumn(column=name, category=category)


def test_pieces_that_share_no_keyword_are_counted_and_columns_that_would_join_them_are_named(folder: Folder) -> None:
    folder.write("books.csv", *BOOKS)

    verdict = verdict_of(folder, keywords=(column("author", "Author"),))

    assert (verdict.pieces, verdict.alone, verdict.lists, verdict.empty, verdict.unordered) == (4, 2, 4, 2, 0)
    assert verdict.advice[0].startswith("--keywords bookshelves=Bookshelves:, makes keywords of Bookshelves")
    assert verdict.advice[1].startswith("--words label,extras.Review makes keywords of the words")


def test_advice_that_was_taken_is_not_given_again(folder: Folder) -> None:
    folder.write("books.csv", *BOOKS)
    shelves = KeywordColumn(column="Bookshelves", category="shelf", separator=",")

    verdict = verdict_of(folder, keywords=(column("author", "Author"), shelves))

    assert (verdict.alone, verdict.empty, verdict.advice) == (0, 0, [])


def test_words_are_those_of_label_and_description_unless_there_shall_be_none(folder: Folder) -> None:
    texts = ("worms of the desert", "worms in a garden", "a desert garden")
    folder.write("shop.csv", "id,title,description", *(f"{n},Name {n},{text}" for n, text in enumerate(texts)))

    with_words, without = verdict_of(folder), verdict_of(folder, words=())

    assert (with_words.alone, with_words.by_words, with_words.empty) == (0, 3, 0)
    assert any("3 of 3 pieces share a keyword with another (3 of them only words" in line for line in told(with_words))
    assert (without.alone, without.by_words, without.empty) == (3, 0, 3)
    assert without.advice == ["--words label makes keywords of the words in these texts"]


def told(verdict: ImportVerdict) -> list[str]:
    return list(verdict_lines("s", verdict, dry_run=False))


def test_texts_beside_those_that_words_are_taken_from_are_advised_too(folder: Folder) -> None:
    folder.write("books.csv", *BOOKS)
    options = ImportOptions(keywords=(column("author", "Author"),))
    work = run("csv", folder, None, options=options)

    (advice,) = [each for each in judged(work, {"words": DEFAULT_WORDS}).advice if "--words" in each]
    there = judged(work, {}, is_there=True).advice

    assert advice.startswith("--words label,extras.Review makes")
    assert any('the setting {"words":{"from":["label","extras.Review"]}} makes keywords' in each for each in there)


def test_columns_that_would_join_pieces_are_named_where_only_words_do(folder: Folder) -> None:
    kinds = ("Dramas, Comedies", "Comedies, Horror", "Horror, Dramas")
    folder.write("films.csv", "id,title,listed_in", *(f'{n},A town {n},"{kind}"' for n, kind in enumerate(kinds)))

    verdict = verdict_of(folder)

    assert (verdict.alone, verdict.by_words, verdict.unordered) == (0, 3, 3)
    assert verdict.advice[0].startswith("--keywords listed_in=listed_in:, makes keywords of listed_in")


def test_the_language_of_titles_too_short_to_tell_it_is_advised(folder: Folder) -> None:
    titles = ("The Firm", "The Piano", "The Sea", "The Wall", "Jaws", "Alien")
    folder.write("films.csv", "id,title", *(f"{n},{title}" for n, title in enumerate(titles)))
    work = run("csv", folder, None)

    unordered = judged(work, work.source_settings())
    there = judged(work, work.source_settings(), is_there=True)
    english = verdict_of(folder, language="en")

    assert unordered.advice[-1].startswith("--language en leaves out the stop words of texts that are too short")
    assert 'the setting {"words":{"from":["label"],"language":"en"}} leaves out' in there.advice[-1]
    assert (unordered.alone, english.alone) == (2, 6)
    assert english.advice == ["nothing else in the files would join the others: they need descriptions, or keywords"]


def test_pieces_that_are_not_shown_now_are_told_instead_of_advice(folder: Folder) -> None:
    folder.write("guide.csv", "id,genre,available_until", "a,x,2001-01-01", "b,x,2001-01-01", "c,y,2001-01-01")

    verdict = verdict_of(folder)

    assert (verdict.hidden, verdict.empty, verdict.advice) == (3, 3, [])
    assert any("3 of 3 pieces are in no list now (availableFrom" in line for line in told(verdict))


def test_addresses_and_names_of_pictures_are_no_texts(folder: Folder) -> None:
    folder.write("a.csv", "id,title,cover", *(f"{n},Name{n},Some Author/Some Title ({n})/cover.jpg" for n in range(3)))

    (advice,) = verdict_of(folder).advice
    assert advice == "nothing else in the files would join the others: they need descriptions, or keywords"


def test_hosts_of_pictures_that_the_dashboard_may_not_show_yet_are_told(folder: Folder) -> None:
    hosts = ("shop.example", "cdn.example", "cdn.example", "open.example")
    folder.write("a.csv", "id,image", *(f"{n},https://{host}/{n}.jpg" for n, host in enumerate(hosts)))
    work = run("csv", folder, None)

    verdict = judged(work, work.source_settings(), image_hosts=("open.example",))

    assert verdict.picture_hosts == ["cdn.example", "shop.example"]
    assert any('image-hosts = ["cdn.example", "shop.example"]' in line for line in told(verdict))


def test_words_of_texts_count_as_they_would_in_the_source(folder: Folder) -> None:
    folder.write("books.csv", *BOOKS)

    verdict = verdict_of(folder, words=("label", "extras.Review"))

    assert (verdict.alone, verdict.empty) == (0, 0)
    assert {each.name for each in verdict.categories} == {"words", "author"}
    assert not any("--words" in each for each in verdict.advice)


def test_categories_with_one_value_for_each_piece_or_for_all_are_noise(folder: Folder) -> None:
    folder.write("books.csv", *BOOKS)

    verdict = verdict_of(folder, keywords=(column("review", "Review"), column("format", "Format")), words=())

    noise = {each.name: each.noise for each in verdict.categories}
    assert noise == {"review": "one value for each piece", "format": "one value for nearly all pieces"}
    assert "the category format is the same for nearly all pieces" in verdict.advice[-1]


def test_lists_in_which_all_is_equally_near_are_in_no_order(folder: Folder) -> None:
    folder.write("a.csv", "id,genre", "a,x", "b,x", "c,x", "d,y")

    verdict = verdict_of(folder)

    assert (verdict.empty, verdict.unordered) == (1, 3)
    assert any("1 are empty, 3 in no order" in line for line in verdict_lines("s", verdict, dry_run=True))


def test_people_who_like_a_piece_that_is_there_are_told_from_others(folder: Folder) -> None:
    folder.write("a.csv", "id,genre", "a,x", "b,x", "c,y")
    likes = [f"{who},like,{NOW // 1000}" for who in ("kim,a", "kim,b", "lee,gone")]
    folder.write("b.csv", "user,item,event,time", *likes)

    verdict = verdict_of(folder)

    assert (verdict.people, verdict.personal, verdict.liked) == (2, 1, 2)
    assert (verdict.interactions, verdict.unknown, verdict.counted_all) == (3, 1, True)
    assert {each.name for each in verdict.categories if each.telling is not None} == {"genre"}


def test_a_source_without_pieces_has_a_verdict_about_its_people(folder: Folder) -> None:
    folder.write("b.csv", "user,item,event,time", f"kim,a,like,{NOW // 1000}")

    verdict = verdict_of(folder)

    assert (verdict.pieces, verdict.lists, verdict.people, verdict.personal) == (0, 0, 1, 0)
    assert next(verdict_lines("s", verdict, dry_run=False)).startswith("  s: 1 people: 0 like a piece")


@pytest.mark.parametrize(
    ("options", "settings"),
    (
        (ImportOptions(), settings_by(WordRule(), SourceSettings(image_attribute="/image"))),
        (ImportOptions(words=()), SourceSettings(image_attribute="/image")),
        (
            ImportOptions(words=("label", "extras.review")),
            settings_by(WordRule(members=("label", "extras.review")), SourceSettings(image_attribute="/image")),
        ),
    ),
)
def test_a_source_that_an_import_makes_has_its_pictures_and_the_words_that_are_asked_for(
    folder: Folder, target: StoredTarget, options: ImportOptions, settings: SourceSettings
) -> None:
    folder.write("a.csv", "id,title,image,review", "a,Jaws,https://shop.example/a.jpg,Sharp")

    run("csv", folder, target, options=options)

    assert read_settings(target.settings()) == settings


def test_pieces_of_a_source_that_an_import_makes_have_their_words(
    folder: Folder, target: StoredTarget, storage: Storage
) -> None:
    folder.write("a.csv", "id,title,description", "a,Jaws,<p>A shark near Amity</p>")

    run("csv", folder, target)

    (text,) = storage.pieces.read_texts(storage.accounts.ensure("default"), "s", "", 10)[1]
    assert text.words.split()[1:] == [b"jaws", b"shark", b"near", b"amity"]


def test_settings_of_a_source_that_is_there_stay(folder: Folder, target: StoredTarget) -> None:
    target.submit(())
    folder.write("a.csv", "id,image", "a,https://shop.example/a.jpg")

    work = run("csv", folder, target, options=ImportOptions(words=("label",)))

    assert read_settings(target.settings()) == SourceSettings()
    (omitted,) = work.notes.all_left_out()
    assert (omitted.field, omitted.reason.startswith("the source is there already")) == ("--words", True)


def test_a_source_that_takes_no_settings_takes_its_pieces_all_the_same(folder: Folder) -> None:
    received: list[str] = []

    class ContentOnly(BaseHTTPRequestHandler):
        """A server whose key is for content alone."""

        def do_GET(self) -> None:
            self.answer(404, b'{"detail":"none"}')

        def do_PUT(self) -> None:
            self.answer(403, b'{"detail":"This key may not change settings."}')

        def do_POST(self) -> None:
            received.append(self.path)
            self.answer(202, b'{"created":1,"replaced":0}')

        def answer(self, status: int, body: bytes) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep silent."""

    folder.write("a.csv", "id,image", "a,https://shop.example/a.jpg")
    with ThreadingHTTPServer(("127.0.0.1", 0), ContentOnly) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        remote = RemoteTarget(f"http://127.0.0.1:{server.server_address[1]}", key="k", source="s")
        work = Import("csv", folder.files(), ImportOptions(), target=remote)
        work.run(lambda _done: None)
        remote.close()
        server.shutdown()
        thread.join()

    assert received == ["/s/content?words=auto", "/s/content"]
    assert [(each.field, each.reason) for each in work.notes.all_left_out()] == [
        ("imageAttribute", "The server answered 403: This key may not change settings.")
    ]
