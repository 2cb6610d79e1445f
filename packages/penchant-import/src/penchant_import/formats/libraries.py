"""Libraries: records of books and other works, as the book trade (ONIX 3) and libraries (MARC in XML) exchange them."""

import html
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from xml.etree.ElementTree import Element  # what the safe parser gives

from penchant_import.drafts import Draft, DraftKind, problem_draft
from penchant_import.files import Files, InputFile, UnreadableFile, amount
from penchant_import.markup import local_name, outline, read_items, text_of
from penchant_import.options import ImportOptions
from penchant_import.pieces import (
    FieldTaker,
    IdRegister,
    PieceBuilder,
    extra,
    hide_if,
    keywords,
    omit_field,
    parts,
    skip_field,
)
from penchant_import.report import Notes

# ONIX: https://www.editeur.org/93/Release-3.0-Downloads/ has its elements, their short names and the lists of codes.

ISBN = "isbn"
"""What ``--id-column`` says for ids that are ISBNs."""
_SHORT_NAMES: Mapping[str, str] = {
    "a001": "RecordReference", "a002": "NotificationType", "productidentifier": "ProductIdentifier",
    "b221": "ProductIDType", "b244": "IDValue", "descriptivedetail": "DescriptiveDetail", "b012": "ProductForm",
    "collection": "Collection", "titledetail": "TitleDetail", "b202": "TitleType", "titleelement": "TitleElement",
    "x409": "TitleElementLevel", "x410": "PartNumber", "b203": "TitleText", "b030": "TitlePrefix",
    "b031": "TitleWithoutPrefix", "b029": "Subtitle", "contributor": "Contributor", "b035": "ContributorRole",
    "b036": "PersonName", "b037": "PersonNameInverted", "b039": "NamesBeforeKey", "b247": "PrefixToKey",
    "b040": "KeyNames", "b047": "CorporateName", "language": "Language", "b253": "LanguageRole",
    "b252": "LanguageCode", "extent": "Extent", "b218": "ExtentType", "b219": "ExtentValue", "b220": "ExtentUnit",
    "subject": "Subject", "b067": "SubjectSchemeIdentifier", "b069": "SubjectCode", "b070": "SubjectHeadingText",
    "collateraldetail": "CollateralDetail", "textcontent": "TextContent", "x426": "TextType", "d104": "Text",
    "supportingresource": "SupportingResource", "x436": "ResourceContentType", "resourceversion": "ResourceVersion",
    "x435": "ResourceLink", "publishingdetail": "PublishingDetail", "imprint": "Imprint", "b079": "ImprintName",
    "publisher": "Publisher", "b081": "PublisherName", "b394": "PublishingStatus",
    "publishingdate": "PublishingDate", "x448": "PublishingDateRole", "b306": "Date",
    "productsupply": "ProductSupply", "supplydetail": "SupplyDetail", "j396": "ProductAvailability",
}  # fmt: skip
_BLOCKS = ("DescriptiveDetail", "CollateralDetail", "PublishingDetail")
"""Parts of a product whose elements are taken one by one."""
_READ = frozenset({"RecordReference", "NotificationType", "ProductIdentifier", "TitleDetail", "ProductSupply"})
"""Elements that are read by themselves."""
_DELETED, _PARTIAL = "05", "04"
_WITHDRAWN = frozenset({"01", "03", "05", "06", "07", "08", "11", "12", "15", "16", "17"})
"""States of publishing in which a product cannot be had: cancelled, out of print, recalled and the like."""
_UNAVAILABLE = frozenset({"01", "34", "40", "41", "42", "43", "45", "46", "47", "48", "49", "50", "51", "52"})
"""States of supply in which a product cannot be had from a supplier, now or later."""
_ROLES: Mapping[str, str] = {
    "A01": "author", "A02": "author", "A03": "author", "A12": "illustrator", "A13": "illustrator",
    "B01": "editor", "B06": "translator", "E03": "narrator", "E07": "narrator",
}  # fmt: skip
_SCHEMES: Mapping[str, str] = {
    "10": "bisac", "12": "bic", "29": "clil", "93": "thema", "94": "thema place", "95": "thema language",
    "96": "thema time", "97": "thema level", "98": "thema interest", "99": "thema style",
}  # fmt: skip
"""Schemes whose codes are keywords, and of which category."""
_WORDS = "20"
"""The scheme of free keywords, many in one text."""
_BISAC_SECTION = 3
"""Letters of a BISAC code that name its section, such as fiction."""
_TEXTS = ("03", "02")
"""Texts that describe a product, the longer one first."""
_DATES = {"01": "published", "02": "onSale", "11": "firstPublished"}
_ANNOUNCED = "09"


def read_onix(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the products of ONIX 3 messages, with reference names or short ones."""
    if options.id_column not in (None, "RecordReference", ISBN):
        raise UnreadableFile(f"Found --id-column {options.id_column}; RecordReference or {ISBN} is accepted.")
    known = IdRegister(notes)
    for file in files.select("xml", "onix", "onx"):
        for line, product in read_items(files, file, ("Product", "product")):
            for element in product.iter():
                element.tag = _SHORT_NAMES.get(name := local_name(element.tag), name)
            draft = _product(product, (file.name, line), options, notes)
            if draft is not None and (draft.problem or known.accept(draft, _product_id(product, options))):
                yield draft


def _product(product: Element, where: tuple[str, int], options: ImportOptions, notes: Notes) -> Draft | None:
    """Return the piece of a product, or its problem; ``None``, which is noted, for a part of one."""
    notification = _text(product, "NotificationType")
    if notification == _PARTIAL:
        notes.left_out(where[0], "Product", "a partial update (04): only whole products are taken", where[1])
        return None
    if notification != _DELETED and product.find("DescriptiveDetail") is None:
        detail = "Found a product without DescriptiveDetail; ONIX 3 is accepted, 2.1 has no such part."
        return problem_draft(DraftKind.PIECE, where, "DescriptiveDetail", detail)
    field = options.id_column or "RecordReference"
    isbn = _isbn(product)
    piece_id = _product_id(product, options)
    if not piece_id:
        return problem_draft(DraftKind.PIECE, where, field, f"Found a product without {field}.")
    builder = PieceBuilder(notes, *where, piece_id, id_field=field, options=options)
    builder.keep("ProductIdentifier", ISBN, isbn)
    builder.label("TitleDetail", _title(product.findall("DescriptiveDetail/TitleDetail")))
    builder.description("TextContent", _described(product.findall("CollateralDetail/TextContent")))
    if notification == _DELETED:
        builder.hide("NotificationType")
    _take_supply(builder, [text_of(item) for item in product.findall("ProductSupply/SupplyDetail/ProductAvailability")])
    for part in product:
        for element in part if part.tag in _BLOCKS else (part,):
            if element.tag not in _READ:
                _ONIX.get(element.tag, omit_field)(builder, element.tag, element)
    return builder.draft()


def _product_id(product: Element, options: ImportOptions) -> str:
    return _isbn(product) if options.id_column == ISBN else _text(product, "RecordReference")


def _take_supply(builder: PieceBuilder, states: list[str]) -> None:
    """Take whether a product can be had: of several suppliers and markets one is enough."""
    available = [state for state in states if state not in _UNAVAILABLE]
    builder.keep("ProductAvailability", "availability", next(iter(available or states), None))
    if states and not available:
        builder.hide("ProductAvailability")


def _text(element: Element, path: str) -> str:
    inner = element.find(path)
    return "" if inner is None else text_of(inner)


def _isbn(product: Element) -> str:
    """Return the ISBN of a product (15), or the number that is the same one (03)."""
    numbers = {_text(item, "ProductIDType"): _text(item, "IDValue") for item in product.findall("ProductIdentifier")}
    return (numbers.get("15") or numbers.get("03", "")).replace("-", "")


def _title(details: Iterable[Element]) -> str:
    """Return the title under which a product is known (01), or the first there is."""
    titles = {_text(item, "TitleType"): item for item in reversed(list(details))}
    detail = titles.get("01", next(reversed(titles.values()), None))
    elements = [] if detail is None else detail.findall("TitleElement")
    # The level of the product before that of the collection; of a volume without a title both tell what it is.
    elements.sort(key=lambda element: _text(element, "TitleElementLevel"))
    if elements and _own_title(elements[0]):
        return _own_title(elements[0])
    named = [_own_title(item) or _text(item, "PartNumber") for item in reversed(elements)]
    return ", ".join(name for name in named if name)


def _own_title(element: Element) -> str:
    words = _text(element, "TitlePrefix"), _text(element, "TitleText") or _text(element, "TitleWithoutPrefix")
    title, subtitle = " ".join(word for word in words if word), _text(element, "Subtitle")
    return f"{title}: {subtitle}" if title and subtitle else title


def _described(texts: list[Element]) -> str:
    """Return the text that describes a product, as HTML."""
    by_kind = {_text(item, "TextType"): item.find("Text") for item in reversed(texts)}
    text = next((by_kind[kind] for kind in _TEXTS if by_kind.get(kind) is not None), None)
    return "" if text is None else _markup(text)


def _markup(element: Element) -> str:
    """Return what is in an element as HTML: its text, which may be HTML already, or the elements in it."""
    if not len(element):
        return element.text or ""
    written: list[str] = []
    waiting: list[Element | str] = [element]
    while waiting:
        top = waiting.pop()
        if isinstance(top, str):
            written.append(top)
            continue
        written.append(f"<{top.tag}>{html.escape(top.text or '')}")
        waiting.append(f"</{top.tag}>")
        for child in reversed(top):
            waiting += [html.escape(child.tail or ""), child]
    return "".join(written)


def _take_contributor(builder: PieceBuilder, field: str, contributor: Element) -> None:
    role = _text(contributor, "ContributorRole")
    inverted = _text(contributor, "PersonNameInverted").partition(", ")
    in_order = " ".join(part for part in (inverted[2], inverted[0]) if part)
    names = (_text(contributor, item) for item in ("NamesBeforeKey", "PrefixToKey", "KeyNames"))
    name = (
        _text(contributor, "PersonName")
        or " ".join(item for item in names if item)
        or in_order
        or _text(contributor, "CorporateName")
    )
    if role not in _ROLES:
        builder.omit(f"{field} ({role})")
    elif name:
        builder.keywords(f"{field} ({role})", _ROLES[role], [name])


def _collection_names(collection: Element) -> list[str]:
    elements = collection.findall("TitleDetail/TitleElement")
    # The level 02 is that of the collection; a number stands at the level of the product.
    names = [_own_title(element) for element in elements if _text(element, "TitleElementLevel") == "02"]
    return [name for name in names if name]


def _take_subject(builder: PieceBuilder, field: str, subject: Element) -> None:
    """Take a subject's code with those above it, so that neighbouring fields have one in common; or its words."""
    scheme, code = _text(subject, "SubjectSchemeIdentifier"), _text(subject, "SubjectCode")
    heading = _text(subject, "SubjectHeadingText")
    field = f"{field} ({scheme})"
    if scheme == _WORDS:
        words = re.split(r"[;,]", heading or code)
        builder.keywords(field, "keyword", [word.strip() for word in words if word.strip()])
    elif scheme in _SCHEMES and code:
        builder.keywords(field, _SCHEMES[scheme], _levels(_SCHEMES[scheme], code))
    elif heading:
        builder.keywords(field, "subject", [heading])
    else:
        builder.omit(field)


def _levels(scheme: str, code: str) -> list[str]:
    """Return a code and those above it: a letter longer each by Thema and BIC, the section by BISAC."""
    if scheme == "bisac":
        return [code[:_BISAC_SECTION], code]
    if scheme == "clil":
        return [code]
    # A digit in front only says which of the lists of qualifiers it is.
    first = 2 if code[0].isdigit() else 1
    return [code[:end] for end in range(first, len(code))] + [code]


def _of_kinds(path: str, kinds: Collection[str], take: FieldTaker) -> FieldTaker:
    """Return what takes an element that says by a code that it is of one of these kinds; others are left out."""

    def take_kind(builder: PieceBuilder, field: str, element: Element) -> None:
        kind = _text(element, path)
        if kind in kinds:
            take(builder, field, element)
        else:
            builder.omit(f"{field} ({kind})")

    return take_kind


def _take_extent(builder: PieceBuilder, field: str, extent: Element) -> None:
    value = _text(extent, "ExtentValue")
    if _text(extent, "ExtentUnit") == "03" and re.fullmatch(r"\d{1,6}", value, re.ASCII):
        builder.keep(field, "pages", int(value))
    else:
        builder.omit(f"{field} ({_text(extent, 'ExtentType')})")


def _take_date(builder: PieceBuilder, field: str, date: Element) -> None:
    """Take a date: that of the announcement is when a product may be shown first."""
    role, digits = _text(date, "PublishingDateRole"), _text(date, "Date")
    field = f"{field} ({role})"
    match = re.match(r"(\d{4})(\d\d)?(\d\d)?", digits, re.ASCII)
    day = "-".join(part for part in match.groups() if part) if match else ""
    if role == _ANNOUNCED and len(day) == len("2026-11-01"):
        builder.moment(field, "availableFrom", day)
    elif role in _DATES and day:
        builder.keep(field, _DATES[role], day)
    else:
        builder.omit(field)


def _names_at(path: str) -> Callable[[Element], list[str]]:
    return lambda element: [name] if (name := _text(element, path)) else []


_ONIX: Mapping[str, FieldTaker] = {
    "ProductForm": extra("form", read=text_of),
    "Collection": keywords("series", read=_collection_names),
    "Contributor": _take_contributor,
    "Subject": _take_subject,
    "Language": _of_kinds("LanguageRole", ("01",), keywords("language", read=partial(_text, path="LanguageCode"))),
    "Extent": _of_kinds("ExtentType", ("00", "11"), _take_extent),
    "TextContent": _of_kinds("TextType", _TEXTS, skip_field),
    "SupportingResource": _of_kinds(
        "ResourceContentType", ("01",), extra("image", read=partial(_text, path="ResourceVersion/ResourceLink"))
    ),
    "Imprint": keywords("imprint", read=_names_at("ImprintName")),
    "Publisher": keywords("publisher", read=_names_at("PublisherName")),
    "PublishingStatus": hide_if(lambda status: text_of(status) in _WITHDRAWN),
    "PublishingDate": _take_date,
}
"""What becomes of the elements of a product."""

# MARC 21: https://www.loc.gov/marc/bibliographic/ has its fields and their parts.

_FORBIDDEN_SORT = {0x98: None, 0x9C: None}
"""Controls around words that do not count for the order, such as articles."""
_RELATORS: Mapping[str, str] = {
    "aut": "author", "author": "author", "ill": "illustrator", "illustrator": "illustrator", "edt": "editor",
    "editor": "editor", "trl": "translator", "translator": "translator", "nrt": "narrator", "narrator": "narrator",
    "act": "actor", "actor": "actor", "drt": "director", "director": "director", "film director": "director",
    "fmd": "director", "cmp": "composer", "composer": "composer", "prf": "performer", "performer": "performer",
}  # fmt: skip
"""What people did, by the codes and words of relators, and of which category they are keywords."""
_SUBDIVISIONS = {"x": "subject", "y": "period", "z": "place", "v": "genre"}
"""Parts of a heading beside its main one."""
_NO_LANGUAGE = frozenset({"und", "zxx", "mul"})
"""Codes for an unknown language, for none, and for several."""
_CLASS = re.compile(r"[A-Z]{1,3}(?=\d)")
_INITIAL = re.compile(r"\b\w\.\Z")


_NO_WORKS: Mapping[str, str] = {
    "z": "authority", "u": "holdings", "v": "holdings", "x": "holdings", "y": "holdings", "w": "classification",
    "q": "community information",
}  # fmt: skip
"""Kinds of records that describe no work, by the seventh letter of the leader."""
_ID_FIELD = re.compile(r"(?P<tag>\w{3})(?:\$?(?P<code>[a-z0-9]))?")
"""What ``--id-column`` takes: a field, of which ``$a``, or one of its parts, such as ``999$c``."""


def read_marcxml(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the records of works of MARC 21 in XML, also as a server of OAI-PMH answers with them."""
    if not (chosen := _ID_FIELD.fullmatch(options.id_column or "001")):
        raise UnreadableFile(f"Found --id-column {options.id_column}; a field such as 020 or 999$c is accepted.")
    known = IdRegister(notes)
    for file in files.select("xml", "marcxml", "mrcx"):
        kinds = Counter[str]()
        for line, element in read_items(files, file, ("record", "resumptionToken")):
            if local_name(element.tag) != "record":
                if text_of(element):
                    notes.note_further_pages(file.name, "resumptionToken", line)
                continue
            record = _MarcRecord(element)
            if reason := record.reason_left_out():
                kinds[reason] += 1
                notes.left_out(file.name, "record", reason, line)
                continue
            piece_id = record.id(chosen["tag"], chosen["code"] or "a")
            draft = _piece(record, piece_id, (file.name, line), options, notes)
            if draft.problem or known.accept(draft, piece_id):
                yield draft
        files.findings[file] = partial(_describe_records, files, file, kinds)


def _describe_records(files: Files, file: InputFile, kinds: Counter[str]) -> str:
    reasons = "; ".join(f"{amount(count, 'records')}: {reason}" for reason, count in kinds.items())
    return reasons or f"{outline(files, file)}; a file of MARC has <record>"


class _MarcRecord:
    """What is in a record of MARC: its leader, the texts of control fields by their tags, and the other fields."""

    def __init__(self, element: Element) -> None:
        self.leader = ""
        self.controls: dict[str, str] = {}
        self.fields: list[Element] = []
        self._is_deleted = False
        self._kind = ""
        self._names = set[str]()
        # OAI-PMH has the record within one of its own.
        for part in element.iter():
            name, tag = local_name(part.tag), part.get("tag", "")
            if name == "controlfield":
                self.controls.setdefault(tag, part.text or "")
            elif name == "datafield":
                self.fields.append(part)
            elif name == "leader":
                self.leader = part.text or ""
            elif name == "header":
                self._is_deleted = part.get("status") == "deleted"
            elif name == "record":
                self._kind = part.get("type", "") or self._kind
            self._names.add(name)

    def reason_left_out(self) -> str:
        """Return why the record is no piece; nothing of one that is."""
        if self._is_deleted:
            return "deleted there; delete it here, too"
        kind = _NO_WORKS.get(self.leader[6:7], "" if self.leader else self._kind.lower())
        return f"describes no work: {kind}" if kind in _NO_WORKS.values() else ""

    def id(self, tag: str, code: str) -> str:
        """Return the text of a control field, or the first of a part of another field; nothing where there is none."""
        numbers = (_first(field, code) for field in self.fields if field.get("tag") == tag)
        return self.controls.get(tag, "").strip() or next((item for item in numbers if item), "")

    def problem(self, id_field: str) -> str:
        """Return what is told of a record without an id."""
        if self.controls or self.fields:
            return f"Found a record without a field {id_field}."
        if "dc" in self._names:
            return "Found Dublin Core, no MARC; import it --from oai_dc, or ask its server for metadataPrefix=marc21."
        return "Found a record without a field of MARC."


def _piece(record: _MarcRecord, piece_id: str, where: tuple[str, int], options: ImportOptions, notes: Notes) -> Draft:
    """Return the piece of a record, or its problem."""
    id_field = options.id_column or "001"
    if not piece_id:
        return problem_draft(DraftKind.PIECE, where, id_field, record.problem(id_field))
    builder = PieceBuilder(notes, *where, piece_id, id_field=id_field, options=options)
    # The sixth letter of the leader is the record's state.
    if record.leader[5:6] == "d":
        builder.hide("leader")
    _take_coded(builder, record.controls.get("008", ""))
    for field in record.fields:
        tag = field.get("tag", "")
        _MARC.get(tag, omit_field)(builder, tag, field)
    return builder.draft()


def _subfields(field: Element, codes: str) -> list[str]:
    """Return the parts of a field with these codes, in the order of the field, without marks around them."""
    chosen = (item for item in field if item.get("code") in tuple(codes))
    return [text for item in chosen if (text := _trimmed(text_of(item)))]


def _first(field: Element, code: str) -> str:
    return next(iter(_subfields(field, code)), "")


def _trimmed(text: str) -> str:
    """Return a text without the marks that part it from what follows in a catalogue card."""
    text = " ".join(text.translate(_FORBIDDEN_SORT).split()).rstrip(" ,;:/=")
    # The dot of an initial belongs to the name.
    return text if _INITIAL.search(text) else text.removesuffix(".")


def _take_coded(builder: PieceBuilder, coded: str) -> None:
    """Take year and language of field 008, which has its values at fixed places."""
    year, language = coded[7:11], coded[35:38]
    if re.fullmatch(r"\d{4}", year, re.ASCII) and year != "9999":
        builder.keep("008/07", "year", int(year))
    if re.fullmatch("[a-z]{3}", language) and language not in _NO_LANGUAGE:
        builder.keywords("008/35", "language", [language])


def _take_person(builder: PieceBuilder, tag: str, field: Element) -> None:
    """Take a person or body by what they did; without a word of that it is an author."""
    if _subfields(field, "t"):
        builder.omit(tag, "names another work")
        return
    words = [word.rsplit("/", 1)[-1].lower() for word in _subfields(field, "4e")]
    known = next((_RELATORS[word] for word in words if word in _RELATORS), None)
    category = known or ("contributor" if words and tag >= "700" else "author")
    builder.keywords(tag, category, _subfields(field, "a")[:1])


def _take_heading(main: str) -> FieldTaker:
    """Return what takes the parts of a heading one by one: whole ones are seldom the same."""

    def take(builder: PieceBuilder, tag: str, field: Element) -> None:
        builder.keywords(tag, main, _subfields(field, "a")[:1])
        for code, category in _SUBDIVISIONS.items():
            builder.keywords(f"{tag}${code}", category, _subfields(field, code))

    return take


def _dewey(field: Element) -> list[str]:
    """Return the three digits of a class, and the whole number."""
    number = _first(field, "a").replace("/", "").strip("[]' ")
    return list(dict.fromkeys((number[:3], number))) if re.match(r"\d{3}", number, re.ASCII) else []


def _congress(field: Element) -> list[str]:
    match = _CLASS.match(_first(field, "a"))
    return [match[0]] if match else []


def _take_scheme(builder: PieceBuilder, tag: str, field: Element) -> None:
    builder.keywords(tag, _first(field, "2") or "classification", _subfields(field, "a"))


def _take_title(builder: PieceBuilder, tag: str, field: Element) -> None:
    title = _subfields(field, "anp")
    subtitle = _first(field, "b")
    builder.label(tag, ". ".join(title) + (f": {subtitle}" if subtitle else ""))


def _take_summary(builder: PieceBuilder, tag: str, field: Element) -> None:
    # With its marks, since it is read as a whole.
    builder.description(tag, " ".join(text_of(part) for part in field if part.get("code") in ("a", "b")))


def _isbn_of(field: Element) -> str:
    """Return an ISBN; a word behind it says of which binding it is."""
    return next(iter(parts(_first(field, "a"), " ")), "").replace("-", "")


def _take_publisher(builder: PieceBuilder, tag: str, field: Element) -> None:
    # In 264 others stand as well: who printed it, and who sold it.
    if tag == "264" and field.get("ind2") not in ("1", None):
        builder.omit(tag)
    else:
        builder.keywords(tag, "publisher", _subfields(field, "b"))


def _take_series(builder: PieceBuilder, tag: str, field: Element) -> None:
    # A series with the first mark 1 is named again, as it is filed, in 8XX.
    if tag == "490" and field.get("ind1") == "1":
        builder.omit(tag, "the same as 830")
    else:
        builder.keywords(tag, "series", _subfields(field, "a")[:1])


def _take_link(builder: PieceBuilder, tag: str, field: Element) -> None:
    about = " ".join(_subfields(field, "3yz")).lower()
    address = _first(field, "u")
    if "cover" in about:
        builder.keep(f"{tag} (cover)", "image", address)
    elif field.get("ind2") in ("0", "1"):
        builder.keep(tag, "link", address)
    else:
        builder.omit(tag)


_MARC: Mapping[str, FieldTaker] = {
    "020": extra(ISBN, read=_isbn_of),
    "022": extra("issn", read=partial(_first, code="a")),
    "050": keywords("lcc", read=_congress),
    "080": keywords("udc", read=partial(_subfields, codes="a")),
    "082": keywords("dewey", read=_dewey),
    "083": keywords("dewey", read=_dewey),
    "084": _take_scheme,
    **dict.fromkeys(("100", "110", "111", "700", "710", "711"), _take_person),
    "245": _take_title,
    "260": _take_publisher,
    "264": _take_publisher,
    "440": _take_series,
    "490": _take_series,
    "830": _take_series,
    "520": _take_summary,
    **{tag: _take_heading("subject") for tag in ("600", "610", "611", "630", "650")},
    "648": _take_heading("period"),
    "651": _take_heading("place"),
    "653": keywords("keyword", read=partial(_subfields, codes="a")),
    "655": _take_heading("genre"),
    "856": _take_link,
}
"""What becomes of the fields of a record."""
