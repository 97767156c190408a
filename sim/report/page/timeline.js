// The times at which kernels run, a row per lane. Dragging zooms, a double click shows all.

function timeline(parent, view, link) {
  const kernels = view.kernels.filter((k) => k.end_s > k.start_s);
  const node = panel(parent, "Timeline",
      "When kernels run; copies and collectives overlap. Drag to zoom, double-click to show all.");
  if (kernels.length === 0) return;
  const lanes = ["compute", "dma", "network", "host"].filter((lane) => kernels.some((k) => k.lane === lane));
  for (const k of kernels) if (!lanes.includes(k.lane)) lanes.push(k.lane);
  const all = [0, d3.max(kernels, (k) => k.end_s) * 1e6];
  const byIndex = new Map(kernels.map((k) => [k.i, k]));
  const x = d3.scaleLinear(all, [0, 1]);
  const y = d3.scaleBand(lanes, [0, 1]).paddingInner(0.15);
  const box = (k) => {
    const from = x(k.start_s * 1e6);
    return [from, y(k.lane), Math.max(0.6, x(k.end_s * 1e6) - from), y.bandwidth()];
  };
  const draw = (ctx, figure) => {
    const {left, right, top, bottom} = figure.inner;
    x.range([left, right]);
    y.range([top, bottom]);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, bottom - top);
    ctx.clip();
    for (const k of kernels) {
      const [bx, by, w, h] = box(k);
      if (bx > right || bx + w < left) continue;
      ctx.fillStyle = boundColour(k.bound);
      ctx.fillRect(bx, by, w > 3 ? w - 0.6 : w, h);
    }
    ctx.restore();
    figure.axes(x, null, "time, µs");
    for (const lane of lanes) label(figure, left - 8, y(lane) + y.bandwidth() / 2 + 4, lane, "end");
  };
  const figure = new Figure(node, {
    label: "timeline of the kernels", height: 52 + 40 * lanes.length, link, draw,
    margin: {top: 6, right: 16, bottom: 38, left: 70},
    pick: (px, py) => {
      const t = x.invert(px) / 1e6, slack = Math.abs(x.invert(px + 1) - x.invert(px)) / 1e6;
      const hit = kernels.find((k) => py >= y(k.lane) && py <= y(k.lane) + y.bandwidth() && k.start_s - slack <= t && t <= k.end_s + slack);
      return hit ? hit.i : -1;
    },
    mark: (ctx, i) => {
      const k = byIndex.get(i);
      if (k) ctx.strokeRect(...box(k));
    },
    text: (i) => kernelText(byIndex.get(i)),
  });
  dragToZoom(figure, x, all);
}

function dragToZoom(figure, x, all) {
  let from = null;
  const at = (event) => x.invert(event.clientX - figure.top.getBoundingClientRect().left);
  figure.top.addEventListener("mousedown", (event) => { from = at(event); });
  figure.top.addEventListener("mouseup", (event) => {
    const to = at(event);
    if (from !== null && Math.abs(x(to) - x(from)) > 6) {
      x.domain([Math.max(all[0], Math.min(from, to)), Math.min(all[1], Math.max(from, to))]);
      figure.dragged = true;
      figure.render();
    }
    from = null;
  });
  figure.top.addEventListener("dblclick", () => { x.domain(all); figure.render(); });
}
