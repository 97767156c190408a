// The documents of the page as written by `tilecast`, and their views. Times are in seconds, sizes
// in bytes.

const kData = JSON.parse(document.getElementById("data").textContent);

// Reverses page_data(): {"#columns": {key: column}} becomes a list of records, and {"#words":
// [...], "at": [...]} a column of repeated values.
function unpacked(json) {
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map(unpacked);
  if (json["#words"]) {
    const words = unpacked(json["#words"]);
    return json.at.map((at) => words[at]);
  }
  const members = Object.entries(json["#columns"] || json).map(([key, value]) => [key, unpacked(value)]);
  if (!json["#columns"]) return Object.fromEntries(members);
  return members[0][1].map((_, i) => Object.fromEntries(members.map(([key, column]) => [key, column[i]])));
}

const fileName = (path) => path.split("/").pop();
const intervalOf = (json) => (json.low_s ?? null) === null || (json.high_s ?? null) === null ? null : [json.low_s, json.high_s];
const noteText = (note) => note.count > 1 ? `${note.count} x ${note.what}` : note.what;

// "out 128x512, kernel 256, stages 3, direct": all parts that the tile has.
function tileText(tile) {
  const names = {output: "out", input: "in"};
  const text = (value) => value === true ? "" : ` ${Array.isArray(value) ? value.join("x") : value}`;
  return Object.entries(tile || {}).filter(([, value]) => value !== null && value.length !== 0)
      .map(([key, value]) => (names[key] || key) + text(value)).join(", ");
}

// The kernels of a simulation with derived fields.
const kNoEstimate = {bound: "skipped", next_bound: "", next_time_s: 0, speed_of_light_s: 0, flops: 0, hbm_read_bytes: 0, hbm_write_bytes: 0, bounds_s: {}, flags: [], tile: null};
function kernelOf(json, i) {
  const k = {...json, ...(json.skipped ? kNoEstimate : {}), i};
  return {...k, tile: tileText(k.tile), flags: (k.flags || []).join("; "),
          busy: Object.entries(k.bounds_s).map(([name, time]) => ({name, time})),
          interval: intervalOf(k), weight: k.weight ?? null,  // k of a hybrid's correction
          bytes: k.hbm_read_bytes + k.hbm_write_bytes,
          above: k.total_s - k.speed_of_light_s * k.multiplicity};  // time above the speed of light
}

function simulationView(run, {source, written, document}) {
  return {...run, kind: "simulation", source, written, version: document.version || "", model: run.model || "analytical",
          interval: intervalOf(run), energy_J: run.energy_J ?? null, memory: run.memory || {}, roofs: run.roofs || {peaks: [], memory: []},
          kernels: run.kernels.map(kernelOf), notes: run.notes.map(noteText)};
}

// Labels runs by what differs between them: program, device, model, file of the result.
function labelRuns(runs) {
  const telling = ["program", "device", "model"].filter((key) => runs.some((run) => run[key] !== runs[0][key]));
  for (const run of runs) run.label = telling.map((key) => run[key]).join(", ") || run.program;
  const count = (label) => runs.filter((run) => run.label === label).length;
  const alike = runs.filter((run) => count(run.label) > 1), seen = new Map();
  for (const run of alike) {
    run.label += `, ${fileName(run.source)}`;
    seen.set(run.label, (seen.get(run.label) || 0) + 1);
    if (seen.get(run.label) > 1) run.label += ` #${seen.get(run.label)}`;
  }
}

// Two runs: the second compared with the first. More: each compared with the first of its program.
function comparedRuns(runs) {
  if (runs.length === 2) return [[runs[0], runs[1]]];
  return runs.map((run) => [runs.find((first) => first.program === run.program), run]).filter(([before, after]) => before !== after);
}

// Sides of compare, and their times for every row.
function comparisonView({sides, rows, notes, unmatched, difference}) {
  if (difference) return writtenDifference(difference, notes);
  const at = (name) => sides.findIndex((side) => side.name === name);
  const kNamed = 8, lost = unmatched || [];
  const view = {kind: "paired", notes: [...notes],
    sides: sides.map((side, i) => ({...side, against: at(side.against) < 0 ? i : at(side.against)})),
    rows: rows.map((row, i) => ({...row, i, overlaps: Boolean(row.profile && row.profile.overlaps),
      times: sides.map((side) => row.times.find((time) => time.side === side.name) || null)}))};
  if (lost.length > 0) {
    view.notes.push(`${lost.length} measured times are of no kernel of the programs and not in the rows: ${lost.slice(0, kNamed).map((row) => row.name).join(", ")}${lost.length > kNamed ? ", ..." : ""}`);
  }
  const beside = view.rows.filter((row) => row.overlaps).length;
  if (beside > 0) view.notes.push(`${beside} rows are transfers beside other rows: no sum of microseconds holds them`);
  return view;
}

// Rows of evaluate: measured times, and the models of columns "NAME ns" with "NAME low ns", "NAME
// high ns".
function evaluatedRowsView({rows}) {
  const columns = rows.length > 0 ? Object.keys(rows[0]) : [];
  const models = [];
  for (const column of columns.filter((each) => each.endsWith(" ns"))) {
    const name = column.slice(0, -" ns".length);
    if (![" low", " high"].some((end) => name.endsWith(end) && models.includes(name.slice(0, -end.length)))) models.push(name);
  }
  const seconds = (row, column) => (row[column] ?? null) === null ? null : row[column] * 1e-9;
  const time = (row, column, name) => seconds(row, column) === null ? null
    : {time_s: seconds(row, column), low_s: seconds(row, `${name} low ns`), high_s: seconds(row, `${name} high ns`)};
  return {kind: "paired", notes: [],
    sides: [{name: "measured", against: 0}, ...models.map((name) => ({name, against: 0}))],
    rows: rows.map((row, i) => ({...row, i, group: row.set, name: row.work, launches: 1, overlaps: false,
      times: [time(row, "measured_ns", "measured"), ...models.map((name) => time(row, `${name} ns`, name))]}))};
}

function scoresView({sets, scores, notes}) {
  return {kind: "scores", scores, notes: [...sets.map((set) => `${set.name}: ${set.rows} rows of ${set.measured_on}; ${set.source}`), ...notes]};
}

const viewOf = {"tilecast.compare/1": comparisonView, "tilecast.evaluate/1": scoresView, "tilecast.evaluate_rows/1": evaluatedRowsView,
  "tilecast.sweep/1": studyView, "tilecast.sweep/2": studyView};

// All runs, then their differences, then the other results.
function viewsOf(results) {
  const isSimulation = ({document}) => document.schema.startsWith("tilecast.simulate/");
  const runs = results.filter(isSimulation).flatMap((result) => result.document.programs.map((run) => simulationView(run, result)));
  labelRuns(runs);
  const others = results.filter((result) => !isSimulation(result)).map(({source, document}) =>
      ({label: fileName(source), ...(viewOf[document.schema] || tablesView)(document)}));
  return [...runs, ...comparedRuns(runs).map(([before, after]) => differenceView(before, after)), ...others];
}
