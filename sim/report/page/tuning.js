// Results of calibrate, and trials of tune.

// Factors on one axis: the prior's 95 % interval behind, the fit and its 95 % interval in front.
function constantsPlot(parent, table, rows, link) {
  const node = panel(parent, "Fitted constants",
      "Multipliers of the description (1: as described). Point: fitted, line: its 95 % interval, grey: what was believed before. Times are in the table only.");
  const get = (title) => { const c = table.columns.indexOf(title); return (row) => row.cells[c]; };
  const name = get("name"), unit = get("unit"), fitted = get("fitted"), identified = get("identified");
  const low = get("interval_95 low"), high = get("interval_95 high"), priorLow = get("prior_95 low"), priorHigh = get("prior_95 high");
  const factors = rows.filter((row) => unit(row) === "factor" && fitted(row) > 0);
  if (factors.length === 0) return;
  const colour = (row) => identified(row) === "yes" ? kPalette[0] : kOther;
  legend(node, ["yes", "no"], (word) => word === "yes" ? kPalette[0] : kOther, (word) => word === "yes" ? "the rows say it" : "the rows do not say it");
  const y = d3.scaleBand(factors.map(name), [0, 1]).padding(0.3);
  const ends = factors.flatMap((row) => [low(row), high(row), priorLow(row), priorHigh(row), fitted(row)]).filter((v) => v > 0);
  const x = d3.scaleLog([d3.min(ends) / 1.1, d3.max(ends) * 1.1], [0, 1]);
  bands(node, factors, {
    label: "fitted constants", height: 50 + 26 * factors.length, link, left: 170, x, y, key: name,
    draw: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner;
      ctx.strokeStyle = css("--muted");
      line(ctx, x(1), top, x(1), bottom);
      for (const row of factors) {
        const middle = y(name(row)) + y.bandwidth() / 2;
        ctx.fillStyle = css("--line");
        ctx.fillRect(x(priorLow(row)), y(name(row)), x(priorHigh(row)) - x(priorLow(row)), y.bandwidth());
        ctx.strokeStyle = colour(row);
        ctx.lineWidth = 2.5;
        line(ctx, x(low(row)), middle, x(high(row)), middle);
        circle(ctx, {x: x(fitted(row)), y: middle, r: 4.5}, colour(row));
        label(figure, left - 8, middle + 4, name(row), "end");
      }
      figure.svg.append("g").attr("transform", `translate(0,${bottom})`).call(d3.axisBottom(x).ticks(8, "~r"));
      label(figure, (left + right) / 2, figure.height - 4, "multiplier", "middle");
    },
    text: (row) => `${name(row)}\n× ${number(fitted(row))}, 95 %: ${number(low(row))} to ${number(high(row))}`,
  });
}

// All trials in the order of measurement, with the fastest so far and the predictions.
function trialsPlot(parent, table, rows, link) {
  const node = panel(parent, "Trials", "Time of each tile in the order of trials; line: the fastest so far, orange: predicted before it was measured.");
  const measured = table.columns.indexOf("measured_s"), predicted = table.columns.indexOf("predicted_s"), tile = table.columns.indexOf("tile");
  const done = rows.filter((row) => row.cells[measured] !== null && row.cells[measured] > 0);
  if (done.length === 0) {
    node.append("No trial was timed.");
    return;
  }
  const times = done.flatMap((row) => [row.cells[measured], row.cells[predicted]]).filter((v) => v > 0).map((v) => v * 1e6);
  let x, y;
  const place = (row, c) => [x(row.i + 1), y(row.cells[c] * 1e6)];
  dots(node, done, {
    label: "trials", height: 320, link, at: (row) => place(row, measured),
    frame: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner;
      x = d3.scaleLinear([0.5, rows.length + 0.5], [left, right]);
      y = d3.scaleLog([d3.min(times) / 1.2, d3.max(times) * 1.2], [bottom, top]);
      figure.axes(x, y, "trial", "time, µs");
    },
    paint: (ctx, marks) => {
      for (const {row, r} of marks) {
        const [px, py] = place(row, predicted);
        if (row.cells[predicted] > 0) circle(ctx, {x: px, y: py, r}, kPalette[3]);
      }
      for (const m of marks) circle(ctx, m, kPalette[0]);
      ctx.strokeStyle = kPalette[0];
      ctx.lineWidth = 1.5;
      let best = marks[0];
      for (const m of marks) {
        line(ctx, best.x, best.y, m.x, best.y);
        const next = m.y > best.y ? m : {...best, x: m.x};  // lower on the page: faster
        line(ctx, m.x, best.y, m.x, next.y);
        best = next;
      }
    },
    text: ({cells}) => [tile < 0 ? "" : cells[tile], `measured ${us(cells[measured])} µs`, cells[predicted] ? `predicted ${us(cells[predicted])} µs` : ""].filter(Boolean).join("\n"),
  });
}
