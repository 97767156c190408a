// Two simulations: what changed, by resource, class and kernel.

function pairRows(view) {
  const before = kernelsOf(kData.views[view.before]), after = kernelsOf(kData.views[view.after]);
  return rowsOf(view.pairs).map((pair) => {
    const was = pair.before === null ? null : before[pair.before];
    const is = pair.after === null ? null : after[pair.after];
    return {...pair, was, is, name: (is || was).name, class: (is || was).class};
  });
}

// "before → after" where both runs say it.
function bothTexts(view, text) {
  const was = text(kData.views[view.before]), is = text(kData.views[view.after]);
  return was && is ? `${was} → ${is}` : "";
}

// The same, once where both say the same, "?" where one does not say.
function eitherText(view, text) {
  const was = text(kData.views[view.before]), is = text(kData.views[view.after]);
  return was === is ? was : `${was || "?"} → ${is || "?"}`;
}

function showDifference(parent, view) {
  const rows = pairRows(view), link = new Link();
  const change = view.afterTime - view.beforeTime;
  const count = (by) => rows.filter((row) => row.by === by).length;
  cards(parent, [
    [`${us(view.beforeTime)} µs`, `before: ${kData.views[view.before].label}`],
    [`${us(view.afterTime)} µs`, `after: ${kData.views[view.after].label}`],
    [`${signedUs(change)} µs`, view.beforeTime > 0 ? `${number(100 * change / view.beforeTime)} %, × ${number(view.afterTime / view.beforeTime)}` : "change"],
    [`${us(kData.views[view.before].timeline)} → ${us(kData.views[view.after].timeline)} µs`, "timeline, with overlap"],
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
  const both = rows.filter((row) => row.was && row.is && row.was.total > 0 && row.is.total > 0);
  if (both.length === 0) {
    node.append("No kernel is in both runs.");
    return;
  }
  scatter(node, both, {
    link, label: "time of kernels before and after", xTitle: "before, µs", yTitle: "after, µs",
    x: (row) => row.was.total * 1e6, y: (row) => row.is.total * 1e6,
    colour: (row) => boundColour(row.resource),
    text: (row) => [row.name, `${us(row.was.total)} → ${us(row.is.total)} µs: ${signedUs(row.change)} µs`,
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
      {title: "before µs", get: (row) => row.was ? micro(row.was.total) : null, number: true},
      {title: "after µs", get: (row) => row.is ? micro(row.is.total) : null, number: true},
      {title: "change µs", get: (row) => micro(row.change), number: true, cell: (v) => signedUs(v / 1e6)},
      {title: "|change| µs", get: (row) => micro(row.size), number: true},
      {title: "by launches µs", get: (row) => micro(row.launches), number: true},
      {title: "counts for", get: (row) => boundName(row.resource), swatch: (row) => boundColour(row.resource)},
      {title: "bound before", get: (row) => row.was ? boundName(row.was.bound) : ""},
      {title: "bound after", get: (row) => row.is ? boundName(row.is.bound) : ""}]});
}
