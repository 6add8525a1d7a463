(function () {
  "use strict";
  const page = JSON.parse(document.getElementById("page-data").textContent);
  for (const [name, spec] of Object.entries(page.charts || {})) {
    const place = document.getElementById("chart-" + name);
    if (place) vegaEmbed(place, spec, { mode: "vega-lite", actions: false, renderer: "svg" });
  }
})();
