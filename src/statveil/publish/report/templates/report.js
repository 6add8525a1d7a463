"use strict";
(function () {
  const page = JSON.parse(document.getElementById("page-data").textContent);

  function make(tag, attributes, text) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // An integer number of units with its decimals, exactly: digits are moved about as text.
  function written(units, decimals) {
    let digits = String(units), sign = "";
    if (digits[0] === "-") { sign = "\u2212"; digits = digits.slice(1); }
    if (decimals < 0 && digits !== "0") digits += "0".repeat(-decimals);
    let fraction = "";
    if (decimals > 0) {
      digits = digits.padStart(decimals + 1, "0");
      fraction = "." + digits.slice(-decimals);
      digits = digits.slice(0, -decimals);
    }
    return sign + digits.replace(/\B(?=(\d{3})+$)/g, ",") + fraction;
  }

  function percent(share) {
    if (!isFinite(share)) return "";
    const size = Math.abs(share) * 100;
    const places = size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
    return (share > 0 ? "+" : share < 0 ? "\u2212" : "") + size.toFixed(places) + "%";
  }

  function select(label, options, chosen, onChange) {
    const holder = make("label", {}, label + " "), box = make("select");
    options.forEach(function (words, index) {
      const option = make("option", { value: index }, words);
      if (index === chosen) option.selected = true;
      box.append(option);
    });
    box.addEventListener("change", function () { onChange(Number(box.value)); });
    holder.append(box);
    return holder;
  }

  /* ---- the table, two dimensions at a time ---- */

  const state = { view: 0, rows: 0, columns: -1, fixed: [], show: 0 };
  const shows = ["released value", "original value", "change", "relative change"];
  const words = { s: "sensitive", a: "adjusted", u: "unchanged", f: "frozen", z: "zero", e: "empty", x: "cannot exist" };

  function open(number) {
    const view = page.slices[number];
    state.view = number;
    state.rows = view.rows;
    state.columns = view.columns;
    state.fixed = view.dimensions.map(function () { return 0; });
    if (!view.status) return;
    const counts = view.dimensions.map(function (_, axis) { return free(axis) ? sensitiveBySlice(view, axis) : []; });
    counts.forEach(function (found, axis) { if (free(axis)) state.fixed[axis] = Math.max(0, found.indexOf(Math.max.apply(null, found))); });
  }

  function free(axis) { return axis !== state.rows && axis !== state.columns; }

  // Sensitive cells in the slice of each code of one dimension, the other free dimensions as they are set.
  function sensitiveBySlice(view, axis) {
    const sizes = view.dimensions.map(function (dimension) { return dimension.codes.length; });
    const counts = new Array(sizes[axis]).fill(0);
    for (let at = 0; at < view.status.length; at++) {
      if (view.status[at] !== "s") continue;
      let rest = at, mine = 0, here = true;
      for (let k = sizes.length - 1; k >= 0; k--) {
        const index = rest % sizes[k];
        rest = Math.floor(rest / sizes[k]);
        if (k === axis) mine = index;
        else if (free(k) && index !== state.fixed[k]) here = false;
      }
      if (here) counts[mine] += 1;
    }
    return counts;
  }

  function swap(axis, chosen) {
    const other = axis === "rows" ? "columns" : "rows";
    if (state[other] === chosen) state[other] = state[axis];
    state[axis] = chosen;
    draw();
  }

  function codeWords(dimension, index) {
    const code = dimension.codes[index], label = dimension.labels[index];
    return "\u2007".repeat(2 * dimension.depth[index]) + (label === code ? code : code + "  " + label);
  }

  function drawControls(view) {
    const holder = document.getElementById("map-controls");
    holder.replaceChildren();
    const names = view.dimensions.map(function (dimension) { return dimension.name; });
    if (page.slices.length > 1) {
      const views = page.slices.map(function (slice) { return slice.name; });
      holder.append(select("Table", views, state.view, function (chosen) { open(chosen); draw(); }));
    }
    if (names.length > 1) {
      holder.append(select("Rows", names, state.rows, function (chosen) { swap("rows", chosen); }));
      holder.append(select("Columns", names, state.columns, function (chosen) { swap("columns", chosen); }));
    }
    view.dimensions.forEach(function (dimension, axis) {
      if (!free(axis)) return;
      const counts = view.status ? sensitiveBySlice(view, axis) : [];
      const options = dimension.codes.map(function (_, index) {
        return codeWords(dimension, index) + (counts[index] ? "  (" + counts[index] + " sensitive)" : "");
      });
      holder.append(select(dimension.name, options, state.fixed[axis], function (chosen) { state.fixed[axis] = chosen; draw(); }));
    });
    if (view.status) holder.append(select("Show", shows, state.show, function (chosen) { state.show = chosen; draw(); }));
  }

  function place(view, row, column) {
    return view.dimensions.reduce(function (flat, dimension, axis) {
      const index = axis === state.rows ? row : axis === state.columns ? column : state.fixed[axis];
      return flat * dimension.codes.length + index;
    }, 0);
  }

  function shown(view, at) {
    if (view.released[at] === null) return "\u2013";
    if (!view.status || state.show === 0) return view.status && view.status[at] === "e" ? "\u00b7" : written(view.released[at], view.decimals);
    if (view.status[at] === "e") return "\u00b7";
    if (state.show === 1) return written(view.original[at], view.finest);
    if (state.show === 2) return (Number(view.change[at]) > 0 ? "+" : "") + written(view.change[at], view.finest);
    return percent(Number(view.change[at]) / Math.abs(Number(view.original[at])));
  }

  function story(view, at) {
    const status = view.status[at];
    if (status === "e" || status === "x") return words[status];
    const reason = view.reasons[view.reason[at]];
    return [
      words[status] + (reason ? ": " + reason : ""),
      "original " + written(view.original[at], view.finest),
      "released " + written(view.released[at], view.decimals),
      "change " + percent(Number(view.change[at]) / Math.abs(Number(view.original[at])))
    ].join("\n");
  }

  function cell(view, at) {
    const node = make("td", {}, shown(view, at));
    if (!view.status) return node;
    const status = view.status[at];
    node.className = status;
    node.title = story(view, at);
    if (status === "s") node.append(make("span", { "class": "arrow" }, Number(view.change[at]) < 0 ? "\u25bc" : "\u25b2"));
    return node;
  }

  function heading(dimension, index, short) {
    const code = dimension.codes[index], label = dimension.labels[index];
    const node = make("th", { scope: "col", title: code === label ? code : code + " " + label }, short ? code : label);
    if (dimension.depth[index] === 0) node.className = "total";
    return node;
  }

  function rowHead(dimension, index) {
    const code = dimension.codes[index], label = dimension.labels[index], depth = dimension.depth[index];
    const node = make("th", { scope: "row", "class": "depth-" + Math.min(depth, 2) });
    node.style.paddingLeft = 0.5 + 1.1 * depth + "em";
    node.append(label);
    if (code !== label) node.append(make("span", { "class": "code" }, code));
    return node;
  }

  // Head and body of the columns from the first to before the last.
  function grid(view, first, last) {
    const down = view.dimensions[state.rows], across = state.columns < 0 ? null : view.dimensions[state.columns];
    const columns = across ? across.codes.length : 1;
    const head = make("thead"), top = make("tr"), body = make("tbody");
    top.append(make("th", { "class": "corner" }, down.name + (across ? " \\ " + across.name : "")));
    for (let column = first; column < last; column++) top.append(across ? heading(across, column, columns > 12) : make("th", {}, "value"));
    head.append(top);
    down.codes.forEach(function (_, row) {
      const line = make("tr", { "class": "depth-" + Math.min(down.depth[row], 2) });
      line.append(rowHead(down, row));
      for (let column = first; column < last; column++) line.append(cell(view, place(view, row, column)));
      body.append(line);
    });
    return [head, body];
  }

  function draw() {
    const view = page.slices[state.view], table = document.getElementById("map-table");
    const columns = state.columns < 0 ? 1 : view.dimensions[state.columns].codes.length;
    drawControls(view);
    table.replaceChildren.apply(table, grid(view, 0, columns));
    table.classList.toggle("dense", columns > 12);
    document.getElementById("map").classList.toggle("wide", columns > 9);
    drawWhere(view);
  }

  function drawWhere(view) {
    const fixed = view.dimensions.map(function (dimension, axis) {
      return !free(axis) ? "" : dimension.name + ": " + dimension.labels[state.fixed[axis]];
    }).filter(Boolean);
    const parts = page.slices.length > 1 ? [view.name].concat(fixed) : fixed;
    document.getElementById("map-where").textContent = parts.join("; ") + (view.status ? (parts.length ? "; " : "") + "shown: " + shows[state.show] : "");
  }

  /* ---- before and after: searched, sorted, a page at a time ---- */

  const perPage = 25;

  function numeric(text) {
    const value = parseFloat(text.replace(/[,%+]/g, "").replace("\u2212", "-"));
    return isNaN(value) ? Infinity : value;
  }

  function comparison(data) {
    const labels = data.columns.length;
    const names = data.columns.concat(["original", "released", "change", "relative", "status", "must move", "reason", "a reader's interval"]);
    const isNumber = function (column) { return column >= labels && column < labels + 4; };
    const view = { search: "", status: 0, sort: -1, down: true, page: 0 };
    const controls = document.getElementById("compare-controls"), table = document.getElementById("compare-table");
    const box = make("input", { type: "search", placeholder: "search labels and reasons", "aria-label": "search" });
    box.addEventListener("input", function () { view.search = box.value.toLowerCase(); view.page = 0; fill(); });
    const back = make("button", { type: "button" }, "Previous"), on = make("button", { type: "button" }, "Next");
    back.addEventListener("click", function () { view.page -= 1; fill(); });
    on.addEventListener("click", function () { view.page += 1; fill(); });
    const kinds = ["all", "sensitive", "adjusted"];
    controls.append(box, select("Status", kinds, 0, function (chosen) { view.status = chosen; view.page = 0; fill(); }), back, on);

    function chosen() {
      const rows = data.rows.filter(function (row) {
        if (view.status && row[labels + 4] !== kinds[view.status]) return false;
        return !view.search || row.some(function (field, column) {
          return (column < labels || column === labels + 6) && field.toLowerCase().includes(view.search);
        });
      });
      if (view.sort < 0) return rows;
      const way = view.down ? -1 : 1, column = view.sort;
      const order = isNumber(column)
        ? function (a, b) { const x = numeric(a[column]), y = numeric(b[column]); return x === y ? 0 : way * (x < y ? -1 : 1); }
        : function (a, b) { return way * a[column].localeCompare(b[column]); };
      return rows.sort(order);
    }

    function sortBy(column) {
      view.down = view.sort === column ? !view.down : isNumber(column);
      view.sort = column;
      view.page = 0;
      fill();
    }

    function headRow() {
      const top = make("tr");
      names.forEach(function (name, column) {
        const mark = view.sort === column ? (view.down ? " \u25be" : " \u25b4") : "";
        const head = make("th", { "class": isNumber(column) ? "number sort" : "sort", tabindex: "0", scope: "col" }, name + mark);
        head.addEventListener("click", function () { sortBy(column); });
        head.addEventListener("keydown", function (event) { if (event.key === "Enter") sortBy(column); });
        top.append(head);
      });
      return top;
    }

    function fill() {
      const rows = chosen(), pages = Math.max(1, Math.ceil(rows.length / perPage));
      view.page = Math.min(Math.max(view.page, 0), pages - 1);
      const first = view.page * perPage, part = rows.slice(first, first + perPage);
      const head = make("thead"), body = make("tbody");
      head.append(headRow());
      part.forEach(function (row) {
        const line = make("tr", { "class": row[labels + 4] });
        row.forEach(function (field, column) {
          const kind = column === labels + 7 ? { "class": "interval" } : isNumber(column) || column === labels + 5 ? { "class": "number" } : {};
          line.append(make("td", kind, field.replace(/(^|\s)-/g, "$1\u2212")));
        });
        body.append(line);
      });
      table.replaceChildren(head, body);
      back.disabled = view.page === 0;
      on.disabled = view.page === pages - 1;
      document.getElementById("compare-note").textContent = rows.length
        ? "Rows " + (first + 1).toLocaleString("en") + " to " + (first + part.length).toLocaleString("en") + " of " + rows.length.toLocaleString("en") + "."
        : "No cell to show.";
    }

    fill();
  }

  /* ---- from a figure to the cells behind it ---- */

  function listed(found) {
    const names = page.behind.columns.concat(["original", "released", "change", "relative", "status"]);
    const table = make("table", { "class": "plain" }), head = make("thead"), top = make("tr"), body = make("tbody");
    const number = function (column) { const at = column - page.behind.columns.length; return at >= 0 && at < 4 ? { "class": "number" } : {}; };
    names.forEach(function (name, column) { top.append(make("th", number(column), name)); });
    found.cells.forEach(function (cell) {
      const line = make("tr");
      page.behind.cells[cell].forEach(function (field, column) { line.append(make("td", number(column), field.replace(/^-/, "\u2212"))); });
      body.append(line);
    });
    head.append(top);
    table.append(head, body);
    return table;
  }

  function behind(row) {
    const found = page.behind.sets[row.dataset.behind];
    if (!found || !found.all) return;
    const opener = make("button", { "class": "opener", type: "button", "aria-expanded": "false" });
    const toggle = function () {
      const next = row.nextElementSibling, open = next && next.classList.contains("behind");
      row.classList.toggle("open", !open);
      opener.setAttribute("aria-expanded", String(!open));
      if (open) { next.remove(); return; }
      const line = make("tr", { "class": "behind" }), holder = make("td", { colspan: row.cells.length });
      const count = found.all.toLocaleString("en"), part = found.cells.length < found.all;
      holder.append(make("p", {}, part ? "The " + found.cells.length + " largest changes of " + count + " cells." : count + (found.all === 1 ? " cell." : " cells.")));
      holder.append(listed(found));
      line.append(holder);
      row.after(line);
    };
    row.classList.add("opens");
    opener.append.apply(opener, row.cells[0].childNodes);
    row.cells[0].append(opener);
    row.addEventListener("click", toggle);
  }

  if (page.behind) document.querySelectorAll("tr[data-behind]").forEach(behind);

  /* ---- on paper: tables of many columns in pieces that fit the page ---- */

  const mostPerSheet = 14;

  // How many columns fit beside the names of the rows, by the longest number: a digit takes 4.5 pixels, the edges of a column 10.
  function perSheet(table) {
    const longest = Array.from(table.querySelectorAll("td")).reduce((most, each) => Math.max(most, each.textContent.length), 1);
    return Math.max(1, Math.min(mostPerSheet, Math.floor(780 / (4.5 * longest + 10))));
  }

  window.addEventListener("beforeprint", function () {
    const table = document.getElementById("map-table"), view = page.slices[state.view];
    const columns = state.columns < 0 ? 1 : view.dimensions[state.columns].codes.length;
    const most = perSheet(table);
    if (columns <= most) return;
    table.replaceChildren.apply(table, grid(view, 0, most));
    for (let first = most; first < columns; first += most) {
      const piece = make("table", { "class": "grid dense piece" });
      piece.append.apply(piece, grid(view, first, Math.min(first + most, columns)));
      table.parentNode.append(piece);
    }
  });
  window.addEventListener("afterprint", function () {
    document.querySelectorAll(".grid.piece").forEach(function (piece) { piece.remove(); });
    draw();
  });

  open(0);
  draw();
  if (page.compared) comparison(page.compared);
  for (const [name, spec] of Object.entries(page.charts || {})) {
    const place = document.getElementById("chart-" + name);
    if (place) vegaEmbed(place, spec, { mode: "vega-lite", actions: false, renderer: "svg" });
  }
})();
