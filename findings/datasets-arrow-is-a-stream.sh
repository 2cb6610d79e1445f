#!/bin/sh
# Files called .arrow that datasets and polars write are streams, which readers of Arrow's file format call damaged.
#
# Seen on 2026-11-28 with datasets 5.2.0, polars 2.1.0 and pyarrow 26.0.1 (CPython 3.11.7).
# Dataset.save_to_disk writes data-00000-of-00001.arrow without the mark ARROW1: pyarrow.ipc.open_file says "Not an Arrow
# file", ipc.open_stream reads it. pyarrow's own documents keep .arrow for files and .arrows for streams.
#
# Why it matters here: the ending decides nothing. A reader that believes it refuses every data set saved so, as damaged.
#
# Output seen:
#   datasets b'\xff\xff\xff\xff' file: Not an Arrow file; stream: 2 rows
#   polars b'\xff\xff\xff\xff' file: Not an Arrow file; stream: 2 rows
# Fails if any of it changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0 polars==2.1.0 pyarrow==26.0.1
cd "$folder"
HF_HOME="$folder/home" HF_DATASETS_DISABLE_PROGRESS_BARS=1 "$folder/venv/bin/python" - <<'PROGRAM' | tee "$folder/seen"
import datasets, polars, pyarrow
from pyarrow import ipc

films = {"id": ["rope", "m"]}
datasets.Dataset.from_dict(films).save_to_disk("saved")
polars.DataFrame(films).write_ipc_stream("polars.arrow")
for tool, path in (("datasets", "saved/data-00000-of-00001.arrow"), ("polars", "polars.arrow")):
    with open(path, "rb") as file:
        start = file.read(4)
    try:
        ipc.open_file(path)
        said = "opened"
    except pyarrow.ArrowInvalid as error:
        said = str(error)
    with open(path, "rb") as file:
        rows = ipc.open_stream(file).read_all().num_rows
    print(f"{tool} {start} file: {said}; stream: {rows} rows")
PROGRAM
cmp "$folder/seen" - <<'EXPECTED'
datasets b'\xff\xff\xff\xff' file: Not an Arrow file; stream: 2 rows
polars b'\xff\xff\xff\xff' file: Not an Arrow file; stream: 2 rows
EXPECTED
