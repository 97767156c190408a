// Scores of evaluate: a metric by stratum and model with bootstrap intervals.

function showScores(parent, view) {
  const all = view.scores.map((score, i) => ({...score, i}));
  const body = element("div", {class: "grid"}), controls = element("div", {class: "controls"});
  const choose = (title, names, start) => {
    const select = element("select", {"aria-label": title}, ...names.map((name) => element("option", {}, name)));
    if (names.includes(start)) select.value = start;
    select.addEventListener("change", show);
    controls.append(element("label", {}, `${title} `, select));
    return select;
  };
  const scored = all.filter((row) => row.value !== null);
  const ofMetric = choose("metric", [...new Set(scored.map((row) => row.metric))], "mape");
  const ofBy = choose("by", [...new Set(all.map((row) => row.by))], "class");
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
      for (const name of strata) label(figure, left - 8, y(name) + y.bandwidth() / 2 + 4, `${name} (${counts.get(name)} rows)`, "end");
    },
  });
}

function scoreTable(parent, rows) {
  const node = panel(parent, "Scores", "Fractions; low and high: 95 % bootstrap interval.", "long");
  new Table(node, {rows, sort: 0, down: false, columns: [
    {title: "by", get: (row) => row.by}, {title: "stratum", get: (row) => row.stratum},
    {title: "model", get: (row) => row.model}, {title: "metric", get: (row) => row.metric},
    {title: "value", get: (row) => row.value, number: true},
    {title: "low", get: (row) => row.low, number: true}, {title: "high", get: (row) => row.high, number: true},
    {title: "rows", get: (row) => row.rows, number: true}]});
}
