// Differences of two simulations, by resource, class and kernel.

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

// A kernel's time is that of all its launches. An increase is attributed to the resource that
// limits the kernel after (which got worse), a decrease to the one that limited it before (which
// was relieved). Each kernel counts once, so that every attribution sums to the total.
function attributed({before, after, by}, kernels, others) {
  const was = before === null ? null : kernels[before], is = after === null ? null : others[after];
  const change = (is ? is.total_s : 0) - (was ? was.total_s : 0);
  return {was, is, by, change, name: (is || was).name, class: (is || was).class,
          launches: was && is ? (is.multiplicity - was.multiplicity) * was.time_s : change,  // part of it, from more launches
          resource: (is && (change > 0 || !was) ? is : was).bound};
}

const byChange = (a, b) => Math.abs(b.change) - Math.abs(a.change);

// The second of two simulations compared with the first: pairs of kernels, and per resource and
// class the time of its kernels (those that the resource limits) and the change attributed to it.
function differenceView(before, after) {
  const pairs = pairKernels(before.kernels, after.kernels).map((pair) => attributed(pair, before.kernels, after.kernels)).sort(byChange);
  const resources = new Map(), classes = new Map();
  const add = (shares, name, key, time) => {
    if (!shares.has(name)) shares.set(name, {name, before: 0, after: 0, change: 0});
    shares.get(name)[key] += time;
  };
  for (const pair of pairs) add(resources, pair.resource, "change", pair.change);
  const view = {kind: "difference", label: `${before.label} \u2192 ${after.label}`, before, after, beforeTime: 0, afterTime: 0};
  for (const [key, run, sign] of [["before", before, -1], ["after", after, 1]]) {
    for (const k of run.kernels) {
      view[`${key}Time`] += k.total_s;
      add(resources, k.bound, key, k.total_s);
      add(classes, k.class, key, k.total_s);
      add(classes, k.class, "change", sign * k.total_s);
    }
  }
  return {...view, pairs: pairs.map((pair, i) => ({...pair, i})), resources: [...resources.values()].sort(byChange), classes: [...classes.values()].sort(byChange)};
}

// "before → after" if both runs have it.
function bothTexts(view, text) {
  const was = text(view.before), is = text(view.after);
  return was && is ? `${was} → ${is}` : "";
}

// The same, once if both are equal, "?" for a missing one.
function eitherText(view, text) {
  const was = text(view.before), is = text(view.after);
  return was === is ? was : `${was || "?"} → ${is || "?"}`;
}

function showDifference(parent, view) {
  const rows = view.pairs, link = new Link();
  const change = view.afterTime - view.beforeTime;
  const count = (by) => rows.filter((row) => row.by === by).length;
  cards(parent, [
    [`${us(view.beforeTime)} µs`, `before: ${view.before.label}`],
    [`${us(view.afterTime)} µs`, `after: ${view.after.label}`],
    [`${signedUs(change)} µs`, view.beforeTime > 0 ? `${number(100 * change / view.beforeTime)} %, × ${number(view.afterTime / view.beforeTime)}` : "change"],
    [`${us(view.before.timeline_s)} → ${us(view.after.timeline_s)} µs`, "timeline, with overlap"],
    [bothTexts(view, energyText), "energy of a run"],
    [bothTexts(view, memoryText), "peak of device memory"],
    [eitherText(view, (run) => run.written), "results written, before → after"],
    [eitherText(view, (run) => run.version), "version of Tilecast"],
    [`${count("content")} + ${count("name")}`, "kernels paired by content + by name"],
    [`${rows.filter((row) => !row.is).length}, ${rows.filter((row) => !row.was).length}`, "removed, added"]]);
  const grid = element("div", {class: "grid"});
  parent.append(grid);
  attribution(grid, view, rows);
  pairPlot(grid, rows, link);
  resourceTable(grid, view);
  pairTable(grid, rows, link);
}

function attribution(parent, view, rows) {
  const node = panel(parent, "Where the difference comes from",
      "Slower kernels count for what holds them up after, faster ones for what held them up before. Each view adds up to the whole.");
  const controls = element("div", {class: "controls"}), body = element("div");
  node.append(controls, body);
  const steps = {
    resource: view.resources.map((share) => ({name: boundName(share.name), change: share.change})),
    class: view.classes.map((share) => ({name: share.name, change: share.change})),
    kernel: rows.map((row) => ({name: row.name, change: row.change})),
  };
  const show = (by) => {
    body.replaceChildren();
    for (const button of controls.children) button.setAttribute("aria-pressed", String(button.dataset.by === by));
    waterfall(body, {name: "before", value: view.beforeTime}, {name: "after", value: view.afterTime},
              steps[by].filter((step) => step.change !== 0));
  };
  for (const [by, title] of [["resource", "by resource"], ["class", "by op class"], ["kernel", "by kernel"]]) {
    const button = element("button", {type: "button", "data-by": by}, title);
    button.addEventListener("click", () => show(by));
    controls.append(button);
  }
  show("resource");
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
    text: (row) => [row.name, `${us(row.was.total_s)} → ${us(row.is.total_s)} µs: ${signedUs(row.change)} µs`,
      `${boundName(row.was.bound)} → ${boundName(row.is.bound)}`].join("\n"),
  });
}

function resourceTable(parent, view) {
  const node = panel(parent, "By resource", "Time of the kernels that each held up, and the change that counts for it.", "half");
  new Table(node, {
    rows: view.resources.map((share, i) => ({...share, i})), sort: 3, filter: false,
    columns: [
      {title: "resource", get: (row) => boundName(row.name), swatch: (row) => boundColour(row.name)},
      {title: "before µs", get: (row) => micro(row.before), number: true},
      {title: "after µs", get: (row) => micro(row.after), number: true},
      {title: "counts for it µs", get: (row) => micro(row.change), number: true, cell: (v) => signedUs(v / 1e6)}]});
}

function pairTable(parent, rows, link) {
  const node = panel(parent, "Kernels", "", "long");
  new Table(node, {
    link, rows: rows.map((row) => ({...row, size: Math.abs(row.change)})), sort: 7,
    columns: [
      {title: "kernel before", get: (row) => row.was ? row.was.name : ""},
      {title: "kernel after", get: (row) => row.is ? row.is.name : ""},
      {title: "class", get: (row) => row.class},
      {title: "paired by", get: (row) => row.by},
      {title: "before µs", get: (row) => row.was ? micro(row.was.total_s) : null, number: true},
      {title: "after µs", get: (row) => row.is ? micro(row.is.total_s) : null, number: true},
      {title: "change µs", get: (row) => micro(row.change), number: true, cell: (v) => signedUs(v / 1e6)},
      {title: "|change| µs", get: (row) => micro(row.size), number: true},
      {title: "by launches µs", get: (row) => micro(row.launches), number: true},
      {title: "counts for", get: (row) => boundName(row.resource), swatch: (row) => boundColour(row.resource)},
      {title: "bound before", get: (row) => row.was ? boundName(row.was.bound) : ""},
      {title: "bound after", get: (row) => row.is ? boundName(row.is.bound) : ""}]});
}
