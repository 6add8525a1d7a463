// Charts, the copy button, and where the focus goes when a table arrives. Everything else works without a script.
import { expressionInterpreter } from "./vega-interpreter.js";
import { preparePivot } from "./pivot.js";
import { prepareSaved, showSaved } from "./saved.js";

const NARROW = 700;
const say = (words) => { document.getElementById("status").textContent = words; };

let drawn = [];

function drawCharts(turned = false) {
  for (const view of drawn) view.finalize();
  drawn = [];
  for (const place of document.querySelectorAll("[data-charts]")) {
    const spec = JSON.parse(place.dataset.charts)[turned ? 1 : 0];
    place.closest("figure").hidden = !spec;
    if (spec) draw(place, spec);
  }
}

async function draw(place, spec) {
  const wide = place.clientWidth;
  const labels = Math.min(240, Math.round(wide * 0.36));
  spec.encoding.y.axis.labelLimit = labels;
  spec.encoding.x.axis.tickCount = Math.max(2, Math.floor(wide / 110));
  if (spec.encoding.color) spec.encoding.color.legend = { columns: Math.max(1, Math.floor((wide - labels) / 190)), labelLimit: 160 };
  const made = await vegaEmbed(place, spec, {
    mode: "vega-lite", actions: false, renderer: "svg", ast: true, expr: expressionInterpreter,
    defaultStyle: false, tooltip: { disableDefaultStyle: true },
  });
  drawn.push(made.view);
}

async function copy(button) {
  const field = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(field.value);
    say("The address was copied.");
  } catch {
    field.select();
    say("The address is selected: copy it with Ctrl+C.");
  }
}

function prepare() {
  drawCharts();
  preparePivot({ say, onTurn: drawCharts });
  prepareSaved(say);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});
document.addEventListener("htmx:afterSettle", () => {
  prepare();
  const title = document.getElementById("result-title");
  if (title) title.focus();
});
document.addEventListener("htmx:responseError", () => say("The server did not answer as expected. Try again in a moment."));
document.addEventListener("htmx:sendError", () => say("The server cannot be reached."));
if (window.innerWidth <= NARROW && document.getElementById("result-title")) document.getElementById("panel").open = false;
showSaved();
prepare();
