"""The trade-off of a file as a folder: the page, the front in figures and, on request, the release of one point.

internal/       confidential: tradeoff.html, front.csv and front.json
release/        only on request: the release folder of the chosen point, as `statveil protect` writes it
run.json        when and how long
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from statveil.core.errors import InputError
from statveil.core.limits import OnProgress
from statveil.core.toml import to_toml
from statveil.jobs.folders.records import anonymise_to_folder
from statveil.jobs.record_job import FileJob, check_file_job
from statveil.jobs.records.tradeoff import POINTS, FileTradeoff, FileTradeoffPoint, front_figures, tradeoff_file
from statveil.jobs.staging import moved, staged, write_run, write_text
from statveil.publish.formats.numbers import percent
from statveil.publish.report.charts import OTHER_COLOUR, SENSITIVE_COLOUR, Spec, chart
from statveil.publish.report.page import VEGA, asset, json_for_page, render
from statveil.records.recode.recodings import AS_IT_IS
from statveil.version import VERSION

INTERNAL, RELEASE = "internal", "release"
LEAST, KNEE, OTHER = "least lost in all", "knee", "on the front"
CHOICES = ("least", "knee")


@dataclass(frozen=True, kw_only=True)
class FileTradeoffFolder:
    """A front and where its files are; `published` is the number of the point, if any."""

    front: FileTradeoff
    folder: Path
    files: Mapping[str, Path]
    published: int | None

    def figures(self) -> dict[str, Any]:
        return {**front_figures(self.front), "published": self.published}


def tradeoff_file_to_folder(
    job: FileJob,
    folder: Path,
    *,
    points: int | None = None,
    publish: str | None = None,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> FileTradeoffFolder:
    """The front of the job's file; with `publish` ("least", "knee" or a number) also the release of that point."""
    if publish is not None and publish not in CHOICES and not (publish.isascii() and publish.isdigit() and int(publish) >= 1):
        raise InputError(f"Unknown point {publish!r} to publish. Known: least, knee, or the number of a point.")
    with staged(folder, force=force) as place:
        started, clock = datetime.now(UTC), time.monotonic()
        front = tradeoff_file(job.microdata, job.keys(), points=points or POINTS, limits=job.limits(), on_progress=on_progress)
        number = _number(publish, front)
        (place / INTERNAL).mkdir(mode=0o700)
        name = Path(job.parts.data.file).name
        files = {
            "page": write_text(place / INTERNAL / "tradeoff.html", tradeoff_page(front, title=name)),
            "front": write_text(place / INTERNAL / "front.csv", front_csv(front)),
            "front, JSON": write_text(
                place / INTERNAL / "front.json", json.dumps(front_figures(front), indent=2, ensure_ascii=False) + "\n"
            ),
        }
        if number is not None:
            chosen = _with_recoding(job, front.points[number - 1])
            made = anonymise_to_folder(chosen, place / RELEASE, on_progress=on_progress)
            files |= {f"release: {words}": path for words, path in made.files.items()}
        files["run"] = write_run(place, started=started, seconds=time.monotonic() - clock, software={"statveil": VERSION})
    return FileTradeoffFolder(front=front, folder=folder, files=moved(files, place, folder), published=number)


def _number(publish: str | None, front: FileTradeoff) -> int | None:
    if publish is None:
        return None
    number = {"least": front.least + 1, "knee": front.knee + 1}.get(publish) or int(publish)
    if number > len(front.points):
        raise InputError(f"There is no point {number}: the front has {len(front.points)}.", hint="Nothing was written.")
    return number


def _with_recoding(job: FileJob, point: FileTradeoffPoint) -> FileJob:
    content = {**job.content, "recoding": {**job.content.get("recoding", {}), "fixed": dict(point.recoding)}}
    return FileJob(parts=check_file_job(content), content=content, base=job.base, text=to_toml(content))


def front_csv(front: FileTradeoff) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = front.coded.keys.names
    writer.writerow(["point", "wiped", "proved", "total", "recoding_loss", "blanks", "blank_cost", "blank_bound", "lost_share", *names])
    for number, each in enumerate(front.points, start=1):
        figures = [f"{value:.6f}" for value in (each.total, each.recoding_loss)]
        costs = [f"{value:.6f}" for value in (each.blank_cost, each.blank_bound, each.loss.share)]
        writer.writerow([number, " ".join(each.loss.wiped), int(each.proved), *figures, each.blanks, *costs,
                         *(each.recoding[name] for name in names)])  # fmt: skip
    return text.getvalue()


def tradeoff_page(front: FileTradeoff, *, title: str) -> str:
    charts = {"front": front_chart(front)}
    return render("file_tradeoff.html", {
        "title": title,
        "axes": [("", " × ".join(front.coded.keys.names))],
        "software": f"statveil {VERSION}",
        "release_hash": hashlib.sha256(front_csv(front).encode()).hexdigest(),
        "css": asset("templates/report.css"),
        "script": asset("templates/charts.js"),
        "vega": [asset(f"static/{name}") for name in VEGA],
        "charts": list(charts),
        "sentences": sentences(front),
        "figures": _key_figures(front),
        "points": [(_mark(front, number), _row(each)) for number, each in enumerate(front.points)],
        "front": front,
        "measure": front.points[0].loss.measure,
        "page_data": json_for_page({"charts": charts}),
    })  # fmt: skip


def sentences(front: FileTradeoff) -> list[str]:
    """The front in a few sentences."""
    first, last, least = front.points[0], front.points[-1], front.points[front.least]
    whole = "The front is proved to be whole." if front.complete else "It is not proved that the front is whole."
    shown = (
        f"{'All' if front.proved == len(front.points) else f'{front.proved} of the'} {len(front.points)} points shown are proved. {whole}"
    )
    if len(front.points) == 1:
        return [f"One recoding has both the least recoding and the fewest blanks ({first.loss.words()}): nothing to trade.", shown]
    wiped = f", with {', '.join(last.loss.wiped)} wiped in every record" if last.loss.wiped else ""
    return [
        f"From the least recoding to the fewest blanks, blanks fall from {first.blanks:,} to {last.blanks:,}, while what recoding "
        f"loses grows from {first.recoding_loss:,.0f} to {last.recoding_loss:,.0f} values{wiped}.",
        f"Point {front.least + 1} loses least in all: {least.loss.words()}.",
        shown,
    ]


def _key_figures(front: FileTradeoff) -> list[tuple[str, str, str]]:
    least, bend = front.points[front.least], front.points[front.knee]
    return [
        ("Least lost", percent(least.loss.share), f"of the key values, at point {front.least + 1}"),
        ("Blanks there", f"{least.blanks:,}", f"{front.points[0].blanks:,} at point 1"),
        ("Knee", f"point {front.knee + 1}", f"{bend.blanks:,} blanks, {percent(bend.loss.share)} of the key values lost"),
        ("Proved", f"{front.proved} of {len(front.points)}", f"points; {front.tried:,} recodings priced"),
    ]


def _mark(front: FileTradeoff, number: int) -> str:
    marks = [words for words, place in ((LEAST, front.least), (KNEE, front.knee)) if place == number]
    return ", ".join(marks)


def recoded_words(point: FileTradeoffPoint) -> str:
    return ", ".join(f"{name}: {level}" for name, level in point.recoding.items() if level != AS_IT_IS) or "nothing recoded"


def _row(point: FileTradeoffPoint) -> list[str]:
    proved = "yes" if point.proved else ("no" if point.gap == 0 else f"no, blanks within {percent(point.gap)}")
    return [", ".join(point.loss.wiped) or "–", f"{point.recoding_loss:,.0f}", f"{point.blanks:,}", f"{point.total:,.0f}",
            percent(point.loss.share), proved, recoded_words(point)]  # fmt: skip


def front_chart(front: FileTradeoff) -> Spec:
    """Blanks against what recoding loses, both in values; lines of equal loss fall from left to right."""
    kinds, colours, shapes = (OTHER, LEAST, KNEE), (OTHER_COLOUR, SENSITIVE_COLOUR, "#222222"), ("circle", "diamond", "triangle-up")
    values = [
        {"name": f"point {number + 1}", "kind": LEAST if number == front.least else KNEE if number == front.knee else OTHER,
         "recoding": round(each.recoding_loss, 3), "blanks": round(each.blank_cost, 3), "share": round(each.loss.share, 6),
         "wiped": ", ".join(each.loss.wiped) or "none", "recoded": recoded_words(each), "proved": "yes" if each.proved else "no"}
        for number, each in enumerate(front.points)
    ]  # fmt: skip
    axes = {
        "x": {"field": "recoding", "type": "quantitative", "title": "lost by recoding, values", "axis": {"format": "~s"}},
        "y": {"field": "blanks", "type": "quantitative", "title": "lost by blanks, values", "axis": {"format": "~s"}},
    }
    kind = {"field": "kind", "type": "nominal", "sort": list(kinds)}
    tooltip = [{"field": "name", "title": "point"}, {"field": "wiped"}, {"field": "recoding", "format": ",.0f"},
               {"field": "blanks", "format": ",.0f"}, {"field": "share", "title": "lost in all", "format": ".1%"},
               {"field": "proved"}, {"field": "recoded"}]  # fmt: skip
    dots = axes | {
        "color": kind | {"scale": {"domain": list(kinds), "range": list(colours)}},
        "shape": kind | {"scale": {"domain": list(kinds), "range": list(shapes)}},
        "size": {"value": 80, "condition": {"test": f"datum.kind !== '{OTHER}'", "value": 220}},
        "tooltip": tooltip,
    }
    spec = chart(values, {"type": "point", "filled": True, "opacity": 0.95}, dots, height=380)
    line = {"mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "color": OTHER_COLOUR}, "encoding": axes}
    words = {"mark": {"type": "text", "align": "left", "dx": 10, "dy": -10, "fontSize": 11}, "encoding": axes | {"text": {"field": "name"}}}
    layers = [line, {"mark": spec["mark"], "encoding": spec["encoding"]}, words]
    return {name: part for name, part in spec.items() if name not in ("mark", "encoding")} | {"layer": layers}
