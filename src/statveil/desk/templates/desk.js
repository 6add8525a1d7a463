"use strict";
// The pages work without this: it only spares reloading, and adds keys and dropping of files.

async function swap(address, ids) {
  const answer = await fetch(address);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ids) {
    const old = document.getElementById(id), made = fresh.getElementById(id);
    if (old && made) old.replaceWith(document.adoptNode(made));
    else if (old) return location.reload();  // the page is another one now: a comparison that has ended
  }
}

// A run that is under way: ask where it stands until it has ended.
async function follow() {
  if (!document.querySelector("[data-live]")) return;
  try { await swap(location.href, ["live", "history"]); } catch { /* the desk is closed: ask again */ }
  setTimeout(follow, 1000);
}
setTimeout(follow, 1000);

// A rule under the hand: counts and map follow; the job changes only with the button.
let waiting;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-try]");
  if (!form) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const asked = new URLSearchParams(location.search);
    for (const [name, value] of new FormData(form)) if (name !== "state" && name !== "here") asked.set("try " + name, value);
    swap("/risk?" + asked, ["map", "counts"]);
  }, 120);
});

// The codes of a dimension that the map does not show, one after the other: the map follows, and the address with it.
let sliding;
for (const slide of document.querySelectorAll(".slide")) slide.hidden = false;
document.addEventListener("input", (event) => {
  const slide = event.target.closest(".slide");
  if (!slide) return;
  const codes = document.getElementById(slide.dataset.for);
  codes.selectedIndex = slide.value;
  slide.setAttribute("aria-valuetext", codes.selectedOptions[0].text);
  clearTimeout(sliding);
  sliding = setTimeout(() => {
    const asked = new URLSearchParams(location.search);
    asked.set(codes.name, codes.value);
    asked.delete("cell");
    history.replaceState(null, "", location.pathname + "?" + asked);
    for (const here of document.querySelectorAll("[name=here]")) here.value = asked;
    swap(location.href, ["map"]);
  }, 60);
});

// A form that shows what it would give: the parts named follow, the job stays.
let looking;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-look]");
  if (!form) return;
  clearTimeout(looking);
  looking = setTimeout(() => {
    const asked = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (name !== "state") asked.append(name, value);
    swap(form.dataset.look + "?" + asked, form.dataset.parts.split(" "));
  }, 250);
});

// Keys in the map.
const MOVES = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
document.addEventListener("keydown", (event) => {
  const cell = event.target.closest(".map td, .map th");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  let next = null;
  if (event.key in MOVES) {
    const [down, right] = MOVES[event.key], rows = [...cell.closest("table").rows];
    let row = rows.indexOf(cell.parentElement), column = cell.cellIndex;
    do { row += down; column += right; next = rows[row] && rows[row].cells[column] && rows[row].cells[column].querySelector("a, button"); }
    while (!next && rows[row] && rows[row].cells[column]);
  } else if (event.key === "s") {
    const all = [...cell.closest("table").querySelectorAll("td.sensitive button")];
    next = all.find((each) => cell.compareDocumentPosition(each) === Node.DOCUMENT_POSITION_FOLLOWING) || all[0];
  } else return;
  event.preventDefault();
  if (next) next.focus();
});

// The cell whose card is open may stand beyond the edge of a wide map.
const chosen = document.querySelector(".map td.chosen");
if (chosen) chosen.scrollIntoView({ block: "nearest", inline: "center" });

// A file that is dropped is added as if it had been chosen.
const field = document.getElementById("file");
if (field) {
  const zone = field.closest(".drop");
  document.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  document.addEventListener("dragleave", () => zone.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files.length) { field.files = event.dataTransfer.files; field.form.submit(); }
  });
}
