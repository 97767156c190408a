// Roofline: Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model"
// (CACM 2009). A point is one kernel: useful FLOPs per byte of main memory against FLOP/s.

// Peaks with the same rate are combined, "matrix bf16, f16": {rate, text}.
function roofsOf(view) {
  const units = (peaks) => [...d3.group(peaks, (peak) => peak.unit)]
      .map(([unit, of]) => `${unit} ${of.map((peak) => peak.dtype).join(", ")}`).join("; ");
  return [...d3.rollup(view.roofs.peaks, units, (peak) => peak.flops_per_s)].map(([rate, text]) => ({rate, text}));
}

function roofline(parent, view, link) {
  const kernels = view.kernels.filter((k) => k.flops > 0 && k.bytes > 0 && k.time_s > 0);
  const left = view.kernels.length - kernels.length;
  const node = panel(parent, "Roofline",
      "One point per kernel, its area the time of all launches. Roofs are peaks of one core." +
      (left ? ` ${left} kernels without FLOPs or memory traffic are not on it.` : ""), "two-thirds");
  if (kernels.length === 0) return;
  const roofs = roofsOf(view), memory = view.roofs.memory[0];
  const most = d3.max(kernels, (k) => k.total_s);
  const radius = (k) => 2.5 + 11 * Math.sqrt(k.total_s / most);
  let x, y;
  const frame = (ctx, figure) => {
    const {left: l, right: r, top: t, bottom: b} = figure.inner;
    const intensities = kernels.map((k) => k.flops / k.bytes);
    const rates = kernels.map((k) => k.flops / k.time_s);
    const ridge = memory && roofs.length ? roofs[0].rate / memory.read_bytes_per_s : 1;
    const top = Math.max(d3.max(rates), roofs.length ? roofs[0].rate : 0) * 2;
    x = d3.scaleLog([Math.min(d3.min(intensities), ridge) / 2, Math.max(d3.max(intensities), ridge) * 4], [l, r]);
    y = d3.scaleLog([Math.max(d3.min(rates) / 2, top / 1e9), top], [b, t]).clamp(true);
    drawRoofs(ctx, figure, roofs, memory, x, y);
    figure.axes(x, y, "FLOP per byte of main memory", "FLOP/s");
  };
  dots(node, kernels, {
    label: "roofline of the kernels", height: 430, link, frame, radius, text: kernelText,
    at: (k) => [x(k.flops / k.bytes), y(k.flops / k.time_s)], paint: circles((k) => boundColour(k.bound), 0.75),
  });
}

// The slope of main memory up to the highest peak, and a line for each peak.
function drawRoofs(ctx, figure, roofs, memory, x, y) {
  if (!memory || roofs.length === 0) return;
  const [low, high] = x.domain();
  ctx.strokeStyle = css("--muted");
  ctx.lineWidth = 1.5;
  const ridge = roofs[0].rate / memory.read_bytes_per_s;
  line(ctx, x(low), y(low * memory.read_bytes_per_s), x(Math.min(high, ridge)), y(Math.min(high, ridge) * memory.read_bytes_per_s));
  const at = Math.sqrt(Math.max(low, y.domain()[0] / memory.read_bytes_per_s) * ridge);
  label(figure, x(at) - 6, y(at * memory.read_bytes_per_s) - 6, `${memory.name} ${withPrefix(memory.read_bytes_per_s, "byte/s")}`, "end");
  let above = -Infinity;
  for (const roof of roofs) {
    line(ctx, x(Math.max(low, roof.rate / memory.read_bytes_per_s)), y(roof.rate), x(high), y(roof.rate));
    const place = Math.max(y(roof.rate) - 5, above + 12);
    label(figure, x(high), place, `${roof.text} ${withPrefix(roof.rate, "FLOP/s")}`, "end");
    above = place;
  }
}
