"""List lines: many lists over the same pieces as lines of JSON, the bytes that `encode` gives of each.

Records of a million entries take longer to make than to encode. What a piece is written with is encoded once, and the
scores of all lists together.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import add

from penchant.wire.encoding import encode


class ListLines:
    """Writes lists of pieces, which have numbers; ``id_of`` tells the id of one."""

    def __init__(self, id_of: Callable[[int], str]) -> None:
        self._openings = _Openings(id_of)

    def encode(
        self, ids: Sequence[str], lengths: Sequence[int], pieces: Sequence[int], scores: Sequence[float]
    ) -> Iterator[bytes]:
        """Yield the lines of lists with these ids and lengths; pieces and scores are those of all, one after the other.

        Each line is `encode` of a `RecommendationResult`, and a line feed.
        """
        texts = encode(scores)[1:-1].split(b",")
        # Bytes and bytes: no step of Python's for an entry.
        entries = list(map(add, map(self._openings.__getitem__, pieces), texts if scores else ()))
        cuts = pairwise(accumulate(lengths, initial=0))
        for each, (begin, end) in zip(ids, cuts, strict=True):
            content = b"},".join(entries[begin:end])
            yield b'{"id":%b,"content":[%b]}\n' % (encode(each), content + b"}" if content else b"")


class _Openings(dict[int, bytes]):
    """What the entry of a piece begins with, made when it is first asked for."""

    def __init__(self, id_of: Callable[[int], str]) -> None:
        super().__init__()
        self._id_of = id_of

    def __missing__(self, piece: int) -> bytes:
        opening = self[piece] = b'{"id":%b,"score":' % encode(self._id_of(piece))
        return opening
