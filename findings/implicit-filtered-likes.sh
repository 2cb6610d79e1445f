#!/bin/sh
# Lists of implicit have the pieces in them that somebody liked already, though these are filtered by default, as soon
# as fewer others are left than were asked for: at the end, by factors with the score -3.4e38, by neighbours with 0.
#
# Seen on 2026-11-29 with implicit 0.7.3, numpy 2.4.6, scipy 1.17.1 (CPython 3.11.7).
# Five pieces; one person likes 0, 1 and 2, one nothing, one all; five are asked for:
#   neighbours give the first 3 with 2.0, then 2, 1 and 0 with 0.0, as any piece that is not alike has it
#   for whom likes nothing they give a list of none; asked for several people at once -1, five times, as ids of pieces
#   factors give whom likes nothing all pieces with 0.0, the last one first; whom likes all, all with -3.4e38
# Nothing warns. A cut at 0 or at the length of the list keeps what was seen, and -1 is a place of numpy: the last.
#
# Why it matters here: lists of other packages are judged beside ours. In a small catalogue, or for eager people, the
# end of their lists is what was learnt from, which counts as wrong, or as right where the same likes are asked for.
#
# Output seen:
#   neighbours [3, 2, 1, 0] [2.0, 0.0, 0.0, 0.0]
#   neighbours, of nothing []
#   neighbours, several [[3, 2, 1, 0, -1], [-1, -1, -1, -1, -1]]
#   factors [2, 1, 0] at the end with -3.4e+38
#   factors, of nothing [4, 3, 2, 1, 0] [0.0]
#   factors, of all [4, 3, 2, 1, 0] [-3.4e+38]
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check implicit==0.7.3 numpy==2.4.6 scipy==1.17.1 
OPENBLAS_NUM_THREADS=1 "$folder/venv/bin/python" -W ignore - <<'PROGRAM' | tee "$folder/seen"
import numpy
from implicit.als import AlternatingLeastSquares
from implicit.nearest_neighbours import CosineRecommender
from scipy.sparse import csr_matrix

LIKES = csr_matrix(numpy.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [0] * 5, [1] * 5, [0, 0, 1, 1, 0]], numpy.float32))
SOME, NOTHING, ALL = 0, 2, 3


def fitted(model):
    model.fit(LIKES, show_progress=False)
    return lambda people: [each.tolist() for each in model.recommend(people, LIKES[people], N=5)]


def distinct(scores):
    return [float(f"{score:.2g}") for score in sorted(set(scores))]


recommend = fitted(CosineRecommender(K=3, num_threads=1))
pieces, scores = recommend(SOME)
print("neighbours", pieces, [round(score, 6) for score in scores])
print("neighbours, of nothing", recommend(NOTHING)[0])
print("neighbours, several", recommend([SOME, NOTHING])[0])
recommend = fitted(AlternatingLeastSquares(factors=2, random_state=0, num_threads=1))
pieces, scores = recommend(SOME)
print("factors", pieces[2:], "at the end with", *distinct(scores[2:]))
for name, person in (("nothing", NOTHING), ("all", ALL)):
    pieces, scores = recommend(person)
    print(f"factors, of {name}", pieces, distinct(scores))
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
neighbours [3, 2, 1, 0] [2.0, 0.0, 0.0, 0.0]
neighbours, of nothing []
neighbours, several [[3, 2, 1, 0, -1], [-1, -1, -1, -1, -1]]
factors [2, 1, 0] at the end with -3.4e+38
factors, of nothing [4, 3, 2, 1, 0] [0.0]
factors, of all [4, 3, 2, 1, 0] [-3.4e+38]
EXPECTED
