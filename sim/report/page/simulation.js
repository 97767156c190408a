// One program on one device.

function showSimulation(parent, view) {
  const {kernels} = view, link = new Link();
  if (kernels.length === 0) {
    panel(parent, "No kernels", "The program launches none.");
    return;
  }
  cards(parent, [
    [view.program, "program"], [view.device, "device"], [view.model, "model"],
    [`${us(view.time_s)} µs`, view.interval ? `time; 90 %: ${us(view.interval[0])} to ${us(view.interval[1])} µs` : "time, sum of kernels"],
    [`${us(view.timeline_s)} µs`, "timeline, with overlap"], [`${us(view.host_dispatch_s)} µs`, "host dispatch, apart"],
    [number(kernels.length), "kernels"],
    [believed(kernels, view, (k) => k > 0.5),
      `of the time: correction believed, k above 0.5; up to 0.5: ${believed(kernels, view, (k) => k > 0 && k <= 0.5)}; 0 (physics alone): ${believed(kernels, view, (k) => k === 0)}`],
    [energyText(view), "energy of a run"],
    [view.written, view.version ? `written by Tilecast ${view.version}` : "result written"],
    [memoryText(view), !view.memory.capacity_bytes ? "peak of device memory" : `peak of device memory, of ${number(view.memory.capacity_bytes / 2 ** 20)} MiB`],
    [`${us(d3.sum(kernels, (k) => k.above))} µs`, "left on the table, above the speed of light"]]);
  const bounds = byTime(kernels, (k) => k.bound, (k) => k.total_s);
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
const memoryText = (view) => (view.memory.peak_bytes ?? null) === null ? "" : `${number(view.memory.peak_bytes / 2 ** 20)} MiB`;

function shares(parent, view, bounds) {
  const node = panel(parent, "What holds kernels up", "Time of the kernels bound by each resource, and by op class; µs and share of the program.", "half");
  const rows = (list, name, colour) => list.filter(([, time]) => time > 0).map(([key, time]) =>
      ({name: name(key), value: time, colour: colour(key), text: `${us(time)} µs, ${percent(time / view.time_s)} %`}));
  bars(node, rows(bounds, boundName, boundColour), {label: "time by resource"});
  node.append(element("p", {class: "about"}, "by op class"));
  bars(node, rows(byTime(view.kernels, (k) => k.class, (k) => k.total_s), (name) => name, () => kOther), {label: "time by op class"});
}

// Where the time above the speed of light is: the kernels with the largest losses.
function leftOnTheTable(parent, view, kernels) {
  const most = 12;
  const losing = kernels.filter((k) => k.above > 0).sort((a, b) => d3.descending(a.above, b.above));
  const all = d3.sum(losing, (k) => k.above);
  const node = panel(parent, "Microseconds left on the table",
      `Time of all launches above the speed of light, ${us(all)} µs in all: what a perfect kernel on this machine could save. Share of the program's time, and what holds the kernel up.`);
  if (all === 0) {
    node.append("None: every kernel runs at the speed of light.");
    return;
  }
  const rows = losing.slice(0, most).map((k) => ({name: shortName(k.name), value: k.above, colour: boundColour(k.bound),
    text: `${us(k.above)} µs, ${percent(k.above / view.time_s)} %, ${boundName(k.bound)}`}));
  const rest = d3.sum(losing.slice(most), (k) => k.above);
  if (rest > 0) rows.push({name: `${losing.length - most} others`, value: rest, colour: kOther, text: `${us(rest)} µs, ${percent(rest / view.time_s)} %`});
  bars(node, rows, {label: "time above the speed of light by kernel", width: 1100, values: 260, names: 240});
}
const shortName = (name) => name.length > 36 ? `${name.slice(0, 35)}…` : name;

function kernelTable(parent, kernels, link) {
  const node = panel(parent, "Kernels", "", "long");
  const columns = [
    {title: "kernel", get: (k) => k.name},
    {title: "class", get: (k) => k.class},
    {title: "held up by", get: (k) => boundName(k.bound), swatch: (k) => boundColour(k.bound)},
    {title: "total µs", get: (k) => micro(k.total_s), number: true},
    {title: "launches", get: (k) => k.multiplicity, number: true},
    {title: "a launch µs", get: (k) => micro(k.time_s), number: true},
    {title: "above light µs", get: (k) => micro(k.above), number: true},
    {title: "utilisation %", get: (k) => k.time_s > 0 ? 100 * k.speed_of_light_s / k.time_s : null, number: true},
    {title: "FLOP", get: (k) => k.flops, number: true, cell: (v) => withPrefix(v)},
    {title: "bytes", get: (k) => k.bytes, number: true, cell: (v) => withPrefix(v)},
    {title: "next bound", get: (k) => boundName(k.next_bound)},
    {title: "tile", get: (k) => k.tile}];
  if (kernels.some((k) => k.interval)) {
    columns.splice(6, 0,
        {title: "90 % low µs", get: (k) => k.interval ? micro(k.interval[0]) : null, number: true},
        {title: "90 % high µs", get: (k) => k.interval ? micro(k.interval[1]) : null, number: true},
        {title: "k", get: (k) => k.weight, number: true, cell: (v) => v === null ? "" : d3.format(".2f")(v)});
  }
  new Table(node, {columns, rows: kernels, link, sort: 3});
}
