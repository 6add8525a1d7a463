// Charts, the copy button, and where the focus goes when a table arrives. Everything else works without a script.
import { expressionInterpreter } from "./vega-interpreter.js";

function drawCharts() {
  for (const place of document.querySelectorAll("[data-chart]")) {
    const spec = JSON.parse(place.dataset.chart);
    delete place.dataset.chart;
    vegaEmbed(place, spec, {
      mode: "vega-lite", actions: false, renderer: "svg", ast: true, expr: expressionInterpreter,
      defaultStyle: false, tooltip: { disableDefaultStyle: true },
    });
  }
}

async function copy(button) {
  const field = document.getElementById(button.dataset.copy);
  const status = document.getElementById("status");
  try {
    await navigator.clipboard.writeText(field.value);
    status.textContent = "The address was copied.";
  } catch {
    field.select();
    status.textContent = "The address is selected: copy it with Ctrl+C.";
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});
document.addEventListener("htmx:afterSettle", () => {
  drawCharts();
  const title = document.getElementById("result-title");
  if (title) title.focus();
});
document.addEventListener("htmx:responseError", () => {
  document.getElementById("status").textContent = "The server did not answer as expected. Try again in a moment.";
});
document.addEventListener("htmx:sendError", () => {
  document.getElementById("status").textContent = "The server cannot be reached.";
});
drawCharts();
