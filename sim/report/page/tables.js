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

// A study of sweep: "-x" among the objectives means that more of x is better.
function studyView({objectives, axes, ...document}) {
  const {tables: [table]} = tablesView(document);
  return {kind: "study", table: table || tableOf("rows", []), axes: axes || [],
          objectives: (objectives || []).map((text) => ({column: text.replace(/^-/, ""), larger: text.startsWith("-")}))};
}

// Plots first, then their tables.
function showTables(parent, view) {
  const grid = element("div", {class: "grid"});
  parent.append(element("p"), grid);
  if (view.facts.length > 0) facts(panel(grid, `Result of ${view.schema.split(/[./]/)[1].replace("_", " ")}`, ""), view.facts.map(([name, text]) => [titleOf(name), quantityText(name, text)]));
  const shown = view.tables.map(shownTable);
  for (const each of shown) plotOf(grid, each, view.facts);
  for (const {table, rows, link, numbers} of shown) {
    new Table(panel(grid, table.title, "", "long"), {rows, link, down: false, filter: rows.length > 20, columns: columnsOf(table, numbers)});
  }
}

// A table with its rows as the plots take them, and which of its columns hold numbers.
function shownTable(table) {
  const rows = table.rows.map((cells, i) => ({i, cells}));
  const isNumber = (c) => rows.some((row) => row.cells[c] !== null) && rows.every((row) => row.cells[c] === null || typeof row.cells[c] === "number");
  return {table, rows, link: new Link(), numbers: d3.range(table.columns.length).filter(isNumber)};
}

const columnsOf = (table, numbers) => table.columns.map((name, c) => ({title: titleOf(name), get: (row) => row.cells[c],
  number: numbers.includes(c), cell: numbers.includes(c) ? (v) => quantityText(name, v) : undefined}));

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
  const name = table.columns.findIndex((title, c) => !numbers.includes(c));
  function show() {
    body.replaceChildren();
    const x = Number(ofX.value), y = Number(ofY.value);
    points(body, rows.filter((row) => row.cells[x] !== null && row.cells[y] !== null), {
      link, xTitle: table.columns[x], yTitle: table.columns[y],
      x: (row) => row.cells[x], y: (row) => row.cells[y],
      text: (row) => [name < 0 ? `record ${row.i + 1}` : String(row.cells[name] ?? ""),
        ...[x, y].map((c) => `${titleOf(table.columns[c])}: ${quantityText(table.columns[c], row.cells[c])}`)].join("\n"),
    });
  }
  const columns = numbers.map((c) => [c, titleOf(table.columns[c])]);
  const ofX = menu(controls, "across", columns, numbers[0], show), ofY = menu(controls, "up", columns, numbers[1], show);
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

// Results of calibrate, and trials of tune.

// Factors on one axis: the prior's 95 % interval behind, the fit and its 95 % interval in front.
function constantsPlot(parent, table, rows, link) {
  const node = panel(parent, "Fitted constants",
      "Multipliers of the description (1: as described). Point: fitted, line: its 95 % interval, grey: what was believed before. Times are in the table only.");
  const get = (title) => { const c = table.columns.indexOf(title); return (row) => row.cells[c]; };
  const name = get("name"), unit = get("unit"), fitted = get("fitted"), identified = get("identified");
  const low = get("interval_95 low"), high = get("interval_95 high"), priorLow = get("prior_95 low"), priorHigh = get("prior_95 high");
  const factors = rows.filter((row) => unit(row) === "factor" && fitted(row) > 0);
  if (factors.length === 0) return;
  const colour = (row) => identified(row) === "yes" ? kPalette[0] : kOther;
  legend(node, ["yes", "no"], (word) => word === "yes" ? kPalette[0] : kOther, (word) => word === "yes" ? "decided by the measured rows" : "left open by them");
  const y = d3.scaleBand(factors.map(name), [0, 1]).padding(0.3);
  const ends = factors.flatMap((row) => [low(row), high(row), priorLow(row), priorHigh(row), fitted(row)]).filter((v) => v > 0);
  const x = d3.scaleLog([d3.min(ends) / 1.1, d3.max(ends) * 1.1], [0, 1]);
  bands(node, factors, {
    label: "fitted constants", height: 50 + 26 * factors.length, link, left: 170, x, y, key: name,
    draw: (ctx, figure) => {
      const {top, bottom} = figure.inner;
      ctx.strokeStyle = css("--muted");
      line(ctx, x(1), top, x(1), bottom);
      for (const row of factors) {
        const middle = y(name(row)) + y.bandwidth() / 2;
        ctx.fillStyle = css("--line");
        ctx.fillRect(x(priorLow(row)), y(name(row)), x(priorHigh(row)) - x(priorLow(row)), y.bandwidth());
        ctx.strokeStyle = colour(row);
        ctx.lineWidth = 2.5;
        line(ctx, x(low(row)), middle, x(high(row)), middle);
        circle(ctx, {x: x(fitted(row)), y: middle, r: 4.5}, colour(row));
        rowName(figure, middle + 4, name(row));
      }
      figure.axes(x, null, "multiplier");
    },
    text: (row) => `${name(row)}\n× ${number(fitted(row))}, 95 %: ${number(low(row))} to ${number(high(row))}`,
  });
}

// All trials in the order of measurement, with the fastest so far and the predictions.
function trialsPlot(parent, table, rows, link) {
  const node = panel(parent, "Trials", "Time of each tile in the order of trials; line: the fastest so far, orange: predicted before it was measured.");
  const measured = table.columns.indexOf("measured_s"), predicted = table.columns.indexOf("predicted_s"), tile = table.columns.indexOf("tile");
  const done = rows.filter((row) => row.cells[measured] !== null && row.cells[measured] > 0);
  if (done.length === 0) {
    node.append("No trial was timed.");
    return;
  }
  const times = done.flatMap((row) => [row.cells[measured], row.cells[predicted]]).filter((v) => v > 0);
  let x, y;
  const place = (row, c) => [x(row.i + 1), y(row.cells[c])];
  dots(node, done, {
    label: "trials", height: 320, link, at: (row) => place(row, measured),
    frame: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner;
      x = d3.scaleLinear([0.5, rows.length + 0.5], [left, right]);
      y = d3.scaleLog([d3.min(times) / 1.2, d3.max(times) * 1.2], [bottom, top]);
      figure.axes(x, y, "trial", "time_s");
    },
    paint: (ctx, marks) => {
      for (const {row, r} of marks) {
        const [px, py] = place(row, predicted);
        if (row.cells[predicted] > 0) circle(ctx, {x: px, y: py, r}, kPalette[3]);
      }
      for (const m of marks) circle(ctx, m, kPalette[0]);
      ctx.strokeStyle = kPalette[0];
      ctx.lineWidth = 1.5;
      let best = marks[0];
      for (const m of marks) {
        line(ctx, best.x, best.y, m.x, best.y);
        const next = m.y > best.y ? m : {...best, x: m.x};  // lower on the page: faster
        line(ctx, m.x, best.y, m.x, next.y);
        best = next;
      }
    },
    text: ({cells}) => [tile < 0 ? "" : cells[tile], `measured ${timeText(cells[measured])}`, cells[predicted] ? `predicted ${timeText(cells[predicted])}` : ""].filter(Boolean).join("\n"),
  });
}

// Elasticities of sensitivity: the numbers of the machine with the largest effect, in both
// directions.

function tornado(parent, table, rows, link) {
  const node = panel(parent, "Sensitivity", "% of the program's time for each % of the number; bars to the left: more of it makes the program faster. The 30 that matter most.");
  const up = table.columns.indexOf("elasticity_up"), down = table.columns.indexOf("elasticity_down"), key = table.columns.indexOf("key"), now = table.columns.indexOf("value");
  const size = (row) => Math.max(Math.abs(row.cells[up] ?? 0), Math.abs(row.cells[down] ?? 0));
  const shown = rows.filter((row) => size(row) > 0).sort((a, b) => d3.descending(size(a), size(b))).slice(0, 30);
  if (shown.length === 0) {
    node.append("No number moves the time.");
    return;
  }
  legend(node, ["up", "down"], (word) => word === "up" ? kPalette[0] : kPalette[3], (word) => word === "up" ? "the number raised" : "the number lowered");
  const ends = shown.flatMap((row) => [row.cells[up] ?? 0, row.cells[down] ?? 0, 0]);
  const x = d3.scaleLinear(d3.extent(ends), [0, 1]).nice(), y = d3.scaleBand(shown.map((row) => row.i), [0, 1]).padding(0.25);
  bands(node, shown, {
    label: "elasticities", height: 50 + 24 * shown.length, link, left: 310, x, y, key: (row) => row.i,
    draw: (ctx, figure) => {
      const {left, top, bottom} = figure.inner;
      for (const row of shown) {
        [[up, kPalette[0]], [down, kPalette[3]]].forEach(([c, colour], half) => {
          const to = x(row.cells[c] ?? 0);
          ctx.fillStyle = colour;
          ctx.fillRect(Math.min(x(0), to), y(row.i) + half * y.bandwidth() / 2, Math.abs(to - x(0)), y.bandwidth() / 2 - 0.5);
        });
        rowName(figure, y(row.i) + y.bandwidth() / 2 + 4, `${row.cells[key]}${now < 0 ? "" : ` (${row.cells[now]})`}`);
      }
      ctx.strokeStyle = css("--muted");
      line(ctx, x(0), top, x(0), bottom);
      figure.axes(x, null, "% of time for each % of the number");
    },
    text: ({cells}) => `${cells[key]}\nraised: ${number(cells[up])}, lowered: ${number(cells[down])}`,
  });
}

// The next limits, for sensitivity: the program's time as bounds become infinitely fast one after
// another.

function limitsPath(parent, table, rows, facts) {
  const at = (name) => table.columns.indexOf(name);
  const without = at("without"), time = at("time_s"), held = at("held_share"), moved = at("kernels_moved");
  const now = Number(new Map(facts).get("time_s"));
  const node = panel(parent, "What limits next", "From the time as it is, one bound after the other is made infinitely fast; what is left is held up by all others. In brackets: the share of the time that the bound held, and how many kernels move.");
  if (!(now > 0) || rows.length === 0) {
    node.append("The result does not say.");
    return;
  }
  let before = now;
  const steps = rows.map((row) => {
    const change = row.cells[time] - before;
    const notes = [held < 0 ? "" : `${percent(row.cells[held])} %`, moved < 0 ? "" : `${number(row.cells[moved])} kernels`];
    before = row.cells[time];
    return {name: `without ${boundName(row.cells[without])} (${notes.filter(Boolean).join(", ")})`, change};
  });
  waterfall(node, {name: "as it is", value: now}, {name: "what is left", value: before}, steps, 20);
}
