// Rows of a study: two columns against each other, and their Pareto front.

// The rows not dominated in both columns within their group. `sign`: -1 if larger is better.
function frontOf(rows, group, x, y, xSign, ySign) {
  const front = new Set();
  for (const members of d3.group(rows, group).values()) {
    let best = Infinity;
    const columns = d3.groups(members, (row) => xSign * row.cells[x]).sort((a, b) => d3.ascending(a[0], b[0]));
    for (const [, same] of columns) {
      const least = d3.min(same, (row) => ySign * row.cells[y]);
      if (least < best) same.filter((row) => ySign * row.cells[y] === least).forEach((row) => front.add(row));
      best = Math.min(best, least);
    }
  }
  return front;
}

// The first column with one of these names, else the first of those that vary.
function columnLike(table, varying, ...names) {
  const found = names.map((name) => table.columns.indexOf(name)).find((c) => varying.includes(c));
  return found === undefined ? null : found;
}

function sweepView(parent, {table, rows, numbers, link}) {
  const at = (name) => table.columns.indexOf(name);
  const text = (row, name) => at(name) < 0 ? "" : String(row.cells[at(name)] ?? "");
  const group = (row) => [text(row, "program").split("/").pop(), text(row, "model")].filter(Boolean).join(", ");
  const feasible = (row) => at("feasible") < 0 || row.cells[at("feasible")] === 1;
  const varying = numbers.filter((c) => table.columns[c] !== "point" && table.columns[c] !== "feasible" && new Set(rows.map((row) => row.cells[c])).size > 1);
  if (rows.length < 3 || varying.length < 2) {
    sweepTable(parent, table, rows, numbers, link, null);
    return;
  }
  const node = panel(parent, "Pareto front", "A point each machine and program. Filled and joined: no feasible machine is better in both columns for the same program and model. Crosses: not feasible.");
  const controls = element("div", {class: "controls"}), body = element("div"), below = element("div", {class: "panel-row"});
  node.append(controls, body);
  const choose = (title, start) => {
    const select = element("select", {"aria-label": title}, ...varying.map((c) => element("option", {value: c}, table.columns[c])));
    const larger = element("input", {type: "checkbox", "aria-label": `${title}: larger is better`});
    select.value = start;
    for (const control of [select, larger]) control.addEventListener("change", show);
    controls.append(element("label", {}, `${title} `, select), element("label", {}, larger, " larger is better"));
    return {column: () => Number(select.value), sign: () => larger.checked ? -1 : 1};
  };
  const up = columnLike(table, varying, "time_s", "timeline_s") ?? varying[0];
  const rest = varying.filter((c) => c !== up);
  const across = choose("across", columnLike(table, rest, "area", "energy_J", "cost", "average_power_W") ?? rest[0]), upwards = choose("up", up);
  function show() {
    const x = across.column(), y = upwards.column();
    const placed = rows.filter((row) => row.cells[x] !== null && row.cells[y] !== null);
    const front = frontOf(placed.filter(feasible), group, x, y, across.sign(), upwards.sign());
    body.replaceChildren();
    below.replaceChildren();
    frontPlot(body, placed, {x, y, xSign: across.sign(), ySign: upwards.sign(), front, group, feasible, link, table});
    body.append(element("p", {class: "about"}, `${front.size} of ${rows.length} rows on the front, ${rows.length - placed.length} without one of the numbers, ${rows.filter((row) => !feasible(row)).length} not feasible.`));
    sweepTable(below, table, rows, numbers, link, front);
  }
  parent.append(below);
  show();
}

function frontPlot(parent, rows, {x, y, xSign, ySign, front, group, feasible, link, table}) {
  const groups = [...new Set(rows.map(group))], colour = colourScale(groups);
  if (groups.length > 1) legend(parent, groups, colour);
  const kFar = 20, kRoom = 1.15;
  let sx, sy;
  dots(parent, rows, {
    label: `Pareto front of ${table.columns[y]} against ${table.columns[x]}`, height: 380, link, radius: () => 5,
    at: (row) => [sx(row.cells[x]), sy(row.cells[y])],
    frame: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner;
      sx = scaleOf(rows.map((row) => row.cells[x]), [left, right], kFar, kRoom);
      sy = scaleOf(rows.map((row) => row.cells[y]), [bottom, top], kFar, kRoom);
      figure.axes(sx, sy, table.columns[x], table.columns[y]);
    },
    paint: (ctx, marks) => {
      for (const m of marks) if (!front.has(m.row)) drawBeaten(ctx, m, colour(group(m.row)), feasible(m.row));
      for (const name of groups) {
        const line = marks.filter((m) => front.has(m.row) && group(m.row) === name).sort((a, b) => d3.ascending(a.x, b.x));
        drawFront(ctx, line, colour(name), xSign < 0, ySign > 0);
      }
    },
    text: (row) => {
      const device = table.columns.indexOf("device");
      return [String(row.cells[Math.max(device, 0)] ?? ""), group(row), ...[x, y].map((c) => `${table.columns[c]}: ${number(row.cells[c])}`),
        feasible(row) ? front.has(row) ? "on the front" : "" : "not feasible"].filter(Boolean).join("\n");
    },
  });
}

function drawBeaten(ctx, m, colour, isFeasible) {
  ctx.strokeStyle = isFeasible ? colour : kOther;
  ctx.lineWidth = 1.3;
  if (isFeasible) {
    ctx.beginPath();
    ctx.arc(m.x, m.y, 3, 0, 2 * Math.PI);
    ctx.stroke();
    return;
  }
  line(ctx, m.x - 3, m.y - 3, m.x + 3, m.y + 3);
  line(ctx, m.x - 3, m.y + 3, m.x + 3, m.y - 3);
}

// A staircase: a machine between two points is dominated by one of them if it is on the corner.
function drawFront(ctx, marks, colour, largerX, smallerY) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  marks.forEach((m, i) => {
    if (i === 0) {
      ctx.moveTo(m.x, m.y);
      return;
    }
    const last = marks[i - 1];  // left of it, as marks are in pixels
    ctx.lineTo(largerX ? last.x : m.x, smallerY ? Math.min(last.y, m.y) : Math.max(last.y, m.y));
    ctx.lineTo(m.x, m.y);
  });
  ctx.stroke();
  for (const m of marks) circle(ctx, {x: m.x, y: m.y, r: 5}, colour);
}

// Adds a column for the front, if there is one.
function sweepTable(parent, table, rows, numbers, link, front) {
  const columns = table.columns.map((title, c) => ({title, get: (row) => row.cells[c], number: numbers.includes(c)}));
  if (front) columns.unshift({title: "on the front", get: (row) => front.has(row) ? "yes" : ""});
  new Table(panel(parent, table.title, "", "long"), {rows, link, columns, down: Boolean(front), filter: rows.length > 20});
}
