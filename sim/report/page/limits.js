// The next limits, for sensitivity: the program's time as bounds become infinitely fast one after
// another.

function limitsPath(parent, table, rows, facts) {
  const at = (name) => table.columns.indexOf(name);
  const without = at("without"), time = at("time_s"), held = at("held_share"), moved = at("kernels_moved");
  const now = Number(new Map(facts).get("time_s"));
  const node = panel(parent, "What limits next", "From the time as it is, one bound after the other is made infinitely fast; what is left is held up by all others. In brackets: the share of the time that the bound held, and how many kernels move.");
  if (!(now > 0) || rows.length === 0) {
    node.append("The result does not say.");
    return;
  }
  let before = now;
  const steps = rows.map((row) => {
    const change = row.cells[time] - before;
    const notes = [held < 0 ? "" : `${percent(row.cells[held])} %`, moved < 0 ? "" : `${number(row.cells[moved])} kernels`];
    before = row.cells[time];
    return {name: `without ${boundName(row.cells[without])} (${notes.filter(Boolean).join(", ")})`, change};
  });
  waterfall(node, {name: "as it is", value: now}, {name: "what is left", value: before}, steps, 20);
}
