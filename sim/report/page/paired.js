// Times of the same work from two sides: compare, and rows of evaluate.

// Points on logarithmic axes with the diagonal; `interval(row)` in units of y, or null; `noise`: the
// relative width of the band about the diagonal.
function scatter(node, rows, {link, label: aria, xTitle, yTitle, x: ofX, y: ofY, colour, text, interval, noise}) {
  let x, y;
  const bar = (ctx, row) => {
    const span = interval && interval(row);
    if (span) line(ctx, x(ofX(row)), y(span[0]), x(ofX(row)), y(span[1]));
  };
  const frame = (ctx, figure) => {
    const {left, right, top, bottom} = figure.inner;
    const values = rows.flatMap((row) => [ofX(row), ofY(row)]);
    const domain = [d3.min(values) / 1.5, d3.max(values) * 1.5];
    x = d3.scaleLog(domain, [left, right]);
    y = d3.scaleLog(domain, [bottom, top]).clamp(true);
    if (noise) noiseBand(ctx, domain, x, y, noise);
    ctx.strokeStyle = css("--muted");
    ctx.lineWidth = 1.2;
    line(ctx, left, bottom, right, top);
    ctx.strokeStyle = css("--line");
    for (const factor of [0.5, 2]) {
      line(ctx, x(domain[0] * Math.max(1, 1 / factor)), y(domain[0] * Math.max(1, factor)),
           x(domain[1] / Math.max(1, factor)), y(domain[1] * Math.min(1, factor)));
    }
    figure.axes(x, y, xTitle, yTitle);
    ctx.globalAlpha = 0.4;
    if (rows.length <= 300) for (const row of rows) { ctx.strokeStyle = colour(row); bar(ctx, row); }
  };
  return dots(node, rows, {label: aria, height: 360, link, frame, text, below: bar, at: (row) => [x(ofX(row)), y(ofY(row))],
    paint: circles(colour, rows.length > 1000 ? 0.5 : 0.8)});
}

// Between x (1 - noise) and x (1 + noise), over the domain of x.
function noiseBand(ctx, domain, x, y, noise) {
  ctx.fillStyle = css("--line");
  ctx.beginPath();
  for (const [value, factor] of [[domain[0], 1 - noise], [domain[1], 1 - noise], [domain[1], 1 + noise], [domain[0], 1 + noise]]) ctx.lineTo(x(value), y(Math.max(domain[0], Math.min(domain[1], value * factor))));
  ctx.fill();
}

// Rows of the view for one side, compared with another.
function pairedRows(view, side, against) {
  return view.rows.map((row) => {
    const its = row.times[side], other = row.times[against];
    const time = its ? its.time_s : null, reference = other ? other.time_s : null;
    return {...row, time, reference, bound: (its && its.bound) || "", interval: its && intervalOf(its), noise: other && other.spread_s > 0 && other.time_s > 0 ? other.spread_s / other.time_s : null,
            ratio: time > 0 && reference > 0 ? time / reference : null,
            lost: its && other && !row.overlaps ? (time - reference) * row.launches : null};
  });
}

function showPaired(parent, view) {
  const controls = element("div", {class: "controls"}), body = element("div");
  const first = Math.max(0, view.sides.findIndex((side, i) => side.against !== i));
  const show = () => {
    body.replaceChildren();
    showSides(body, view, pairedRows(view, side.value, against.value), view.sides[side.value], view.sides[against.value]);
  };
  const sides = view.sides.map(({name}, i) => [i, name]);
  const side = menu(controls, "side", sides, first, show), against = menu(controls, "against", sides, view.sides[first].against, show);
  parent.append(element("p"), controls, body);
  show();
}

function showSides(parent, view, rows, side, against) {
  const link = new Link();
  const both = rows.filter((row) => row.ratio !== null), counted = rows.filter((row) => row.lost !== null);
  const errors = both.map((row) => Math.abs(row.ratio - 1)).sort(d3.ascending);
  const covered = both.filter((row) => row.interval);
  const noisy = both.filter((row) => row.noise !== null), noise = noisy.length ? d3.median(noisy, (row) => row.noise) : 0;
  const inside = covered.filter((row) => row.interval[0] <= row.reference && row.reference <= row.interval[1]);
  cards(parent, [
    [number(both.length), `rows with a ratio (neither is 0), of ${rows.length}`],
    [both.length ? `${percent(d3.median(errors))} %` : "", "median |side / against − 1|"],
    [both.length ? `${percent(d3.quantile(errors, 0.9))} %` : "", "90th percentile"],
    [both.length ? `× ${number(Math.exp(d3.mean(both, (row) => Math.log(row.ratio))))}` : "", "geometric mean of side / against"],
    [noise ? `± ${percent(noise)} %` : "", `noise of '${against.name}': median spread of ${noisy.length} rows`],
    [signedText(d3.sum(counted, (row) => row.lost)), `side − against, all launches of ${counted.length} rows`],
    [covered.length ? `${percent(inside.length / covered.length)} %` : "", `of ${covered.length} 90 % intervals hold the time of '${against.name}'`]]);
  if (both.length === 0) {
    panel(parent, "No row in common", "Choose another side.");
    return;
  }
  const classes = byTime(both, (row) => row.class, () => 1).map(([name]) => name);
  const colour = colourScale(classes);
  legend(parent, classes.slice(0, 7).concat(classes.length > 7 ? ["others"] : []), colour);
  const grid = element("div", {class: "grid"});
  parent.append(grid);
  const node = panel(grid, `${side.name} against ${against.name}`, "One launch. Grey lines: a factor of 2." + (rows.some((row) => row.interval) ? " Bars: 90 % intervals." : "") + (noise ? " Grey band: the noise." : ""), "half");
  scatter(node, both, {
    link, noise, label: "times of two sides", xTitle: `${against.name}, µs`, yTitle: `${side.name}, µs`,
    x: (row) => row.reference * 1e6, y: (row) => row.time * 1e6, colour: (row) => colour(row.class),
    interval: (row) => row.interval && row.interval.map((v) => v * 1e6),
    text: (row) => [row.name, row.tile, `${timeText(row.reference)} → ${timeText(row.time)}, × ${number(row.ratio)}`].filter(Boolean).join("\n"),
  });
  residuals(grid, both, classes, colour, link, noise);
  lostBars(grid, counted);
  pairedTable(grid, rows, side, against, link, colour);
  notes(grid, view.notes);
}

// log2(side / against) of every row by class, with median and quartiles.
function residuals(parent, rows, classes, colour, link, noise) {
  const node = panel(parent, "Residuals by class", "side / against, a point each row; line: median, box: quartiles.", "half");
  const shown = classes.slice(0, 14);
  const spread = Math.max(1, d3.quantile(rows.map((row) => Math.abs(Math.log2(row.ratio))).sort(d3.ascending), 0.99));
  const x = d3.scaleLog().domain([2 ** -spread / 1.2, 2 ** spread * 1.2]).clamp(true);
  const y = d3.scaleBand(shown, [0, 1]).padding(0.25);
  const frame = (ctx, figure) => {
    const {left, right, top, bottom} = figure.inner;
    x.range([left, right]);
    y.range([top, bottom]);
    ctx.fillStyle = css("--line");
    if (noise) ctx.fillRect(x(1 - noise), top, x(1 + noise) - x(1 - noise), bottom - top);
    ctx.strokeStyle = css("--muted");
    line(ctx, x(1), top, x(1), bottom);
    figure.axes(x, null, "side / against");
  };
  dots(node, rows.filter((row) => shown.includes(row.class)), {
    label: "residuals by class", height: 360, link, frame, margin: {top: 6, right: 16, bottom: 38, left: 150}, reach: 8, radius: () => 2.5,
    at: (row) => [x(row.ratio), y(row.class) + y.bandwidth() * (0.15 + 0.7 * ((row.i * 0.618034) % 1))],
    paint: (ctx, marks, figure) => {
      circles((row) => colour(row.class), rows.length > 500 ? 0.35 : 0.6)(ctx, marks);
      ctx.globalAlpha = 1;
      for (const name of shown) residualBox(ctx, figure, rows.filter((row) => row.class === name).map((row) => row.ratio), name, x, y);
    },
    text: (row) => `${row.name}\n× ${number(row.ratio)}`,
  });
}

function residualBox(ctx, figure, ratios, name, x, y) {
  const sorted = ratios.sort(d3.ascending);
  const [low, middle, high] = [0.25, 0.5, 0.75].map((p) => x(d3.quantile(sorted, p)));
  ctx.strokeStyle = css("--text");
  ctx.lineWidth = 1.2;
  ctx.strokeRect(low, y(name), Math.max(1, high - low), y.bandwidth());
  ctx.lineWidth = 3;
  line(ctx, middle, y(name), middle, y(name) + y.bandwidth());
  rowName(figure, y(name) + y.bandwidth() / 2 + 4, `${name} (${ratios.length})`);
}

// Microseconds between the two sides, by class.
function lostBars(parent, rows) {
  const node = panel(parent, "Microseconds between the sides", "Sum of |side − against| over all launches, by op class.");
  const sums = [...new Set(rows.map((row) => row.class))].map((name) => {
    const of = rows.filter((row) => row.class === name);
    return {name, lost: d3.sum(of, (row) => Math.abs(row.lost)), sum: d3.sum(of, (row) => row.lost)};
  }).sort((a, b) => d3.descending(a.lost, b.lost));
  bars(node, sums.map((each) => ({name: each.name, value: each.lost, colour: kOther, text: `${timeText(each.lost)} (net ${signedText(each.sum)})`})), {label: "time between the sides by class", width: 1100, values: 280});
}

function pairedTable(parent, rows, side, against, link, colour) {
  const node = panel(parent, "Rows", "", "long");
  const columns = [
    {title: "of", get: (row) => row.group}, {title: "name", get: (row) => row.name},
    {title: "class", get: (row) => row.class, swatch: (row) => colour(row.class)},
    {title: "launches", get: (row) => row.launches, number: true, unsaid: 1},
    {title: `${against.name} µs`, get: (row) => micro(row.reference), number: true},
    {title: `${side.name} µs`, get: (row) => micro(row.time), number: true},
    {title: "ratio", get: (row) => row.ratio, number: true},
    {title: "lost µs", get: (row) => micro(row.lost), number: true, cell: (v) => v === null ? "" : signed(v)},
    {title: "|lost| µs", get: (row) => row.lost === null ? null : Math.abs(micro(row.lost)), number: true},
    {title: "noise %", get: (row) => row.noise === null ? null : 100 * row.noise, number: true},
    {title: "90 % low µs", get: (row) => row.interval ? micro(row.interval[0]) : null, number: true},
    {title: "90 % high µs", get: (row) => row.interval ? micro(row.interval[1]) : null, number: true},
    {title: "held up by", get: (row) => boundName(row.bound), swatch: (row) => boundColour(row.bound)},
    {title: "tile", get: (row) => row.tile}, {title: "split", get: (row) => row.split}];
  new Table(node, {columns: telling(columns, rows), rows, link, sort: "|lost| µs"});
}

// Scores of evaluate: a metric by stratum and model with bootstrap intervals.

function showScores(parent, view) {
  const all = view.scores.map((score, i) => ({...score, i}));
  const body = element("div", {class: "grid"}), controls = element("div", {class: "controls"});
  const scored = all.filter((row) => row.value !== null);
  const words = (rows, word) => [...new Set(rows.map(word))].map((each) => [each, each]);
  const ofMetric = menu(controls, "metric", words(scored, (row) => row.metric), "mape", show);
  const ofBy = menu(controls, "by", words(all, (row) => row.by), "class", show);
  function show() {
    body.replaceChildren();
    scorePlot(body, scored.filter((row) => row.metric === ofMetric.value && row.by === ofBy.value), ofMetric.value);
    scoreTable(body, scored);
    notes(body, view.notes);
  }
  parent.append(element("p"), controls, body);
  show();
}

function scorePlot(parent, rows, metric) {
  const node = panel(parent, metric, "A point each model; bars: 95 % bootstrap intervals. Fractions, not %.");
  if (rows.length === 0) {
    node.append("No score of this kind.");
    return;
  }
  const strata = [...new Set(rows.map((row) => row.stratum))], models = [...new Set(rows.map((row) => row.model))];
  const colour = colourScale(models);
  legend(node, models, colour);
  const counts = new Map(rows.map((row) => [row.stratum, row.rows]));
  const ends = rows.flatMap((row) => [row.value, row.low ?? row.value, row.high ?? row.value]);
  const x = d3.scaleLinear([Math.min(0, d3.min(ends)), d3.max(ends) || 1], [0, 1]).nice();
  const y = d3.scaleBand(strata, [0, 1]).padding(0.2), inside = d3.scalePoint(models, [0, 1]).padding(0.6);
  new Figure(node, {
    label: `${metric} by stratum and model`, height: 50 + strata.length * Math.max(22, 12 * models.length),
    margin: {top: 6, right: 20, bottom: 38, left: 190},
    draw: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner;
      x.range([left, right]);
      y.range([top, bottom]);
      inside.range([0, y.bandwidth()]);
      for (const row of rows) {
        const py = y(row.stratum) + inside(row.model);
        ctx.strokeStyle = colour(row.model);
        ctx.lineWidth = 2;
        if (row.low !== null && row.high !== null) line(ctx, x(row.low), py, x(row.high), py);
        circle(ctx, {x: x(row.value), y: py, r: 4}, colour(row.model));
      }
      figure.axes(x, null, metric);
      for (const name of strata) rowName(figure, y(name) + y.bandwidth() / 2 + 4, `${name} (${counts.get(name)} rows)`);
    },
  });
}

function scoreTable(parent, rows) {
  const node = panel(parent, "Scores", "Fractions; low and high: 95 % bootstrap interval.", "long");
  new Table(node, {rows, down: false, columns: [
    {title: "by", get: (row) => row.by}, {title: "stratum", get: (row) => row.stratum},
    {title: "model", get: (row) => row.model}, {title: "metric", get: (row) => row.metric},
    {title: "value", get: (row) => row.value, number: true},
    {title: "low", get: (row) => row.low, number: true}, {title: "high", get: (row) => row.high, number: true},
    {title: "rows", get: (row) => row.rows, number: true}]});
}
