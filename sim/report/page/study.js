// A study: the front of its objectives, what each axis changes, scaling over devices, its rows.

// The table of a study with what its plots ask of a row.
function studyOf(view) {
  const shown = shownTable(view.table), {table, rows, numbers} = shown;
  const at = (name) => table.columns.indexOf(name);
  const text = (row, name) => at(name) < 0 ? "" : String(row.cells[at(name)] ?? "");
  const words = (name) => [...new Set(rows.map((row) => text(row, name)))];
  return {...shown, ...view, at, text, devices: words("device"),
    group: (row) => [text(row, "program").split("/").pop(), words("model").length > 1 ? text(row, "model") : ""].filter(Boolean).join(", "),
    feasible: (row) => at("feasible") < 0 || row.cells[at("feasible")] === 1,
    // "hbm.bandwidth 1.2 TB/s, clock 1.5 GHz": the machine of a row.
    machine: (row) => [text(row, "device"), ...view.axes.filter((axis) => at(axis) >= 0)
      .map((axis) => `${titleOf(axis)} ${quantityText(axis, row.cells[at(axis)])}`)].filter(Boolean).join(", "),
    varying: numbers.filter((c) => !["point", "feasible", "best"].includes(table.columns[c]) && new Set(rows.map((row) => row.cells[c])).size > 1)};
}

function showStudy(parent, view) {
  const study = studyOf(view), {rows, feasible} = study;
  if (rows.length === 0) {
    panel(parent, "No rows", "No machine of the study is in this result.");
    return;
  }
  cards(parent, [[number(new Set(rows.map((row) => study.machine(row))).size), "machines"], [number(rows.length), "rows"],
    [number(rows.filter(feasible).length), "feasible rows"],
    ...view.objectives.filter(({column}) => study.varying.includes(study.at(column)) && !view.axes.includes(column)).slice(0, 3).map((objective) => bestCard(study, objective))]);
  const grid = element("div", {class: "grid"}), below = element("div", {class: "panel-row"});
  parent.append(grid);
  const isPlotted = rows.length >= 3 && study.varying.length >= 2;
  if (isPlotted) frontPanel(grid, study, (front) => { below.replaceChildren(); studyTable(below, study, front); });
  axesPanel(grid, study);
  scalingPanel(grid, study);
  grid.append(below);
  if (!isPlotted) studyTable(below, study, null);
}

function bestCard({at, rows, feasible, machine}, {column, larger}) {
  const c = at(column), known = rows.filter((row) => feasible(row) && row.cells[c] !== null);
  if (known.length === 0) return ["", ""];
  const best = known.reduce((a, b) => ((b.cells[c] < a.cells[c]) !== larger && b.cells[c] !== a.cells[c] ? b : a));
  return [quantityText(column, best.cells[c]), `${larger ? "most" : "least"} ${titleOf(column)}: ${machine(best)}`];
}

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

// Two columns against each other, at first the study's objectives; calls onFront(rows of the front).
function frontPanel(parent, study, onFront) {
  const {table, rows, varying, group, feasible, objectives, at} = study;
  const node = panel(parent, "Pareto front", "A point each machine and program. Filled and joined: no feasible machine is better in both for the same program and model. Crosses: not feasible.");
  const controls = element("div", {class: "controls"}), body = element("div");
  node.append(controls, body);
  const wanted = objectives.filter(({column}) => varying.includes(at(column)));
  const named = (...names) => names.map(at).find((c) => varying.includes(c));
  const up = wanted[0] ?? {column: table.columns[named("time_s", "timeline_s") ?? varying[0]], larger: false};
  const rest = varying.filter((c) => c !== at(up.column));
  const across = wanted[1] ?? {column: table.columns[[named("area", "energy_J", "cost", "average_power_W"), ...rest].find((c) => rest.includes(c))], larger: false};
  const choose = (title, {column, larger}) => {
    const select = menu(controls, title, varying.map((c) => [c, titleOf(table.columns[c])]), at(column), show);
    const box = element("input", {type: "checkbox", "aria-label": `${title}: larger is better`});
    box.checked = larger;
    box.addEventListener("change", show);
    controls.append(element("label", {}, box, " larger is better"));
    return {column: () => Number(select.value), sign: () => box.checked ? -1 : 1};
  };
  const ofX = choose("across", across), ofY = choose("up", up);
  function show() {
    const x = ofX.column(), y = ofY.column();
    const placed = rows.filter((row) => row.cells[x] !== null && row.cells[y] !== null);
    const front = frontOf(placed.filter(feasible), group, x, y, ofX.sign(), ofY.sign());
    body.replaceChildren();
    frontPlot(body, placed, {x, y, xSign: ofX.sign(), ySign: ofY.sign(), front, study});
    body.append(element("p", {class: "about"}, `${front.size} of ${rows.length} rows are on the front, ${rows.length - placed.length} lack one of the numbers, ${rows.filter((row) => !feasible(row)).length} are not feasible.`));
    onFront(front);
  }
  show();
}

// With several devices colours tell them apart, and shapes the programs.
const kShapes = [["●", "symbolCircle"], ["■", "symbolSquare"], ["▲", "symbolTriangle"], ["◆", "symbolDiamond"], ["★", "symbolStar"], ["✚", "symbolCross"]];
function frontPlot(parent, rows, {x, y, xSign, ySign, front, study}) {
  const {table, group, feasible, machine, devices, text} = study;
  const groups = [...new Set(study.rows.map(group))], several = devices.length > 1 && devices.length <= kPalette.length;
  const word = several ? (row) => text(row, "device") : group, words = several ? devices : groups;
  const scale = colourScale(words), colour = (row) => scale(word(row));
  const shape = (row) => kShapes[several ? groups.indexOf(group(row)) % kShapes.length : 0];
  if (words.length > 1) legend(parent, words, scale);
  if (several && groups.length > 1) parent.append(element("p", {class: "about"}, groups.map((name, i) => `${kShapes[i % kShapes.length][0]} ${name}`).join("   ")));
  const kFar = 20, kRoom = 1.15, [xName, yName] = [table.columns[x], table.columns[y]];
  let sx, sy;
  dots(parent, rows, {
    label: `Pareto front of ${titleOf(yName)} against ${titleOf(xName)}`, height: 380, link: study.link, radius: () => 5,
    at: (row) => [sx(row.cells[x]), sy(row.cells[y])],
    frame: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner;
      sx = scaleOf(rows.map((row) => row.cells[x]), [left, right], kFar, kRoom);
      sy = scaleOf(rows.map((row) => row.cells[y]), [bottom, top], kFar, kRoom);
      figure.axes(sx, sy, xName, yName);
    },
    paint: (ctx, marks) => {
      for (const m of marks) if (!front.has(m.row)) drawBeaten(ctx, m, shape(m.row), colour(m.row), feasible(m.row));
      for (const name of groups) {
        const line = marks.filter((m) => front.has(m.row) && group(m.row) === name).sort((a, b) => d3.ascending(a.x, b.x));
        drawFront(ctx, line, several ? css("--muted") : scale(name), xSign < 0, ySign > 0);
        for (const m of line) drawShape(ctx, m, shape(m.row), 70, colour(m.row), true);
      }
    },
    text: (row) => [machine(row), group(row), ...[xName, yName].map((name) => `${titleOf(name)}: ${quantityText(name, row.cells[table.columns.indexOf(name)])}`),
      feasible(row) ? front.has(row) ? "on the front" : "" : "not feasible"].filter(Boolean).join("\n"),
  });
}

function drawShape(ctx, m, [, symbol], size, colour, isFilled) {
  ctx.save();
  ctx.translate(m.x, m.y);
  ctx.beginPath();
  d3.symbol().type(d3[symbol]).size(size).context(ctx)();
  ctx.fillStyle = ctx.strokeStyle = colour;
  ctx.lineWidth = 1.3;
  if (isFilled) ctx.fill();
  else ctx.stroke();
  ctx.restore();
}

function drawBeaten(ctx, m, shape, colour, isFeasible) {
  if (isFeasible) {
    drawShape(ctx, m, shape, 30, colour, false);
    return;
  }
  ctx.strokeStyle = kOther;
  ctx.lineWidth = 1.3;
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
}

// How a column changes from the first to the last value of an axis, all else equal: the geometric
// mean of the ratios, the least and the most of them, and how many there are; null for none.
function axisEffect({rows, at, axes, text}, axis, column) {
  const a = at(axis), c = at(column);
  const known = rows.filter((row) => row.cells[c] > 0), values = [...new Set(known.map((row) => row.cells[a]))];
  if (values.every((value) => typeof value === "number")) values.sort((p, q) => p - q);
  const others = (row) => JSON.stringify(["device", "program", "model", ...axes.filter((name) => name !== axis)].map((name) => text(row, name)));
  const ratios = [...d3.group(known, others).values()].map((of) => {
    const [first, last] = [values[0], values[values.length - 1]].map((value) => of.find((row) => row.cells[a] === value));
    return first && last && first !== last ? last.cells[c] / first.cells[c] : null;
  }).filter((ratio) => ratio !== null);
  if (ratios.length === 0) return null;
  return {axis, from: values[0], to: values[values.length - 1], count: ratios.length, mean: Math.exp(d3.mean(ratios, Math.log)), least: d3.min(ratios), most: d3.max(ratios)};
}

function axesPanel(parent, study) {
  const {axes, at, objectives, numbers} = study;
  const columns = objectives.map(({column}) => column).filter((column) => numbers.includes(at(column)) && !axes.includes(column));
  const effects = (column) => axes.map((axis) => axisEffect(study, axis, column)).filter(Boolean)
      .sort((a, b) => d3.descending(Math.abs(Math.log(a.mean)), Math.abs(Math.log(b.mean))));
  const shown = columns.filter((column) => effects(column).length > 0);
  if (shown.length === 0) return;
  const node = panel(parent, "What each axis changes", "From its first to its last value, all else equal. Bar: the geometric mean over all pairs of rows; line: from the least to the most of them.");
  choice(node, shown.map((column) => [column, titleOf(column)]),
         (column, body) => effectPlot(body, effects(column).map((effect, i) => ({...effect, i})), column));
}

function effectPlot(parent, effects, column) {
  const change = (ratio) => 100 * (ratio - 1), ends = effects.flatMap((each) => [change(each.least), change(each.most), 0]);
  const x = d3.scaleLinear(d3.extent(ends), [0, 1]).nice(), y = d3.scaleBand(effects.map((each) => each.i), [0, 1]).padding(0.25);
  const name = ({axis, from, to}, room) => {
    const text = `${titleOf(axis)}: ${quantityText(axis, from)} → ${quantityText(axis, to)}`;
    return text.length * kLetter <= room ? text : titleOf(axis);
  };
  bands(parent, effects, {
    label: `change of ${titleOf(column)} by axis`, height: 50 + 30 * effects.length, left: 330, x, y, key: (row) => row.i,
    draw: (ctx, figure) => {
      for (const each of effects) {
        const middle = y(each.i) + y.bandwidth() / 2, to = x(change(each.mean));
        ctx.fillStyle = each.mean > 1 ? "#d55e00" : "#0072b2";
        ctx.fillRect(Math.min(x(0), to), y(each.i), Math.max(1, Math.abs(to - x(0))), y.bandwidth());
        ctx.strokeStyle = css("--text");
        ctx.lineWidth = 1.2;
        line(ctx, x(change(each.least)), middle, x(change(each.most)), middle);
        rowName(figure, middle + 4, name(each, figure.inner.left - 10));
      }
      ctx.strokeStyle = css("--muted");
      line(ctx, x(0), figure.inner.top, x(0), figure.inner.bottom);
      figure.axes(x, null, `change of ${titleOf(column)}, %`);
    },
    text: () => "",
  });
}

// Time against the number of devices, where programs or slices of several sizes are in the study.
// A line each machine; where every program is for one size, a line joins the programs.
function scalingPanel(parent, study) {
  const {rows, at, text, feasible, axes, link} = study, n = at("devices"), t = at("timeline_s");
  const known = n < 0 || t < 0 ? [] : rows.filter((row) => feasible(row) && row.cells[n] > 0 && row.cells[t] > 0);
  const sizes = [...new Set(known.map((row) => row.cells[n]))].sort((a, b) => a - b);
  if (sizes.length < 2) return;
  const joins = [...d3.group(known, (row) => text(row, "program")).values()].every((of) => new Set(of.map((row) => row.cells[n])).size === 1);
  const key = (row) => [study.devices.length > 1 ? text(row, "device") : "", joins ? "" : study.group(row), ...axes.filter((axis) => !axis.startsWith("interconnect.slice"))
    .map((axis) => `${titleOf(axis)} ${quantityText(axis, row.cells[at(axis)])}`)].filter(Boolean).join(", ") || "all";
  const lines = [...d3.group(known, key)].map(([name, of]) => [name, of.sort((a, b) => a.cells[n] - b.cells[n])]);
  const colour = colourScale(lines.map(([name]) => name)), first = new Map(lines.map(([name, of]) => [name, of[0]]));
  const efficiency = (row) => { const from = first.get(key(row)); return from.cells[t] * from.cells[n] / (row.cells[t] * row.cells[n]); };
  const node = panel(parent, "Scaling", "Timeline against the number of devices, both axes logarithmic. Dashed: twice the devices take half the time; in %: how much of that is reached.");
  if (lines.length > 1) legend(node, lines.slice(0, kPalette.length).map(([name]) => name), colour);
  let x, y;
  dots(node, known, {
    label: "scaling over devices", height: 340, link, radius: () => 4.5, at: (row) => [x(row.cells[n]), y(row.cells[t])],
    frame: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner, times = known.map((row) => row.cells[t]);
      x = d3.scaleLog([sizes[0] / 1.3, sizes[sizes.length - 1] * 2], [left, right]);
      y = scaleOf([...times, ...lines.map(([, [from]]) => from.cells[t] * from.cells[n] / sizes[sizes.length - 1])], [bottom, top], 1.01, 1.2);
      figure.axes(x, y, "devices", "timeline_s", sizes);
    },
    paint: (ctx, marks, figure) => {
      for (const [name, of] of lines) {
        const last = of[of.length - 1].cells[n], from = of[0];
        ctx.strokeStyle = colour(name);
        ctx.lineWidth = 2;
        d3.pairs(of, (a, b) => line(ctx, x(a.cells[n]), y(a.cells[t]), x(b.cells[n]), y(b.cells[t])));
        ctx.lineWidth = 1;
        ctx.setLineDash([4, 4]);
        line(ctx, x(from.cells[n]), y(from.cells[t]), x(last), y(from.cells[t] * from.cells[n] / last));
        ctx.setLineDash([]);
      }
      for (const m of marks) circle(ctx, m, colour(key(m.row)));
      for (const [, of] of lines) {
        const end = of[of.length - 1];
        label(figure, x(end.cells[n]) + 9, y(end.cells[t]) + 4, `${percent(efficiency(end))} %`, "start");
      }
    },
    text: (row) => [study.machine(row), study.group(row), `${number(row.cells[n])} devices: ${quantityText("timeline_s", row.cells[t])}`, `${percent(efficiency(row))} % of perfect scaling`].join("\n"),
  });
}

// The columns that vary, one for the front where there is one, and what is the same in every row.
function studyTable(parent, {table, rows, numbers, link}, front) {
  const all = columnsOf(table, numbers).map((column) => column.title === "program" ? {...column, get: (row) => fileName(String(column.get(row)))} : column), node = panel(parent, "Rows", "", "long");
  const varies = ({get}) => new Set(rows.map(get)).size > 1;
  const same = all.filter((column) => !varies(column) && column.title !== "feasible" && ![null, 0].includes(column.get(rows[0])));
  const columns = rows.length > 1 ? all.filter(varies) : all;
  if (front) columns.unshift({title: "front", get: (row) => front.has(row) ? "yes" : ""});
  if (rows.length > 1 && same.length > 0) {
    node.append(element("p", {class: "about"}, `The same in every row: ${same.map((column) => `${column.title} ${(column.cell || String)(column.get(rows[0]))}`).join(", ")}.`));
  }
  new Table(node, {rows, link, columns, down: Boolean(front), filter: rows.length > 20});
}
