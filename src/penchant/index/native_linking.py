"""Native linking: an object file of a kernel as one image that runs at any address, so that loading it takes no linker.

The compiler writes whole addresses (its large code model), in an ELF file like this:

    header -> section headers -> .text, .rodata ...   what is to lie in memory
                              -> .symtab, .strtab     names: section and offset, or no section for memset and its like
                              -> .rela.text ...       write the address of a symbol, plus a number, here: 8 bytes

Laid one after the other, with the places noted that want an address, the sections are an image. Whatever else an object
file has, of another processor or system, is left to LLVM's loader.
"""

import struct
from typing import NamedTuple

import msgspec

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_X86_64 = 62
_ABSOLUTE = 1
"""R_X86_64_64: the whole address."""
_IN_MEMORY, _SYMBOLS, _RELOCATIONS, _EMPTY = 2, 2, 4, 8


class NativeImage(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of a kernel: where it begins, and the places that get an address plus a number.

    ``inner`` are offsets with what is added to the image's own address, ``outer`` with the name of a function of C.
    """

    memory: bytes
    entry: int
    inner: tuple[tuple[int, int], ...]
    outer: tuple[tuple[int, str], ...]


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_bytes: int


def link(code: bytes, symbol: str) -> NativeImage | None:
    """Return the image of an object file that begins with a symbol's function; ``None`` where it has other parts."""
    if code[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", code, 18)[0] != _X86_64:
        return None
    (table,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
    sections = [_Section(*_SECTION.unpack_from(code, table + i * _SECTION.size)) for i in range(count)]
    memory, places = _laid_out(code, sections)
    symbols = _symbols(code, sections)
    inner, outer = [], []
    for section in sections:
        if section.kind != _RELOCATIONS or section.info not in places:
            continue
        for at, info, addend in _RELOCATION.iter_unpack(code[section.offset : section.offset + section.size]):
            name, home, value = symbols[info >> 32]
            if info & 0xFFFFFFFF != _ABSOLUTE or (home and home not in places) or (not home and addend):
                return None
            if home:
                inner.append((places[section.info] + at, places[home] + value + addend))
            else:
                outer.append((places[section.info] + at, name))
    entry = next(places[home] + value for name, home, value in symbols if name == symbol)
    return NativeImage(memory=memory, entry=entry, inner=tuple(inner), outer=tuple(outer))


def _laid_out(code: bytes, sections: list[_Section]) -> tuple[bytes, dict[int, int]]:
    """Return the sections one after the other, and where each begins; without how stacks are unwound."""
    names = sections[struct.unpack_from("<H", code, 62)[0]]
    memory, places = bytearray(), {}
    for number, section in enumerate(sections):
        name = code[names.offset + section.name :].partition(b"\0")[0]
        if not section.flags & _IN_MEMORY or name == b".eh_frame":
            continue
        memory += bytes(-len(memory) % max(1, section.alignment))
        places[number] = len(memory)
        memory += bytes(section.size) if section.kind == _EMPTY else code[section.offset :][: section.size]
    return bytes(memory), places


def _symbols(code: bytes, sections: list[_Section]) -> list[tuple[str, int, int]]:
    """Return the names of all symbols with their section, 0 for none, and offset."""
    table = next(section for section in sections if section.kind == _SYMBOLS)
    texts = sections[table.link].offset
    found = _SYMBOL.iter_unpack(code[table.offset : table.offset + table.size])
    return [(code[texts + name :].partition(b"\0")[0].decode(), home, value) for name, _, _, home, value, _ in found]
