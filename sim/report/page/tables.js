// Any other result: its lists of records as tables, everything else as facts.

function cellOf(json) {
  if (typeof json === "boolean") return json ? "yes" : "no";
  return json !== null && typeof json === "object" ? JSON.stringify(json) : json;
}

function factText(json) {
  if (json === null || (Array.isArray(json) && json.length === 0)) return "none";
  return String(typeof json === "number" && !Number.isInteger(json) ? Number(json.toPrecision(5)) : cellOf(json));
}

// Columns in the order of first appearance in the records; an interval has two.
function tableOf(title, records) {
  const isInterval = (json) => Array.isArray(json) && json.length === 2 && json.every((end) => typeof end === "number");
  const flat = records.map((record) => new Map(Object.entries(record).flatMap(([key, json]) =>
      isInterval(json) ? [[`${key} low`, json[0]], [`${key} high`, json[1]]] : [[key, cellOf(json)]])));
  const columns = [...new Set(flat.flatMap((cells) => [...cells.keys()]))];
  return {title, columns, rows: flat.map((cells) => columns.map((column) => cells.get(column) ?? null))};
}

// Nested objects become members with longer names.
function tablesView({schema, ...document}) {
  const view = {kind: "tables", schema, facts: [], tables: []};
  const isObject = (json) => json !== null && typeof json === "object" && !Array.isArray(json);
  const add = (name, json) => {
    if (Array.isArray(json) && json.length > 0 && json.every(isObject)) view.tables.push(tableOf(name, json));
    else if (isObject(json)) for (const [key, value] of Object.entries(json)) add(`${name}.${key}`, value);
    else view.facts.push([name, factText(json)]);
  };
  for (const [key, json] of Object.entries(document)) add(key, json);
  return view;
}

// Plots first, then their tables.
function showTables(parent, view) {
  const grid = element("div", {class: "grid"});
  parent.append(element("p"), grid);
  if (view.facts.length > 0) facts(panel(grid, view.schema, ""), view.facts);
  const shown = view.tables.map((table) => {
    const rows = table.rows.map((cells, i) => ({i, cells}));
    const isNumber = (c) => rows.some((row) => row.cells[c] !== null) && rows.every((row) => row.cells[c] === null || typeof row.cells[c] === "number");
    return {table, rows, link: new Link(), numbers: d3.range(table.columns.length).filter(isNumber)};
  });
  if (view.schema.startsWith("tilecast.sweep/") && shown.length === 1) {
    sweepView(grid, shown[0]);
    return;
  }
  for (const each of shown) plotOf(grid, each, view.facts);
  for (const {table, rows, link, numbers} of shown) {
    new Table(panel(grid, table.title, "", "long"), {rows, link, down: false, filter: rows.length > 20,
      columns: table.columns.map((title, c) => ({title, get: (row) => row.cells[c], number: numbers.includes(c)}))});
  }
}

// Constants of calibrate, trials of tune and elasticities have specific plots.
function plotOf(parent, {table, rows, numbers, link}, known) {
  const has = (...titles) => titles.every((title) => table.columns.includes(title));
  if (has("described", "fitted", "interval_95 low", "prior_95 high")) constantsPlot(parent, table, rows, link);
  else if (has("key", "elasticity_up", "elasticity_down")) tornado(parent, table, rows, link);
  else if (has("without", "held_share", "time_s")) limitsPath(parent, table, rows, known);
  else if (has("index", "predicted_s", "measured_s")) trialsPlot(parent, table, rows, link);
  else if (rows.length >= 3 && numbers.length >= 2) recordPlot(parent, table, rows, numbers, link);
}

// Two columns of numbers against each other, chosen by the reader.
function recordPlot(parent, table, rows, numbers, link) {
  const node = panel(parent, `${table.title}: two columns`, "A point each record; records without one of the numbers are not on it.");
  const controls = element("div", {class: "controls"}), body = element("div");
  node.append(controls, body);
  const choose = (title, at) => {
    const select = element("select", {"aria-label": title}, ...numbers.map((c) => element("option", {value: c}, table.columns[c])));
    select.value = numbers[at];
    select.addEventListener("change", show);
    controls.append(element("label", {}, `${title} `, select));
    return select;
  };
  const name = table.columns.findIndex((title, c) => !numbers.includes(c));
  function show() {
    body.replaceChildren();
    const x = Number(ofX.value), y = Number(ofY.value);
    points(body, rows.filter((row) => row.cells[x] !== null && row.cells[y] !== null), {
      link, xTitle: table.columns[x], yTitle: table.columns[y],
      x: (row) => row.cells[x], y: (row) => row.cells[y],
      text: (row) => [name < 0 ? `record ${row.i + 1}` : String(row.cells[name] ?? ""),
        ...[x, y].map((c) => `${table.columns[c]}: ${number(row.cells[c])}`)].join("\n"),
    });
  }
  const ofX = choose("across", 0), ofY = choose("up", 1);
  show();
}

// Points on linear axes, or logarithmic ones if all values are positive and far apart.
function points(node, rows, {link, xTitle, yTitle, x: ofX, y: ofY, text}) {
  const kFar = 50, kRoom = 1.3;
  let x, y;
  dots(node, rows, {
    label: `${yTitle} against ${xTitle}`, height: 320, link, text, radius: () => 4, paint: circles(() => kPalette[0]),
    at: (row) => [x(ofX(row)), y(ofY(row))],
    frame: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner;
      x = scaleOf(rows.map(ofX), [left, right], kFar, kRoom);
      y = scaleOf(rows.map(ofY), [bottom, top], kFar, kRoom);
      figure.axes(x, y, xTitle, yTitle);
    },
  });
}
