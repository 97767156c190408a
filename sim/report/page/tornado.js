// Elasticities of sensitivity: the numbers of the machine with the largest effect, in both
// directions.

function tornado(parent, table, rows, link) {
  const node = panel(parent, "Sensitivity", "% of the program's time for each % of the number; bars to the left: more of it makes the program faster. The 30 that matter most.");
  const up = table.columns.indexOf("elasticity_up"), down = table.columns.indexOf("elasticity_down"), key = table.columns.indexOf("key"), now = table.columns.indexOf("value");
  const size = (row) => Math.max(Math.abs(row.cells[up] ?? 0), Math.abs(row.cells[down] ?? 0));
  const shown = rows.filter((row) => size(row) > 0).sort((a, b) => d3.descending(size(a), size(b))).slice(0, 30);
  if (shown.length === 0) {
    node.append("No number moves the time.");
    return;
  }
  legend(node, ["up", "down"], (word) => word === "up" ? kPalette[0] : kPalette[3], (word) => word === "up" ? "the number raised" : "the number lowered");
  const ends = shown.flatMap((row) => [row.cells[up] ?? 0, row.cells[down] ?? 0, 0]);
  const x = d3.scaleLinear(d3.extent(ends), [0, 1]).nice(), y = d3.scaleBand(shown.map((row) => row.i), [0, 1]).padding(0.25);
  bands(node, shown, {
    label: "elasticities", height: 50 + 24 * shown.length, link, left: 310, x, y, key: (row) => row.i,
    draw: (ctx, figure) => {
      const {left, top, bottom} = figure.inner;
      for (const row of shown) {
        [[up, kPalette[0]], [down, kPalette[3]]].forEach(([c, colour], half) => {
          const to = x(row.cells[c] ?? 0);
          ctx.fillStyle = colour;
          ctx.fillRect(Math.min(x(0), to), y(row.i) + half * y.bandwidth() / 2, Math.abs(to - x(0)), y.bandwidth() / 2 - 0.5);
        });
        label(figure, left - 8, y(row.i) + y.bandwidth() / 2 + 4, `${row.cells[key]}${now < 0 ? "" : ` (${row.cells[now]})`}`, "end");
      }
      ctx.strokeStyle = css("--muted");
      line(ctx, x(0), top, x(0), bottom);
      figure.axes(x, null, "% of time for each % of the number");
    },
    text: ({cells}) => `${cells[key]}\nraised: ${number(cells[up])}, lowered: ${number(cells[down])}`,
  });
}
