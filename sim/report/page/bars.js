// Labelled bars: {name, value, colour, text}; and waterfalls of signed steps.

function bars(parent, rows, {label: aria, width = 560, values = 150, names = 120}) {
  const step = 22;
  const svg = d3.create("svg").attr("class", "bars").attr("viewBox", `0 0 ${width} ${rows.length * step + 4}`)
      .style("max-width", `${1.3 * width}px`)
      .attr("role", "img").attr("aria-label", aria);
  const x = d3.scaleLinear([0, d3.max(rows, (row) => row.value) || 1], [names, width - values]);
  const bar = svg.selectAll("g").data(rows).join("g").attr("transform", (row, i) => `translate(0,${i * step})`);
  bar.append("text").attr("x", names - 8).attr("y", 14).attr("text-anchor", "end").text((row) => row.name);
  bar.append("rect").attr("x", names).attr("y", 3).attr("height", 15).attr("rx", 2)
      .attr("width", (row) => Math.max(1, x(row.value) - names)).attr("fill", (row) => row.colour);
  bar.append("text").attr("class", "muted").attr("x", (row) => x(row.value) + 6).attr("y", 14).text((row) => row.text);
  parent.append(svg.node());
}

// From `before` by steps {name, change} to `after`, in µs; steps that do not fit are combined.
function waterfall(parent, before, after, steps, most = 14) {
  const shown = steps.length > most + 1 ? steps.slice(0, most) : steps;
  const rest = steps.slice(shown.length);
  const all = [...shown];
  if (rest.length) all.push({name: `${rest.length} others`, change: d3.sum(rest, (step) => step.change)});
  let level = before.value;
  const rows = [{name: before.name, from: 0, to: before.value, total: true}];
  for (const step of all) {
    rows.push({name: step.name, from: level, to: level + step.change, change: step.change});
    level += step.change;
  }
  rows.push({name: after.name, from: 0, to: after.value, total: true});
  drawWaterfall(parent, rows);
}

function drawWaterfall(parent, rows) {
  const step = 22, names = 300, width = 1100;
  // The steps fill the plot: the axis need not start at 0 if both totals are far above it.
  const ends = rows.flatMap((row) => row.total ? [row.to] : [row.from, row.to]);
  const low = d3.min(ends), high = d3.max(ends);
  const from = low > 0.5 * high ? Math.max(0, low - 0.25 * (high - low)) : 0;
  const x = d3.scaleLinear([from, high || 1], [names, width - 130]);
  const svg = d3.create("svg").attr("class", "bars").attr("viewBox", `0 0 ${width} ${rows.length * step + 34}`)
      .attr("role", "img").attr("aria-label", "waterfall of the difference");
  const g = svg.selectAll("g").data(rows).join("g").attr("transform", (row, i) => `translate(0,${i * step})`);
  g.append("text").attr("x", names - 8).attr("y", 14).attr("text-anchor", "end").text((row) => row.name.length > 46 ? `${row.name.slice(0, 45)}…` : row.name);
  g.append("rect").attr("x", (row) => x(Math.max(from, Math.min(row.from, row.to)))).attr("y", 3).attr("height", 15)
      .attr("width", (row) => Math.max(1, x(Math.max(row.from, row.to)) - x(Math.max(from, Math.min(row.from, row.to)))))
      .attr("fill", (row) => row.total ? kOther : row.change > 0 ? "#d55e00" : "#0072b2");
  g.append("text").attr("class", "muted").attr("x", (row) => x(Math.max(row.from, row.to)) + 6).attr("y", 14)
      .text((row) => row.total ? us(row.to) : signedUs(row.change));
  const bottom = rows.length * step + 6;
  svg.append("g").attr("transform", `translate(0,${bottom})`).attr("color", css("--muted"))
      .call(d3.axisBottom(x).ticks(8).tickFormat((v) => number(v * 1e6)));
  svg.append("text").attr("x", names - 8).attr("y", bottom + 14).attr("text-anchor", "end")
      .attr("class", "muted").text(from > 0 ? "µs, axis cut" : "µs");
  parent.append(svg.node());
}
