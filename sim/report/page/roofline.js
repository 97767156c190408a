// Roofline: Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model"
// (CACM 2009). A point is one kernel: useful FLOPs per byte of main memory against FLOP/s.

// Peaks of one rate together, "matrix bf16, f16": {rate, text}.
function roofsOf(view) {
  const units = (peaks) => [...d3.group(peaks, (peak) => peak.unit)]
      .map(([unit, of]) => `${unit} ${of.map((peak) => peak.dtype).join(", ")}`).join("; ");
  return [...d3.rollup(view.peaks, units, (peak) => peak.rate)].map(([rate, text]) => ({rate, text}));
}

function roofline(parent, view, link) {
  const kernels = kernelsOf(view).filter((k) => k.flops > 0 && k.bytes > 0 && k.time > 0);
  const left = kernelsOf(view).length - kernels.length;
  const node = panel(parent, "Roofline",
      "One point per kernel, its area the time of all launches. Roofs are peaks of one core." +
      (left ? ` ${left} kernels without FLOPs or memory traffic are not on it.` : ""), "two-thirds");
  if (kernels.length === 0) return;
  const roofs = roofsOf(view), memory = view.memory[0];
  const most = d3.max(kernels, (k) => k.total);
  const radius = (k) => 2.5 + 11 * Math.sqrt(k.total / most);
  let tree, x, y;
  const points = () => kernels.map((k) => ({x: x(k.flops / k.bytes), y: y(k.flops / k.time), r: radius(k), i: k.i, k}));
  const draw = (ctx, figure) => {
    const {left: l, right: r, top: t, bottom: b} = figure.inner;
    const intensities = kernels.map((k) => k.flops / k.bytes);
    const rates = kernels.map((k) => k.flops / k.time);
    const ridge = memory && roofs.length ? roofs[0].rate / memory.rate : 1;
    const top = Math.max(d3.max(rates), roofs.length ? roofs[0].rate : 0) * 2;
    x = d3.scaleLog([Math.min(d3.min(intensities), ridge) / 2, Math.max(d3.max(intensities), ridge) * 4], [l, r]);
    y = d3.scaleLog([Math.max(d3.min(rates) / 2, top / 1e9), top], [b, t]).clamp(true);
    drawRoofs(ctx, figure, roofs, memory, x, y);
    figure.axes(x, y, "FLOP per byte of main memory", "FLOP/s");
    const marks = points();
    tree = d3.quadtree(marks, (m) => m.x, (m) => m.y);
    ctx.globalAlpha = 0.75;
    for (const m of marks.sort((a, c) => c.r - a.r)) circle(ctx, m, boundColour(m.k.bound));
    ctx.globalAlpha = 1;
  };
  const byIndex = new Map(kernels.map((k) => [k.i, k]));
  new Figure(node, {
    label: "roofline of the kernels", height: 430, link, draw,
    pick: (px, py) => nearest(tree, px, py),
    mark: (ctx, i) => {
      const k = byIndex.get(i);
      if (!k) return;
      ctx.beginPath();
      ctx.arc(x(k.flops / k.bytes), y(k.flops / k.time), radius(k) + 2, 0, 2 * Math.PI);
      ctx.stroke();
    },
    text: (i) => kernelText(byIndex.get(i)),
  });
}

function circle(ctx, m, colour) {
  ctx.beginPath();
  ctx.arc(m.x, m.y, m.r, 0, 2 * Math.PI);
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.strokeStyle = css("--panel");
  ctx.lineWidth = 0.7;
  ctx.stroke();
}

// The slope of main memory up to the highest peak, and a line for each peak.
function drawRoofs(ctx, figure, roofs, memory, x, y) {
  if (!memory || roofs.length === 0) return;
  const [low, high] = x.domain();
  ctx.strokeStyle = css("--muted");
  ctx.lineWidth = 1.5;
  const ridge = roofs[0].rate / memory.rate;
  line(ctx, x(low), y(low * memory.rate), x(Math.min(high, ridge)), y(Math.min(high, ridge) * memory.rate));
  const at = Math.sqrt(Math.max(low, y.domain()[0] / memory.rate) * ridge);
  label(figure, x(at) - 6, y(at * memory.rate) - 6, `${memory.name} ${withPrefix(memory.rate, "byte/s")}`, "end");
  let above = -Infinity;
  for (const roof of roofs) {
    line(ctx, x(Math.max(low, roof.rate / memory.rate)), y(roof.rate), x(high), y(roof.rate));
    const place = Math.max(y(roof.rate) - 5, above + 12);
    label(figure, x(high), place, `${roof.text} ${withPrefix(roof.rate, "FLOP/s")}`, "end");
    above = place;
  }
}

function line(ctx, x1, y1, x2, y2) {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

function label(figure, x, y, text, anchor) {
  figure.svg.append("text").attr("class", "muted").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
}
