// Other dimensions across without asking again, and only whole columns where not all of them fit.

function cell(kind, text, more = {}) {
  return Object.assign(document.createElement(kind), { textContent: text, ...more });
}

function product(lists) {
  return lists.reduce((found, list) => found.flatMap((some) => list.map((one) => [...some, one])), [[]]);
}

function drawTable(data, rows, across) {
  const place = new Map(data.dimensions.map((each, axis) => [each.id, axis]));
  const sizes = data.dimensions.map((each) => each.headings.length);
  const step = sizes.map((_, axis) => sizes.slice(axis + 1).reduce((one, other) => one * other, 1));
  const columns = across === null ? [[data.measure, 0]] : data.dimensions[place.get(across)].headings;
  const [outer, inner] = [rows.slice(0, -1).map((id) => place.get(id)), place.get(rows.at(-1))];
  const table = document.querySelector("#table table");
  const caption = table.caption;

  const head = document.createElement("thead");
  const [above, below] = [head.insertRow(), across === null ? null : head.insertRow()];
  const names = rows.map((id) => data.dimensions[place.get(id)].label).join(" · ");
  above.append(cell("th", names, { scope: "col", rowSpan: below ? 2 : 1 }));
  if (below) above.append(cell("th", data.dimensions[place.get(across)].label, { scope: "colgroup", colSpan: columns.length }));
  for (const [label, depth] of columns) (below ?? above).append(cell("th", label, { scope: "col", className: depth ? "number" : "number total" }));

  const bodies = product(outer.map((axis) => data.dimensions[axis].headings.map((heading, at) => [axis, at, `${data.dimensions[axis].label}: ${heading[0]}`]))).map((group) => {
    const body = document.createElement("tbody");
    if (group.length) {
      const row = body.insertRow();
      row.className = "group";
      const title = cell("th", "", { scope: "rowgroup", colSpan: columns.length + 1 });
      title.append(cell("span", group.map((each) => each[2]).join(" · ")));
      row.append(title);
    }
    const start = group.reduce((sum, [axis, at]) => sum + at * step[axis], 0);
    data.dimensions[inner].headings.forEach(([label, depth], at) => {
      const row = body.insertRow();
      row.append(cell("th", label, { scope: "row", className: `depth-${Math.min(depth, 5)}` }));
      columns.forEach((_, column) => {
        const where = start + at * step[inner] + (across === null ? 0 : column * step[place.get(across)]);
        row.append(cell("td", data.cells[where]));
      });
    });
    return body;
  });
  table.replaceChildren(caption, head, ...bodies);
}

function keepAddress(data, rows, across) {
  // The form, the address of the page and the one to be saved tell what is shown now.
  const keep = document.getElementById("keep");
  const parameters = new URLSearchParams(keep.dataset.address);
  const use = (id) => (id === across ? "columns" : "rows");
  parameters.delete("use");
  for (const id of [...rows, ...(across === null ? [] : [across])]) parameters.append("use", `${id}:${use(id)}`);
  for (const each of data.dimensions) {
    for (const field of document.querySelectorAll('select[name="use"]')) {
      const wanted = `${each.id}:${use(each.id)}`;
      if ([...field.options].some((option) => option.value === wanted)) field.value = wanted;
    }
  }
  keep.dataset.address = parameters.toString();
  history.replaceState(history.state, "", `?${parameters}`);
}

let first = 0;

function fitColumns() {
  // As many whole columns as there is room for, from the first one wanted.
  const [frame, pager] = [document.getElementById("table"), document.querySelector(".pager")];
  const table = frame?.querySelector("table");
  if (!table) return;
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].querySelectorAll("th.number")];
  const rows = [...table.rows].filter((row) => row.querySelector("td"));
  const group = table.querySelector('th[scope="colgroup"]');
  const spans = table.querySelectorAll('th[scope="rowgroup"]');
  const show = (from, to) => {
    heads.forEach((head, at) => { head.hidden = at < from || at >= to; });
    for (const row of rows) row.querySelectorAll("td").forEach((one, at) => { one.hidden = at < from || at >= to; });
    if (group) group.colSpan = to - from;
    for (const span of spans) span.colSpan = to - from + 1;
  };
  show(0, heads.length);
  pager.hidden = table.offsetWidth <= frame.clientWidth;
  if (pager.hidden) return;
  const widths = heads.map((head) => head.offsetWidth);
  const room = frame.clientWidth - table.tHead.rows[0].cells[0].offsetWidth;
  first = Math.min(first, heads.length - 1);
  let [last, taken] = [first, 0];
  while (last < heads.length && (last === first || taken + widths[last] <= room)) taken += widths[last++];
  while (first > 0 && taken + widths[first - 1] <= room) taken += widths[--first];
  show(first, last);
  document.getElementById("columns-shown").textContent = `${first + 1} to ${last} of ${heads.length} columns`;
  const [before, after] = ["columns-before", "columns-after"].map((id) => document.getElementById(id));
  [before.disabled, after.disabled] = [first === 0, last === heads.length];
  before.onclick = () => { first = Math.max(0, first - (last - first)); fitColumns(); };
  after.onclick = () => { first = last; fitColumns(); };
}

export function preparePivot({ say, onTurn }) {
  first = 0;
  fitColumns();
  const tools = document.querySelector("[data-pivot]");
  if (!tools) return;
  const data = JSON.parse(tools.dataset.pivot);
  const asked = data.columns;
  let [rows, across] = [data.rows, data.columns];
  const choice = document.getElementById("across");
  const put = (id) => {
    rows = across === null ? rows.filter((each) => each !== id) : rows.map((each) => (each === id ? across : each));
    across = id;
    first = 0;
    drawTable(data, rows, across);
    fitColumns();
    keepAddress(data, rows, across);
    onTurn(data.dimensions.length === 2 && asked !== null && across !== asked);
    if (choice) choice.value = across;
    say(`${data.dimensions.find((each) => each.id === id).label} is across now.`);
  };
  document.getElementById("exchange").onclick = () => put(rows.at(-1));
  if (choice) choice.onchange = () => { if (choice.value !== across) put(choice.value); };
  tools.hidden = false;
}

window.addEventListener("resize", fitColumns);
