// Differences of two runs, by resource, layer or class, and kernel: as compare wrote them, else of two
// results of simulate.

// The difference{} of compare, which split each kernel's change by what resources add to it.
function writtenDifference({before, after, totals, resources, layers, kernels}, notes) {
  const time = totals.find((total) => total.name === "time_s") || {};
  const share = ({name, before_s, after_s, change_s}) => ({name, before: before_s, after: after_s, change: change_s});
  const pairs = kernels.filter((k) => (k.name_before ?? k.name_after ?? null) !== null).map((k, i) => {
    const side = (word) => (k[`name_${word}`] ?? null) === null ? null
      : {name: k[`name_${word}`], bound: k[`bound_${word}`] || "skipped", total_s: k[`${word}_s`], multiplicity: k[`launches_${word}`]};
    const most = Object.entries(k.changes_s || {}).sort((a, b) => Math.sign(k.change_s) * (b[1] - a[1]))[0];
    const was = side("before"), is = side("after");
    return {i, was, is, change: k.change_s, name: (is || was).name, layer: k.op_name || "", resource: most ? most[0] : (is || was).bound};
  });
  return {kind: "difference", label: `${before.name} \u2192 ${after.name}`, before: {...before, label: before.name}, after: {...after, label: after.name},
          beforeTime: time.before ?? 0, afterTime: time.after ?? 0, totals, pairs, notes: notes || [], classes: [],
          resources: resources.map(share), layers: layers.filter((layer) => layer.depth === 0).map(share),
          about: "What each resource adds to the time, after less before. Each view adds up to the whole."};
}

// Pairs kernels with equal keys in program order: first by content and name, then by content, then
// by name and opcode (devices with other layouts, other shapes); the rest was added or removed.
function pairKernels(before, after) {
  const pairs = [], free = {before: new Set(before.keys()), after: new Set(after.keys())};
  const round = (by, key) => {
    const waiting = new Map();  // of `before`, last first
    for (const i of [...free.before].reverse()) {
      const text = key(before[i]);
      if (text && !waiting.has(text)) waiting.set(text, []);
      if (text) waiting.get(text).push(i);
    }
    for (const i of free.after) {
      const found = (waiting.get(key(after[i])) || []).pop();
      if (found === undefined) continue;
      free.before.delete(found);
      free.after.delete(i);
      pairs.push({before: found, after: i, by});
    }
  };
  round("content", (k) => k.content && `${k.content} ${k.computation} ${k.name}`);
  round("content", (k) => k.content);
  round("name", (k) => `${k.opcode} ${k.computation} ${k.name}`);
  round("name", (k) => `${k.opcode} ${k.name}`);
  for (const i of free.before) pairs.push({before: i, after: null, by: "nothing"});
  for (const i of free.after) pairs.push({before: null, after: i, by: "nothing"});
  return pairs;
}

const byChange = (a, b) => Math.abs(b.change) - Math.abs(a.change);

// Of two results of simulate the second less the first: pairs of kernels, all launches, and the time
// of the kernels that each resource holds up, of each layer and each op class. Each list adds up to
// the whole; what resources add within a kernel only compare knows.
function differenceView(before, after) {
  const pairs = pairKernels(before.kernels, after.kernels).map(({before: b, after: a, by}) => {
    const was = b === null ? null : before.kernels[b], is = a === null ? null : after.kernels[a], any = is || was;
    const change = (is ? is.total_s : 0) - (was ? was.total_s : 0);
    return {was, is, by, change, name: any.name, class: any.class, layer: any.scope || "", resource: any.bound,
            launches: was && is ? (is.multiplicity - was.multiplicity) * was.time_s : change};  // part of it, from more launches
  }).sort(byChange).map((pair, i) => ({...pair, i}));
  const kernels = [...before.kernels.map((k) => [k, k.total_s, 0]), ...after.kernels.map((k) => [k, 0, k.total_s])];
  const shares = (word) => {
    const known = new Map();
    for (const [k, was, is] of kernels) {
      const name = word(k), share = known.get(name) || {name, before: 0, after: 0, change: 0};
      known.set(name, {name, before: share.before + was, after: share.after + is, change: share.change + is - was});
    }
    return [...known.values()].sort(byChange);
  };
  const sum = (run) => run.kernels.reduce((all, k) => all + k.total_s, 0);
  const layers = shares((k) => (k.scope || "no layer").split("/")[0]), total = (run, name) => (name === "peak_memory_bytes" ? (run.memory || {}).peak_bytes : run[name]) ?? null;
  return {kind: "difference", label: `${before.label} \u2192 ${after.label}`, before, after, beforeTime: sum(before), afterTime: sum(after), pairs,
          resources: shares((k) => k.bound), layers: layers.length > 1 ? layers : [], classes: shares((k) => k.class),
          totals: Object.keys(kTotals).map((name) => ({name, before: total(before, name), after: total(after, name)})),
          notes: [before, after].filter((run) => run.written).map((run) => `${run.label}: written ${run.written}${run.version ? ` by Tilecast ${run.version}` : ""}`),
          about: "Resources: the time of the kernels that each holds up. Each view adds up to the whole. tilecast compare splits kernels by resource, too."};
}

const kTotals = {
  timeline_s: ["timeline, with overlap", (v) => timeText(v)], mfu: ["of the peak FLOP/s used (MFU)", (v) => `${percent(v)} %`],
  main_memory_share: ["of main memory's bandwidth used", (v) => `${percent(v)} %`], main_memory_bytes: ["read and written in main memory", (v) => withPrefix(v, "B")],
  peak_memory_bytes: ["peak of device memory", (v) => bytesText(v)], energy_J: ["energy of a run", (v) => withPrefix(v, "J")]};

// The totals that both runs have; equal ones once.
function totalCards(view) {
  const told = ({name, before, after}) => name === "timeline_s" && before === view.beforeTime && after === view.afterTime;
  return view.totals.filter((total) => kTotals[total.name] && total.before !== null && total.after !== null && !told(total)).map(({name, before, after}) => {
    const [title, text] = kTotals[name];
    return [before === after ? text(before) : `${text(before)} → ${text(after)}`, title];
  });
}

function showDifference(parent, view) {
  const rows = view.pairs, link = new Link();
  const change = view.afterTime - view.beforeTime;
  cards(parent, [
    [timeText(view.beforeTime), `before: ${view.before.label}`],
    [timeText(view.afterTime), `after: ${view.after.label}`],
    [signedText(change), view.beforeTime > 0 ? `${number(100 * change / view.beforeTime).replace("-", "\u2212")} %, × ${number(view.afterTime / view.beforeTime)}` : "change"],
    ...totalCards(view),
    [`${rows.filter((row) => !row.is).length}, ${rows.filter((row) => !row.was).length}`, "kernels removed, added"]]);
  const grid = element("div", {class: "grid"});
  parent.append(grid);
  attribution(grid, view, rows);
  pairPlot(grid, rows, link);
  resourceTable(grid, view);
  pairTable(grid, rows, link);
  notes(grid, view.notes);
}

function attribution(parent, view, rows) {
  const node = panel(parent, "Where the difference comes from", view.about);
  const name = (share) => share.name;
  const views = [["resource", "by resource", view.resources, (share) => boundName(share.name)], ["layer", "by layer", view.layers || [], name],
    ["class", "by op class", view.classes, name], ["kernel", "by kernel", rows, name]].filter(([, , shares]) => shares.length > 0);
  choice(node, views, (by, body) => {
    const [, , shares, title] = views.find(([word]) => word === by);
    waterfall(body, {name: "before", value: view.beforeTime}, {name: "after", value: view.afterTime},
              shares.filter((share) => share.change !== 0).map((share) => ({name: title(share), change: share.change})));
  });
}

function pairPlot(parent, rows, link) {
  const node = panel(parent, "Kernels before and after", "Time of all launches. Below the line: faster. Kernels of one run only are not on it.", "half");
  const both = rows.filter((row) => row.was && row.is && row.was.total_s > 0 && row.is.total_s > 0);
  if (both.length === 0) {
    node.append("No kernel is in both runs.");
    return;
  }
  scatter(node, both, {
    link, label: "time of kernels before and after", xTitle: "before, µs", yTitle: "after, µs",
    x: (row) => row.was.total_s * 1e6, y: (row) => row.is.total_s * 1e6,
    colour: (row) => boundColour(row.resource),
    text: (row) => [row.name, `${timeText(row.was.total_s)} → ${timeText(row.is.total_s)}: ${signedText(row.change)}`,
      `${boundName(row.was.bound)} → ${boundName(row.is.bound)}`].join("\n"),
  });
}

function resourceTable(parent, view) {
  const node = panel(parent, "By resource", view.about.split(". ")[0] + ".", "half");
  new Table(node, {
    rows: view.resources.map((share, i) => ({...share, i})), sort: null, filter: false,
    columns: [
      {title: "resource", get: (row) => boundName(row.name), swatch: (row) => boundColour(row.name)},
      {title: "before µs", get: (row) => micro(row.before), number: true},
      {title: "after µs", get: (row) => micro(row.after), number: true},
      {title: "change µs", get: (row) => micro(row.change), number: true, cell: (v) => signed(v)}]});
}

function pairTable(parent, rows, link) {
  const node = panel(parent, "Kernels", "", "long");
  const columns = [
    {title: "kernel before", get: (row) => row.was ? row.was.name : ""},
    {title: "kernel after", get: (row) => row.is ? row.is.name : ""},
    {title: "layer", get: (row) => row.layer},
    {title: "class", get: (row) => row.class},
    {title: "before µs", get: (row) => row.was ? micro(row.was.total_s) : null, number: true},
    {title: "after µs", get: (row) => row.is ? micro(row.is.total_s) : null, number: true},
    {title: "change µs", get: (row) => micro(row.change), number: true, cell: (v) => signed(v)},
    {title: "|change| µs", get: (row) => micro(Math.abs(row.change)), number: true},
    {title: "by launches µs", get: (row) => micro(row.launches), number: true, unsaid: 0},
    {title: "resource", get: (row) => boundName(row.resource), swatch: (row) => boundColour(row.resource)},
    {title: "bound before", get: (row) => row.was ? boundName(row.was.bound) : ""},
    {title: "bound after", get: (row) => row.is ? boundName(row.is.bound) : ""},
    {title: "paired by", get: (row) => row.by}];
  new Table(node, {link, rows, columns: telling(columns, rows), sort: "|change| µs"});
}
