"""F12: small files that claim or unpack to huge ones. A reader refuses them, and stays below half a gibibyte."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

pytestmark = pytest.mark.slow

MOST_RESIDENT = 512 << 10  # KiB, as the kernel counts it
READ_ALL = """
import json, sys
from statveil.data.readers import read_microdata
from statveil.core.errors import StatveilError
told = []
for path in sys.argv[1:]:
    try:
        with read_microdata(path).engine.session() as session:
            told.append(str(session.query("SELECT sum(CAST(c0 AS VARCHAR) <> '') AS filled FROM records")["filled"][0]))
    except StatveilError as error:
        told.append(error.message)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # ru_maxrss would count the parent's as well
print(json.dumps([told, int(peak.split()[1])]))
"""


def gzip_bomb(path: Path) -> None:
    """64 MiB of CSV in less than one."""
    with path.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        file.write(b"region,turnover\n")
        for _ in range(32):
            file.write(b"north,1\n" * (1 << 18))


def workbook_bomb(path: Path) -> None:
    """A workbook whose sheet unpacks to 64 MiB, a thousand times its size."""
    plain = path.with_suffix(".plain")
    workbook = xlsxwriter.Workbook(plain)
    workbook.add_worksheet().write_row(0, 0, ["region", "turnover"])
    workbook.close()
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for member in source.infolist():
            if member.filename == "xl/worksheets/sheet1.xml":
                with target.open(member.filename, "w") as sheet:
                    for _ in range(64):
                        sheet.write(b" " * (1 << 20))
            else:
                target.writestr(member, source.read(member))


def lying_footer(path: Path) -> None:
    """A Parquet file whose footer says that it has 2^31 - 1 bytes."""
    pq.write_table(pa.table({"turnover": [1, 2]}), path)
    content = bytearray(path.read_bytes())
    content[-8:-4] = (2**31 - 1).to_bytes(4, "little")
    path.write_bytes(content)


def lying_page(path: Path) -> None:
    """A Parquet file whose first page says that it unpacks to 2^31 - 1 bytes: field 2 of its header, a zigzag number of five bytes."""
    pq.write_table(pa.table({"turnover": [1, 2, 3]}), path, compression="snappy", use_dictionary=False)
    content = bytearray(path.read_bytes())
    assert content[4:6] == b"\x15\x00", "a page of data, and then its size unpacked"
    assert content[6] == 0x15
    content[7:8] = b"\xfe\xff\xff\xff\x0f"
    path.write_bytes(content)


def many_columns(path: Path) -> None:
    names = [f"c{number}" for number in range(1_000_000)]
    path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")


BOMBS = {"a.csv.gz": gzip_bomb, "b.xlsx": workbook_bomb, "c.parquet": lying_footer, "d.csv": many_columns, "e.parquet": lying_page}


def test_f12_bombs_are_refused_and_the_reader_stays_small(tmp_path: Path) -> None:
    (tmp_path / "honest.csv").write_text("region,turnover\nnorth,1\n")
    for name, lay in BOMBS.items():
        lay(tmp_path / name)
    paths = [str(tmp_path / name) for name in ("honest.csv", *BOMBS)]
    done = subprocess.run([sys.executable, "-c", READ_ALL, *paths], capture_output=True, text=True, check=True, timeout=120)
    told, resident = json.loads(done.stdout)
    told = [words.removeprefix(str(tmp_path)) for words in told]
    assert told[0] == "1"
    assert "/a.csv.gz, byte " in told[1]
    assert told[2] == "/b.xlsx unpacks to more than 10 MiB."
    assert told[3] == "/c.parquet is not a Parquet file."
    assert told[4] == "/d.csv has more than 10,000 columns."
    assert "/e.parquet" in told[5]
    assert resident < MOST_RESIDENT
