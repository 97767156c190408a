// Where the time goes: an area per kernel, grouped by op class.

function treemap(parent, view, link) {
  const kernels = view.kernels.filter((k) => k.total_s > 0);
  const node = panel(parent, "Time by class and kernel", "Area is the time of all launches, colour what holds the kernel up.", "half");
  if (kernels.length === 0) return;
  const classes = d3.group(kernels, (k) => k.class);
  const tree = {children: [...classes].map(([name, children]) => ({name, children}))};
  let leaves = [], byIndex = new Map();
  const draw = (ctx, figure) => {
    const root = d3.hierarchy(tree).sum((d) => d.total_s || 0).sort((a, b) => b.value - a.value);
    d3.treemap().size([figure.width, figure.height]).paddingInner(1).paddingOuter(2).paddingTop(15)(root);
    leaves = root.leaves();
    byIndex = new Map(leaves.map((leaf) => [leaf.data.i, leaf]));
    ctx.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    for (const leaf of leaves) drawLeaf(ctx, leaf);
    ctx.fillStyle = css("--text");
    for (const group of root.children) {
      fitText(ctx, `${group.data.name} ${percent(group.value / root.value)} %`, group.x0 + 3, group.y0 + 11, group.x1 - group.x0 - 6);
    }
  };
  new Figure(node, {
    label: "treemap of the time of the kernels", height: 320, link, draw,
    pick: (x, y) => {
      const leaf = leaves.find((l) => l.x0 <= x && x <= l.x1 && l.y0 <= y && y <= l.y1);
      return leaf ? leaf.data.i : -1;
    },
    mark: (ctx, i) => {
      const leaf = byIndex.get(i);
      if (leaf) ctx.strokeRect(leaf.x0, leaf.y0, leaf.x1 - leaf.x0, leaf.y1 - leaf.y0);
    },
    text: (i) => kernelText(byIndex.get(i).data),
  });
}

function drawLeaf(ctx, leaf) {
  const width = leaf.x1 - leaf.x0, height = leaf.y1 - leaf.y0;
  ctx.fillStyle = boundColour(leaf.data.bound);
  ctx.fillRect(leaf.x0, leaf.y0, width, height);
  if (width < 40 || height < 15) return;
  ctx.fillStyle = d3.lab(boundColour(leaf.data.bound)).l > 58 ? "#000" : "#fff";
  fitText(ctx, leaf.data.name, leaf.x0 + 3, leaf.y0 + 12, width - 6);
}

// The longest prefix of the text that fits into `room` pixels.
function fitText(ctx, text, x, y, room) {
  const each = ctx.measureText("n").width;
  const fits = Math.floor(room / each);
  if (fits < 4) return;
  ctx.fillText(text.length <= fits ? text : `${text.slice(0, fits - 1)}…`, x, y);
}
