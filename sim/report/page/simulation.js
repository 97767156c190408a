// One program on one device.

function showSimulation(parent, view) {
  const {kernels} = view, link = new Link();
  if (kernels.length === 0) {
    panel(parent, "No kernels", "The program launches none.");
    return;
  }
  const bounds = byTime(kernels, (k) => k.bound, (k) => k.total_s), most = bounds[0];
  const share = (value) => (value ?? null) === null ? "" : `${percent(value)} %`;
  parent.append(element("p", {class: "about gap"}, `${view.program} on ${view.device}, by ${view.model}` +
      (view.written ? `; written ${view.written}${view.version ? ` by Tilecast ${view.version}` : ""}` : "")));
  cards(parent, [
    [timeText(view.time_s), view.interval ? `time; 90 %: ${timeText(view.interval[0])} to ${timeText(view.interval[1])}` : "time, sum of kernels"],
    [boundName(most[0]), `limits most: ${percent(most[1] / (view.time_s || 1))} % of the time`],
    [share(view.mfu), "of the peak FLOP/s used (MFU)"], [share(view.main_memory_share), "of main memory's bandwidth used"],
    [(view.tokens_per_s ?? null) === null ? "" : number(view.tokens_per_s), "tokens per second"],
    [view.timeline_s === view.time_s ? "" : timeText(view.timeline_s), "timeline, with overlap"],
    [timeText(d3.sum(kernels, (k) => k.above)), "left on the table, above the speed of light"],
    kernels.every((k) => !k.weight) ? [kernels.some((k) => k.weight === 0) ? "physics alone" : "", "no measurement corrects a kernel"] : [believed(kernels, view, (k) => k > 0.5),
      `of the time mostly corrected by measurements (k above 0.5); a little: ${believed(kernels, view, (k) => k > 0 && k <= 0.5)}; physics alone: ${believed(kernels, view, (k) => k === 0)}`],
    [memoryText(view), !view.memory.capacity_bytes ? "peak of device memory" : `peak of device memory, of ${bytesText(view.memory.capacity_bytes)}`],
    [energyText(view), "energy of a run"], [timeText(view.host_dispatch_s), "host dispatch, apart"], [number(kernels.length), "kernels"]]);
  legend(parent, bounds.map(([name]) => name), boundColour, boundName);
  const grid = element("div", {class: "grid"});
  parent.append(grid);
  roofline(grid, view, link);
  chosenKernel(grid, view, link);
  timeline(grid, view, link);
  treemap(grid, view, link);
  shares(grid, view, bounds);
  leftOnTheTable(grid, view, kernels);
  kernelTable(grid, kernels, link);
  notes(grid, view.notes);
}

// Share of the time whose correction weight k satisfies `such`; "" without corrections.
const believed = (kernels, view, such) => kernels.every((k) => k.weight === null) || view.time_s === 0 ? ""
  : `${percent(d3.sum(kernels.filter((k) => k.weight !== null && such(k.weight)), (k) => k.total_s) / view.time_s)} %`;
// Values that only some results have; "" if missing.
const energyText = (view) => view.energy_J === null ? "" : withPrefix(view.energy_J, "J");
const memoryText = (view) => (view.memory.peak_bytes ?? null) === null ? "" : bytesText(view.memory.peak_bytes);

function shares(parent, view, bounds) {
  const node = panel(parent, "What holds kernels up", "Time of the kernels bound by each resource, and by op class, and its share of the program.", "half");
  const rows = (list, name, colour) => list.filter(([, time]) => time > 0).map(([key, time]) =>
      ({name: name(key), value: time, colour: colour(key), text: `${timeText(time)}, ${percent(time / view.time_s)} %`}));
  bars(node, rows(bounds, boundName, boundColour), {label: "time by resource"});
  node.append(element("p", {class: "about"}, "by op class"));
  bars(node, rows(byTime(view.kernels, (k) => k.class, (k) => k.total_s), (name) => name, () => kOther), {label: "time by op class"});
}

// Where the time above the speed of light is: the kernels with the largest losses.
function leftOnTheTable(parent, view, kernels) {
  const most = 12;
  const losing = kernels.filter((k) => k.above > 0).sort((a, b) => d3.descending(a.above, b.above));
  const all = d3.sum(losing, (k) => k.above);
  const node = panel(parent, "Time left on the table",
      `Time of all launches above the speed of light, ${timeText(all)} in all: what a perfect kernel on this machine could save. Share of the program's time, and what holds the kernel up.`);
  if (all === 0) {
    node.append("None: every kernel runs at the speed of light.");
    return;
  }
  const rows = losing.slice(0, most).map((k) => ({name: shortName(k.name), value: k.above, colour: boundColour(k.bound),
    text: `${timeText(k.above)}, ${percent(k.above / view.time_s)} %, ${boundName(k.bound)}`}));
  const rest = d3.sum(losing.slice(most), (k) => k.above);
  if (rest > 0) rows.push({name: `${losing.length - most} others`, value: rest, colour: kOther, text: `${timeText(rest)}, ${percent(rest / view.time_s)} %`});
  bars(node, rows, {label: "time above the speed of light by kernel", width: 1100, values: 260, names: 240});
}
const shortName = (name) => name.length > 36 ? `${name.slice(0, 35)}…` : name;

function kernelTable(parent, kernels, link) {
  const node = panel(parent, "Kernels", "", "long");
  const columns = [
    {title: "kernel", get: (k) => k.name},
    {title: "layer", get: (k) => k.scope || ""},
    {title: "class", get: (k) => k.class},
    {title: "held up by", get: (k) => boundName(k.bound), swatch: (k) => boundColour(k.bound)},
    {title: "total µs", get: (k) => micro(k.total_s), number: true},
    {title: "launches", get: (k) => k.multiplicity, number: true, unsaid: 1},
    {title: "a launch µs", get: (k) => micro(k.time_s), number: true},
    {title: "above light µs", get: (k) => micro(k.above), number: true},
    {title: "utilisation %", get: (k) => k.time_s > 0 ? 100 * k.speed_of_light_s / k.time_s : null, number: true},
    {title: "FLOP", get: (k) => k.flops, number: true, cell: (v) => withPrefix(v)},
    {title: "bytes", get: (k) => k.bytes, number: true, cell: (v) => withPrefix(v)},
    {title: "next bound", get: (k) => boundName(k.next_bound)},
    {title: "tile", get: (k) => k.tile},
    {title: "90 % low µs", get: (k) => k.interval ? micro(k.interval[0]) : null, number: true},
    {title: "90 % high µs", get: (k) => k.interval ? micro(k.interval[1]) : null, number: true},
    {title: "k", get: (k) => k.weight, number: true, cell: (v) => v === null ? "" : d3.format(".2f")(v)}];
  new Table(node, {columns: telling(columns, kernels), rows: kernels, link, sort: "total µs"});
}

// Descriptions of one kernel: tooltips and the panel of the selected one.

function kernelText(k) {
  if (!k) return "";
  const lines = [k.name, `${k.opcode}, ${k.class}`,
    `${timeText(k.total_s)} = ${number(k.multiplicity)} × ${timeText(k.time_s)}`, `held up by ${boundName(k.bound)}`];
  if (k.interval) lines.push(`90 %: ${timeText(k.interval[0])} to ${timeText(k.interval[1])} a launch`);
  return lines.join("\n");
}

function facts(parent, pairs) {
  const list = element("dl", {class: "facts"});
  for (const [name, value] of pairs) {
    if (value === "" || value === null || value === undefined) continue;
    list.append(element("dt", {}, name), element("dd", {}, value));
  }
  parent.append(list);
}

function cards(parent, list) {
  const node = element("div", {class: "cards"});
  for (const [value, name] of list) {
    if (value === "" || value === null) continue;
    node.append(element("div", {class: "card"}, element("b", {}, value), element("span", {}, name)));
  }
  parent.append(node);
}

function notes(parent, list) {
  if (list.length === 0) return;
  const node = panel(parent, "Notes", "", "long");
  node.append(element("ul", {class: "notes"}, ...list.map((text) => element("li", {}, text))));
}

function chosenKernel(parent, view, link) {
  const node = panel(parent, "Chosen kernel", "", "third");
  const body = element("div");
  node.append(body);
  const longest = view.kernels.reduce((a, b) => (b.total_s > a.total_s ? b : a));
  const show = () => {
    const k = link.chosen >= 0 ? view.kernels[link.chosen] : longest;
    body.replaceChildren();
    if (link.chosen < 0) body.append(element("p", {class: "about"}, "The longest one; choose others in plots and table."));
    facts(body, [
      ["kernel", k.name], ["op", `${k.opcode} (${k.class})`], ["in", k.computation],
      ["time", `${timeText(k.time_s)} a launch, × ${number(k.multiplicity)} = ${timeText(k.total_s)}`],
      ["90 % interval", k.interval ? `${timeText(k.interval[0])} to ${timeText(k.interval[1])}` : ""],
      ["k of the correction", k.weight === null ? "" : d3.format(".2f")(k.weight)], ["held up by", boundName(k.bound)],
      ["without it", k.next_bound ? `${timeText(k.next_time_s)}, by ${boundName(k.next_bound)}` : ""],
      ["speed of light", timeText(k.speed_of_light_s)], ["work", withPrefix(k.flops, "FLOP")],
      ["main memory", `${withPrefix(k.hbm_read_bytes, "B")} read, ${withPrefix(k.hbm_write_bytes, "B")} written`],
      ["tile", k.tile], ["approximated", k.flags]]);
    const busy = k.busy.filter((each) => each.time > 0).sort((a, b) => d3.descending(a.time, b.time));
    body.append(element("p", {class: "about gap"}, "busy in one launch"));
    bars(body, busy.map((each) => ({name: boundName(each.name), value: each.time, colour: boundColour(each.name), text: timeText(each.time)})),
         {label: "busy time of each resource", width: 360, values: 60});
  };
  link.onChange((what) => { if (what === "choose") show(); });
  show();
}

// Roofline: Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model"
// (CACM 2009). A point is one kernel: useful FLOPs per byte of main memory against FLOP/s.

// Peaks with the same rate are combined, "matrix bf16, f16": {rate, text}.
function roofsOf(view) {
  const units = (peaks) => [...d3.group(peaks, (peak) => peak.unit)]
      .map(([unit, of]) => `${unit} ${of.length > 3 ? `${of[0].dtype} and ${of.length - 1} more` : of.map((peak) => peak.dtype).join(", ")}`).join("; ");
  return [...d3.rollup(view.roofs.peaks, units, (peak) => peak.flops_per_s)].map(([rate, text]) => ({rate, text}));
}

function roofline(parent, view, link) {
  const kernels = view.kernels.filter((k) => k.flops > 0 && k.bytes > 0 && k.time_s > 0);
  const left = view.kernels.length - kernels.length;
  const node = panel(parent, "Roofline",
      "One point per kernel, its area the time of all launches. Roofs are peaks of one core." +
      (left ? ` ${left} kernels without FLOPs or memory traffic are not on it.` : ""), "two-thirds");
  if (kernels.length === 0) return;
  const roofs = roofsOf(view), memory = view.roofs.memory[0];
  const most = d3.max(kernels, (k) => k.total_s);
  const radius = (k) => 2.5 + 11 * Math.sqrt(k.total_s / most);
  let x, y;
  const frame = (ctx, figure) => {
    const {left: l, right: r, top: t, bottom: b} = figure.inner;
    const intensities = kernels.map((k) => k.flops / k.bytes);
    const rates = kernels.map((k) => k.flops / k.time_s);
    const ridge = memory && roofs.length ? roofs[0].rate / memory.read_bytes_per_s : 1;
    const top = Math.max(d3.max(rates), roofs.length ? roofs[0].rate : 0) * 2;
    x = d3.scaleLog([Math.min(d3.min(intensities), ridge) / 2, Math.max(d3.max(intensities), ridge) * 4], [l, r]);
    y = d3.scaleLog([Math.max(d3.min(rates) / 2, top / 1e9), top], [b, t]).clamp(true);
    drawRoofs(ctx, figure, roofs, memory, x, y);
    figure.axes(x, y, "FLOP per byte of main memory", "FLOP/s");
  };
  dots(node, kernels, {
    label: "roofline of the kernels", height: (width) => Math.max(360, Math.min(520, 0.75 * width)), link, frame, radius, text: kernelText,
    at: (k) => [x(k.flops / k.bytes), y(k.flops / k.time_s)], paint: circles((k) => boundColour(k.bound), 0.75),
  });
}

// The slope of main memory up to the highest peak, and a line for each peak.
function drawRoofs(ctx, figure, roofs, memory, x, y) {
  if (!memory || roofs.length === 0) return;
  const [low, high] = x.domain();
  ctx.strokeStyle = css("--muted");
  ctx.lineWidth = 1.5;
  const ridge = roofs[0].rate / memory.read_bytes_per_s;
  line(ctx, x(low), y(low * memory.read_bytes_per_s), x(Math.min(high, ridge)), y(Math.min(high, ridge) * memory.read_bytes_per_s));
  const first = Math.max(low, y.domain()[0] / memory.read_bytes_per_s), rate = (flopsPerByte) => y(flopsPerByte * memory.read_bytes_per_s);
  const turn = Math.atan2(rate(ridge) - rate(first), x(ridge) - x(first)) * 180 / Math.PI;
  figure.svg.append("text").attr("class", "muted").attr("text-anchor", "middle")
      .attr("transform", `translate(${x(Math.sqrt(first * ridge))},${rate(Math.sqrt(first * ridge))}) rotate(${turn}) translate(0,-16)`)
      .text(`${memory.name} ${withPrefix(memory.read_bytes_per_s, "B/s")}`);
  let above = -Infinity;
  for (const roof of roofs) {
    line(ctx, x(Math.max(low, roof.rate / memory.read_bytes_per_s)), y(roof.rate), x(high), y(roof.rate));
    const place = Math.max(y(roof.rate) - 5, above + 12);
    label(figure, x(high), place, `${roof.text} ${withPrefix(roof.rate, "FLOP/s")}`, "end");
    above = place;
  }
}

// The times at which kernels run, a row per lane. Dragging zooms, a double click shows all.

function timeline(parent, view, link) {
  const kernels = view.kernels.filter((k) => k.end_s > k.start_s);
  const node = panel(parent, "Timeline",
      "When kernels run; copies and collectives overlap. Drag to zoom, double-click to show all.");
  if (kernels.length === 0) return;
  const lanes = ["compute", "dma", "network", "host", "to_host", "slices"].filter((lane) => kernels.some((k) => k.lane === lane));
  for (const k of kernels) if (!lanes.includes(k.lane)) lanes.push(k.lane);
  const all = [0, d3.max(kernels, (k) => k.end_s)];
  const byIndex = new Map(kernels.map((k) => [k.i, k]));
  const x = d3.scaleLinear(all, [0, 1]);
  const y = d3.scaleBand(lanes, [0, 1]).paddingInner(0.15);
  const box = (k) => {
    const from = x(k.start_s);
    return [from, y(k.lane), Math.max(0.6, x(k.end_s) - from), y.bandwidth()];
  };
  const draw = (ctx, figure) => {
    const {left, right, top, bottom} = figure.inner;
    x.range([left, right]);
    y.range([top, bottom]);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, bottom - top);
    ctx.clip();
    for (const k of kernels) {
      const [bx, by, w, h] = box(k);
      if (bx > right || bx + w < left) continue;
      ctx.fillStyle = boundColour(k.bound);
      ctx.fillRect(bx, by, w > 3 ? w - 0.6 : w, h);
    }
    ctx.restore();
    figure.axes(x, null, "time_s");
    for (const lane of lanes) rowName(figure, y(lane) + y.bandwidth() / 2 + 4, lane);
  };
  const figure = new Figure(node, {
    label: "timeline of the kernels", height: 52 + 40 * lanes.length, link, draw,
    margin: {top: 6, right: 16, bottom: 38, left: 70},
    pick: (px, py) => {
      const t = x.invert(px), slack = Math.abs(x.invert(px + 1) - x.invert(px));
      const hit = kernels.find((k) => py >= y(k.lane) && py <= y(k.lane) + y.bandwidth() && k.start_s - slack <= t && t <= k.end_s + slack);
      return hit ? hit.i : -1;
    },
    mark: (ctx, i) => {
      const k = byIndex.get(i);
      if (k) ctx.strokeRect(...box(k));
    },
    text: (i) => kernelText(byIndex.get(i)),
  });
  dragToZoom(figure, x, all);
}

function dragToZoom(figure, x, all) {
  let from = null;
  const at = (event) => x.invert(event.clientX - figure.top.getBoundingClientRect().left);
  figure.top.addEventListener("mousedown", (event) => { from = at(event); });
  figure.top.addEventListener("mouseup", (event) => {
    const to = at(event);
    if (from !== null && Math.abs(x(to) - x(from)) > 6) {
      x.domain([Math.max(all[0], Math.min(from, to)), Math.min(all[1], Math.max(from, to))]);
      figure.dragged = true;
      figure.render();
    }
    from = null;
  });
  figure.top.addEventListener("dblclick", () => { x.domain(all); figure.render(); });
}

// Where the time goes: an area per kernel, in its layers (scopes of the framework) or op class.

function treemap(parent, view, link) {
  const kernels = view.kernels.filter((k) => k.total_s > 0);
  const node = panel(parent, "Where the time goes", "Area is the time of all launches, colour what holds the kernel up.", "half");
  if (kernels.length === 0) return;
  const path = {layer: (k) => (k.scope || "no layer").split("/").slice(0, 2), class: (k) => [k.class]};
  const tree = (by) => {
    const inside = (rows, depth) => [...d3.group(rows, (k) => path[by](k)[depth])].flatMap(([name, of]) =>
      name === undefined ? of : [{name, children: inside(of, depth + 1)}]);
    return d3.hierarchy({children: inside(kernels, 0)}).sum((d) => d.total_s || 0).sort((a, b) => b.value - a.value);
  };
  let figure = null, leaves = [], byIndex = new Map(), shown = kernels.some((k) => k.scope) ? "layer" : "class";
  const draw = (ctx, figure) => {
    const root = tree(shown);
    d3.treemap().size([figure.width, figure.height]).paddingInner(1).paddingOuter(2).paddingTop(15)(root);
    leaves = root.leaves();
    byIndex = new Map(leaves.map((leaf) => [leaf.data.i, leaf]));
    ctx.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    for (const leaf of leaves) drawLeaf(ctx, leaf);
    ctx.fillStyle = css("--text");
    for (const group of root.descendants().filter((each) => each.parent && each.children && each.y1 - each.y0 >= 14)) {
      fitText(ctx, `${group.data.name} ${percent(group.value / root.value)} %`, group.x0 + 3, group.y0 + 11, group.x1 - group.x0 - 6);
    }
  };
  if (shown === "layer") choice(node, [["layer", "by layer"], ["class", "by op class"]], (by) => { shown = by; if (figure) figure.render(); });
  figure = new Figure(node, {
    label: "treemap of the time of the kernels", height: 320, link, draw,
    pick: (x, y) => {
      const leaf = leaves.find((l) => l.x0 <= x && x <= l.x1 && l.y0 <= y && y <= l.y1);
      return leaf ? leaf.data.i : -1;
    },
    mark: (ctx, i) => {
      const leaf = byIndex.get(i);
      if (leaf) ctx.strokeRect(leaf.x0, leaf.y0, leaf.x1 - leaf.x0, leaf.y1 - leaf.y0);
    },
    text: (i) => kernelText(byIndex.get(i).data),
  });
}

function drawLeaf(ctx, leaf) {
  const width = leaf.x1 - leaf.x0, height = leaf.y1 - leaf.y0;
  ctx.fillStyle = boundColour(leaf.data.bound);
  ctx.fillRect(leaf.x0, leaf.y0, width, height);
  if (width < 40 || height < 15) return;
  ctx.fillStyle = d3.lab(boundColour(leaf.data.bound)).l > 58 ? "#000" : "#fff";
  fitText(ctx, leaf.data.name, leaf.x0 + 3, leaf.y0 + 12, width - 6);
}

// The longest prefix of the text that fits into `room` pixels.
function fitText(ctx, text, x, y, room) {
  const each = ctx.measureText("n").width;
  const fits = Math.floor(room / each);
  if (fits < 4) return;
  ctx.fillText(text.length <= fits ? text : `${text.slice(0, fits - 1)}…`, x, y);
}
