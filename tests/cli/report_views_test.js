// Appended to the parts of the page that create views of documents (data.js, difference.js,
// tables.js): tests them on small documents, and that differences sum up. `kOriginals` are the
// documents from which the page's data was created. Faults are written into the page, as JSON in
// <pre id="outcome">.
(() => {
  "use strict";
  const faults = [];
  const same = (got, expected, what) => {
    if (JSON.stringify(got) !== JSON.stringify(expected)) faults.push(`${what}: got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
  };
  const near = (got, expected, slack, what) => { if (!(Math.abs(got - expected) <= slack)) faults.push(`${what}: got ${got}, expected ${expected}`); };

  // Packing only loses digits; null stands for a missing member.
  const compare = (got, expected, path) => {
    if (typeof expected === "number") near(got, expected, 1e-6 * Math.abs(expected), path);
    else if (expected === null || typeof expected !== "object") same(got ?? null, expected, path);
    else {
      for (const key of Object.keys(expected)) compare(got[key], expected[key], `${path}.${key}`);
      for (const key of Object.keys(got)) if (!(key in expected)) same(got[key], null, `${path}.${key}`);
    }
  };
  unpacked(kData.results).forEach((result, i) => compare(result.document, kOriginals[i], result.source));

  let state = 18;
  const draw = (below) => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return Math.floor(state / 2 ** 31 * below);
  };
  const kernel = (name, content, time, bound, launches = 1) =>
    ({name, content, opcode: "fusion", class: "fusion", computation: "main", multiplicity: launches, time_s: time, total_s: time * launches, bound});
  const run = (...kernels) => ({label: "r", kernels});
  // Few names, contents and bounds, so that they coincide.
  const randomRun = () => run(...Array.from({length: draw(12)}, () => ({
    ...kernel(`k${draw(8)}`, draw(4) === 0 ? "" : `c${draw(5)}`, 1e-9 * draw(1000000), ["hbm_read", "matrix", "latency", "skipped"][draw(4)], draw(5)),
    class: ["fusion", "matrix"][draw(2)]})));
  const sum = (rows, of) => rows.reduce((all, row) => all + of(row), 0);
  const time = ({kernels}) => sum(kernels, (k) => k.total_s);

  for (let round = 0; round < 2000; ++round) {
    const before = randomRun(), after = randomRun(), d = differenceView(before, after);
    const change = time(after) - time(before), slack = 1e-13 * (time(before) + time(after)) + 1e-30;
    near(d.afterTime - d.beforeTime, change, slack, "the whole change");
    for (const part of ["resources", "classes", "pairs"]) near(sum(d[part], (share) => share.change), change, slack, part);
    for (const [key, {kernels}] of [["was", before], ["is", after]]) {
      const seen = d.pairs.map((pair) => pair[key]).filter(Boolean);
      same([seen.length, new Set(seen).size], [kernels.length, kernels.length], "every kernel counts once");
    }
    same(d.pairs.every((pair) => (pair.by === "nothing") === !(pair.was && pair.is)), true, "paired by");
    const back = differenceView(after, before);
    same(back.pairs.length, d.pairs.length, "pairs of the reverse");
    for (const {name, change: there} of d.resources) {
      near(sum(back.resources.filter((share) => share.name === name), (share) => share.change), -there, slack, "reverse");
    }
    for (const pair of differenceView(before, before).pairs) {
      same([pair.was.name, pair.was.content, pair.change], [pair.is.name, pair.is.content, 0], "a run and itself");
    }
  }

  const renamed = differenceView(run(kernel("fusion.1", "a", 3e-6, "matrix"), kernel("fusion.2", "b", 5e-6, "hbm_read")),
                                 run(kernel("fusion.1", "b", 4e-6, "hbm_read"), kernel("fusion.2", "a", 3e-6, "matrix"))).pairs;
  same(renamed.map((pair) => [pair.was.name, pair.is.name, pair.by]), [["fusion.2", "fusion.1", "content"], ["fusion.1", "fusion.2", "content"]], "renamed kernels");
  near(renamed[0].change, 4e-6 - 5e-6, 1e-20, "renamed kernels");
  same(differenceView(run(kernel("dot.1", "tiled", 3e-6, "matrix")), run(kernel("dot.1", "plain", 2e-6, "hbm_read"))).pairs.map((pair) => pair.by), ["name"], "another layout");
  const counted = differenceView(
      run(kernel("faster", "a", 9e-6, "matrix"), kernel("slower", "b", 1e-6, "matrix"), kernel("removed", "c", 2e-6, "latency")),
      run(kernel("faster", "a", 4e-6, "hbm_read"), kernel("slower", "b", 3e-6, "hbm_read"), kernel("added", "d", 7e-6, "network"))).resources;
  for (const [name, change] of [["matrix", -9e-6 - 1e-6], ["hbm_read", 4e-6 + 3e-6], ["latency", -2e-6], ["network", 7e-6]]) {
    near(counted.find((share) => share.name === name).change, change, 1e-18, `time of the kernels held up: ${name}`);
  }
  const more = differenceView(run(kernel("k", "a", 3e-6, "matrix", 2)), run(kernel("k", "a", 4e-6, "matrix", 5))).pairs[0];
  near(more.change, 5 * 4e-6 - 2 * 3e-6, 1e-18, "more launches");
  near(more.launches, (5 - 2) * 3e-6, 1e-18, "more launches, by launches");

  const estimate = {next_bound: "matrix", next_time_s: 1, speed_of_light_s: 1, flops: 4, hbm_read_bytes: 1, hbm_write_bytes: 2, bounds_s: {vector: 2}, flags: ["f", "g"],
    tile: {output: [2, 4], kernel: [], stages: 3, warps: 8, direct: true}, low_s: 1, high_s: 3, weight: 0.75};
  const made = {schema: "tilecast.simulate/1", programs: [{file: "f", program: "p", device: "d", time_s: 4, kernels: [
    {...kernel("big", "c", 2, "vector", 2), ...estimate}, {...kernel("none", "", 0), skipped: true}], notes: [{what: "assumed", count: 3}]}]};
  const [view, , difference] = viewsOf([{source: "x/a.json", written: "", document: made}, {source: "b.json", written: "w", document: made}]);
  const [big, none] = view.kernels;
  same([big.tile, big.flags, big.interval, big.weight, big.bytes, big.above], ["out 2x4, stages 3, warps 8, direct", "f; g", [1, 3], 0.75, 3, 2], "a kernel");
  same([none.bound, none.tile, none.interval, none.weight, none.bytes], ["skipped", "", null, null, 0], "a skipped kernel");
  same([view.label, view.model, view.version, view.energy_J, view.interval, view.notes], ["p, a.json", "analytical", "", null, null, ["3 x assumed"]], "a run");
  same([difference.kind, difference.label, difference.after.written], ["difference", "p, a.json \u2192 p, b.json", "w"], "two runs");

  const compared = comparisonView({notes: ["n"], sides: [{name: "a", against: "m"}, {name: "m", against: "m"}],
    rows: [{name: "copy", profile: {overlaps: true}, times: [{side: "m", time_s: 1}]}], unmatched: [{name: "lost.1"}]});
  same([compared.sides[0].against, compared.rows[0].overlaps, compared.rows[0].times[0], compared.rows[0].times[1].time_s], [1, true, null, 1], "compare");
  same(compared.notes, ["n", "1 measured times are of no kernel of the programs and not in the rows: lost.1",
    "1 rows are transfers beside other rows: no sum of microseconds holds them"], "what rows of compare do not hold");

  const share = (name, before, after) => ({name, depth: 0, before_s: before, after_s: after, change_s: after - before});
  const written = comparisonView({notes: ["n"], sides: [], rows: [], difference: {before: {name: "a"}, after: {name: "b"},
    totals: [{name: "time_s", before: 5, after: 4}], resources: [share("matrix", 4, 2), share("vector", 1, 2)],
    layers: [share("block", 5, 4), {...share("mlp", 5, 4), depth: 1}],
    kernels: [{...share("", 5, 1), name_before: "k.1", name_after: "k.2", bound_before: "matrix", bound_after: null, changes_s: {matrix: -6, vector: 2}},
      {...share("", 0, 3), name_before: null, name_after: "new", bound_after: "matrix", changes_s: {vector: 1, matrix: 2}}]}});
  same([written.kind, written.label, written.beforeTime, written.afterTime, written.notes], ["difference", "a \u2192 b", 5, 4, ["n"]], "the difference of compare");
  same(written.layers.map((layer) => [layer.name, layer.change]), [["block", -1]], "uppermost layers add up");
  same(written.pairs.map((pair) => [pair.name, pair.was && pair.was.bound, pair.is.bound, pair.change, pair.resource]),
    [["k.2", "matrix", "skipped", -4, "matrix"], ["new", null, "matrix", 3, "matrix"]], "kernels: the resource that moved them most");

  const evaluated = evaluatedRowsView({rows: [{set: "s", work: "w", measured_ns: 1000, "hybrid ns": 900, "roofline ns": null, "hybrid low ns": 800, "hybrid high ns": 1100}]});
  same(evaluated.sides.map((side) => side.name), ["measured", "hybrid", "roofline"], "sides of evaluate");
  const [measured, hybrid, roofline] = evaluated.rows[0].times;
  near(measured.time_s, 1e-6, 1e-20, "measured");
  near(hybrid.high_s, 1.1e-6, 1e-20, "the interval");
  same(roofline, null, "no answer");

  const tables = tablesView({schema: "tilecast.x/1", seed: 7, none: [], in: {on: true, share: 0.1234567}, rows: [{a: 1}, {b: "x"}], c: [{n: "x", interval_95: [1, 2.5]}]});
  same(tables.facts, [["seed", "7"], ["none", "none"], ["in.on", "yes"], ["in.share", "0.12346"]], "facts");
  same(tables.tables, [{title: "rows", columns: ["a", "b"], rows: [[1, null], [null, "x"]]},
    {title: "c", columns: ["n", "interval_95 low", "interval_95 high"], rows: [["x", 1, 2.5]]}], "records");

  const pre = document.createElement("pre");
  pre.id = "outcome";
  pre.textContent = JSON.stringify(faults);
  document.body.append(pre);
})();
