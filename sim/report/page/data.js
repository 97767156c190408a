// The data of the page: columns into rows. Times are in seconds, sizes in bytes.

const kData = JSON.parse(document.getElementById("data").textContent);

// {"words": [...], "at": [...]} as an array of words.
function words(column) {
  return column.at.map((at) => column.words[at]);
}

// Rows from columns, each with its index `i`.
function rowsOf(columns) {
  const names = Object.keys(columns);
  const arrays = names.map((name) => Array.isArray(columns[name]) ? columns[name] : words(columns[name]));
  const count = arrays[0].length;
  const rows = new Array(count);
  for (let i = 0; i < count; ++i) {
    const row = {i};
    for (let c = 0; c < names.length; ++c) row[names[c]] = arrays[c][i];
    rows[i] = row;
  }
  return rows;
}

// The kernels of a simulation, made once: `busy` by resource, and what is derived.
function kernelsOf(view) {
  if (view.rows) return view.rows;
  const {busy, interval, weight, ...columns} = view.kernels;
  view.rows = rowsOf(columns);
  for (const row of view.rows) {
    row.busy = Object.keys(busy).map((name) => ({name, time: busy[name][row.i]}));
    row.interval = interval ? interval[row.i] : null;
    row.weight = weight ? weight[row.i] : null;  // k of a hybrid's correction
    row.bytes = row.read + row.write;
    row.above = row.total - row.light * row.launches;  // time above the speed of light
  }
  return view.rows;
}
