// Shared by all figures: colours, the link between them, tooltips, and a canvas with axes.

// Okabe and Ito's eight colours; resources that rarely limit share greys.
const kPalette = ["#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#f0e442"];
const kOther = "#8c8c8c";
const kBoundColours = {
  hbm_read: "#0072b2", hbm_write: "#56b4e9", matrix: "#d55e00", vector: "#e69f00",
  transcendental: "#f0e442", cross_lane: "#cc79a7", on_chip: "#009e73",
  network: "#5c5c5c", issue: "#767676", latency: "#8f8f8f", fill_drain: "#a8a8a8",
  overhead: "#c1c1c1", skipped: "#dadada",
};
const kBoundNames = {
  hbm_read: "memory reads", hbm_write: "memory writes", cross_lane: "cross-lane",
  on_chip: "on-chip memory", fill_drain: "fill and drain",
};
const boundColour = (bound) => kBoundColours[bound] || kOther;
const boundName = (bound) => kBoundNames[bound] || bound;
// Colours for words; the first ones have their own.
function colourScale(list) {
  const at = new Map(list.map((word, i) => [word, i]));
  return (word) => kPalette[at.get(word)] || kOther;
}
// Colours of the theme, cached until they change.
const theme = new Map();
function css(name) {
  if (!theme.has(name)) theme.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return theme.get(name);
}

// The row under the pointer and the selected one, for all figures and tables of a view.
class Link {
  constructor() {
    this.hovered = -1;
    this.chosen = -1;
    this.listeners = [];
  }
  onChange(listener) { this.listeners.push(listener); }
  hover(i) {
    if (i === this.hovered) return;
    this.hovered = i;
    this.listeners.forEach((listener) => listener("hover"));
  }
  choose(i) {
    this.chosen = i === this.chosen ? -1 : i;
    this.listeners.forEach((listener) => listener("choose"));
  }
}

const tip = document.getElementById("tip");
function showTip(event, text) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  const right = event.clientX + 16 + box.width > window.innerWidth;
  const low = event.clientY + 16 + box.height > window.innerHeight;
  tip.style.left = `${right ? Math.max(0, event.clientX - box.width - 12) : event.clientX + 16}px`;
  tip.style.top = `${low ? Math.max(0, event.clientY - box.height - 12) : event.clientY + 16}px`;
}

// An element with attributes, text and children.
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function panel(parent, title, about, classes = "") {
  const node = element("section", {class: `panel ${classes}`}, element("h2", {}, title));
  if (about) node.append(element("p", {class: "about"}, about));
  parent.append(node);
  return node;
}

// A menu of pairs of a value and its text.
function menu(parent, title, options, start, show) {
  const select = element("select", {"aria-label": title}, ...options.map(([value, text]) => element("option", {value}, text)));
  if (options.some(([value]) => value === start)) select.value = start;
  select.addEventListener("change", show);
  parent.append(element("label", {}, `${title} `, select));
  return select;
}

// Buttons, one of them pressed, the first at the start: pairs of a word and its title. show(word,
// body) fills what stands below them.
function choice(parent, pairs, show) {
  const node = element("div", {class: "controls"}), body = element("div");
  const press = (by) => {
    for (const button of node.children) button.setAttribute("aria-pressed", String(button.dataset.by === by));
    body.replaceChildren();
    show(by, body);
  };
  for (const [by, title] of pairs) {
    const button = element("button", {type: "button", "data-by": by}, title);
    button.addEventListener("click", () => press(by));
    node.append(button);
  }
  parent.append(node, body);
  press(pairs[0][0]);
}

function legend(parent, names, colour, label = (name) => name) {
  const node = element("div", {class: "legend"});
  for (const name of names) {
    const swatch = element("i");
    swatch.style.background = colour(name);
    node.append(element("span", {}, swatch, label(name)));
  }
  parent.append(node);
}

const figures = [];  // of all views; redrawn when the size or the colours change

// A plot on canvas. `draw(ctx, figure)` paints all marks and may add axes to figure.svg; `mark(ctx,
// i)` paints one mark highlighted; `pick(x, y)` is the mark there or -1; `text(i)` its tooltip.
class Figure {
  constructor(parent, options) {
    this.options = {margin: {top: 10, right: 16, bottom: 38, left: 64}, ...options};
    this.node = element("div", {class: "plot", role: "img", "aria-label": options.label});
    this.base = element("canvas");
    this.top = element("canvas", {tabindex: options.link ? 0 : null});
    this.svg = d3.create("svg");
    this.node.append(this.base, this.top, this.svg.node());
    parent.append(this.node);
    figures.push(this);
    if (options.link) this.listen(options.link);
    this.render();
  }
  listen(link) {
    this.top.addEventListener("mousemove", (event) => {
      const i = this.at(event);
      link.hover(i);
      showTip(event, i < 0 ? "" : this.options.text(i));
    });
    this.top.addEventListener("mouseleave", (event) => { link.hover(-1); showTip(event, ""); });
    this.top.addEventListener("click", (event) => {
      const i = this.dragged ? -1 : this.at(event);
      this.dragged = false;
      if (i >= 0) link.choose(i);
    });
    link.onChange(() => this.highlight());
  }
  at(event) {
    const box = this.top.getBoundingClientRect();
    return this.options.pick(event.clientX - box.left, event.clientY - box.top);
  }
  get inner() {
    const {margin} = this.options;
    return {left: Math.min(margin.left, 0.42 * this.width), top: margin.top, right: this.width - margin.right,
            bottom: this.height - margin.bottom};
  }
  context(canvas) {
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(this.width * scale);
    canvas.height = Math.round(this.height * scale);
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
    const ctx = canvas.getContext("2d");
    ctx.scale(scale, scale);
    return ctx;
  }
  render() {
    this.width = this.node.clientWidth;
    if (this.width === 0) return;  // in a hidden view
    const {height} = this.options;
    this.height = typeof height === "function" ? height(this.width) : height;
    this.node.style.height = `${this.height}px`;
    this.svg.attr("width", this.width).attr("height", this.height).selectAll("*").remove();
    this.options.draw(this.context(this.base), this);
    this.drawn = true;
    this.highlight();
  }
  highlight() {
    const {link, mark} = this.options;
    if (!this.drawn || this.width === 0 || !link) return;
    const ctx = this.context(this.top);
    ctx.strokeStyle = css("--text");
    ctx.fillStyle = css("--text");
    ctx.lineWidth = 2;
    for (const i of new Set([link.chosen, link.hovered])) if (i >= 0) mark(ctx, i);
  }
  // Axes with titles; logarithmic ticks at powers of ten, if there are several. Titles that are
  // names of columns give ticks their units.
  axes(x, y, xTitle, yTitle, xValues) {
    const {left, right, top, bottom} = this.inner;
    const isPower = (v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;
    const plain = (v) => Math.abs(v) >= 1e6 || (v !== 0 && Math.abs(v) < 1e-3) ? d3.format(".3~s")(v) : number(v);
    const decades = (scale, axis, room, unit) => {
      const short = unit ? (v) => v === 0 ? "0" : withPrefix(v, unit) : plain;
      const [low, high] = scale.domain();
      if (xValues && scale === x) return axis.tickValues(xValues).tickFormat(short);
      if (!scale.base) return axis.ticks(room).tickFormat(short);
      if (high / low < 40) {
        const steps = d3.range(Math.floor(Math.log10(low)), Math.log10(high)).flatMap((e) => [1, 2, 5].map((step) => step * 10 ** e)).filter((v) => low <= v && v <= high);
        return axis.tickValues(steps.length > 2 ? steps : d3.ticks(low, high, Math.min(room, 6)).filter((v) => v > 0)).tickFormat(short);
      }
      return axis.ticks(Math.max(2, room), (v) => !isPower(v) ? "" : unit ? withPrefix(v, unit) : d3.format("~s")(v));
    };
    if (x) {
      this.svg.append("g").attr("transform", `translate(0,${bottom})`)
          .call(decades(x, d3.axisBottom(x), (right - left) / 90, unitOf(xTitle).unit));
      this.svg.append("text").attr("x", (left + right) / 2).attr("y", this.height - 4)
          .attr("text-anchor", "middle").text(axisTitle(xTitle));
    }
    if (y) {
      this.svg.append("g").attr("transform", `translate(${left},0)`)
          .call(decades(y, d3.axisLeft(y), (bottom - top) / 45, unitOf(yTitle).unit));
      this.svg.append("text").attr("transform", `translate(13,${(top + bottom) / 2}) rotate(-90)`)
          .attr("text-anchor", "middle").text(axisTitle(yTitle));
    }
  }
}

// Redraws everything when the window or the colours change.
function redraw() {
  theme.clear();
  figures.forEach((figure) => figure.render());
}
let pending = 0;
window.addEventListener("resize", () => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(redraw);
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
// Paper always uses the light theme.
window.addEventListener("beforeprint", () => { document.documentElement.classList.add("paper"); redraw(); });
window.addEventListener("afterprint", () => { document.documentElement.classList.remove("paper"); redraw(); });

// A figure with a point for each row: `frame` creates the scales and draws the background,
// `at(row)` is the row's position, `paint(ctx, marks, figure)` draws the points {x, y, r, i, row}.
function dots(node, rows, {frame, at, radius = () => 3.5, paint, below, reach = 14, text, ...options}) {
  const byIndex = new Map(rows.map((row) => [row.i, row]));
  const markOf = (row) => {
    const [x, y] = at(row);
    return {x, y, r: radius(row), i: row.i, row};
  };
  let tree;
  return new Figure(node, {
    ...options,
    draw: (ctx, figure) => {
      frame(ctx, figure);
      const marks = rows.map(markOf);
      tree = d3.quadtree(marks, (m) => m.x, (m) => m.y);
      paint(ctx, marks, figure);
      ctx.globalAlpha = 1;
    },
    pick: (px, py) => {
      const found = tree.find(px, py, reach);
      return found ? found.i : -1;
    },
    mark: (ctx, i) => {
      if (!byIndex.has(i)) return;
      const m = markOf(byIndex.get(i));
      if (below) below(ctx, m.row);
      ctx.beginPath();
      ctx.arc(m.x, m.y, m.r + 2.5, 0, 2 * Math.PI);
      ctx.stroke();
    },
    text: (i) => text(byIndex.get(i)),
  });
}

// All points in their colours; the largest first, so that none is hidden.
const circles = (colour, alpha = 1) => (ctx, marks) => {
  ctx.globalAlpha = alpha;
  for (const m of marks.sort((a, b) => b.r - a.r)) circle(ctx, m, colour(m.row));
};

// A figure with a band for each row: `y` is their scale by key(row), `x` the scale of their values.
function bands(node, rows, {x, y, key, left: room, draw, text, ...options}) {
  const byIndex = new Map(rows.map((row) => [row.i, row]));
  return new Figure(node, {
    margin: {top: 6, right: 20, bottom: 38, left: room}, ...options,
    draw: (ctx, figure) => {
      const {left, right, top, bottom} = figure.inner;
      x.range([left, right]);
      y.range([top, bottom]);
      draw(ctx, figure);
    },
    pick: (px, py) => {
      const row = rows.find((each) => py >= y(key(each)) && py <= y(key(each)) + y.bandwidth());
      return row ? row.i : -1;
    },
    mark: (ctx, i) => {
      if (byIndex.has(i)) ctx.strokeRect(x.range()[0], y(key(byIndex.get(i))), x.range()[1] - x.range()[0], y.bandwidth());
    },
    text: (i) => text(byIndex.get(i)),
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

function line(ctx, x1, y1, x2, y2) {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

// The name of a row, left of the plot.
function rowName(figure, y, text) {
  label(figure, figure.inner.left - 8, y, clipped(text, figure.inner.left - 10), "end");
}

function label(figure, x, y, text, anchor) {
  figure.svg.append("text").attr("class", "muted").attr("x", x).attr("y", y).attr("text-anchor", anchor).text(text);
}

// Logarithmic if all values are positive and the last is at least `far` times the first; `room`:
// margin.
function scaleOf(values, range, far, room) {
  const [low, high] = d3.extent(values);
  return low > 0 && high > far * low ? d3.scaleLog([low / room, high * room], range) : d3.scaleLinear([low, high], range).nice();
}

// Numbers for people, with four digits.

function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-3) return d3.format(".3e")(value);
  if (size >= 1e4) return d3.format(",.0f")(value);
  return d3.format(",.4~r")(value);
}

const micro = (seconds) => seconds === null || seconds === undefined ? null : seconds * 1e6;
const signed = (value) => (value > 0 ? "+" : "") + number(value).replace("-", "\u2212");
const percent = (share) => share !== 0 && Math.abs(share) < 1e-4 ? "<0.01" : d3.format(",.3~r")(100 * share);
// "1.23 Tbyte/s": decimal prefixes.
function withPrefix(value, unit = "") {
  const text = d3.format(".4~s")(value);
  return /[a-zA-Zµ]$/.test(text) ? `${text.slice(0, -1)} ${text.slice(-1)}${unit}` : `${text} ${unit}`.trim();
}

const timeText = (seconds) => seconds === 0 ? "0 s" : withPrefix(seconds, "s");
const signedText = (seconds) => (seconds > 0 ? "+" : "") + timeText(seconds).replace("-", "\u2212");
const bytesText = (bytes) => bytes < 2 ** 30 ? `${number(bytes / 2 ** 20)} MiB` : `${number(bytes / 2 ** 30)} GiB`;

// Columns of results end in their unit: "time_s" is "time", in seconds, and 1e-4 of it is "100 µs".
function unitOf(name) {
  const found = /_(B\/s|FLOP\/s|Hz|s|J|W|bytes|FLOP|B)$/.exec(name);
  return found ? {of: name.slice(0, found.index), unit: found[1] === "bytes" ? "B" : found[1]} : {of: name, unit: ""};
}
const axisTitle = (name) => unitOf(name).unit ? titleOf(name) : name;
const titleOf = (name) => name.includes(".") ? unitOf(name).of : unitOf(name).of.replaceAll("_", " ");
function quantityText(name, value) {
  const {unit} = unitOf(name);
  if (value === null || value === undefined || value === "" || Number.isNaN(Number(value))) return value ?? "";
  if (name.startsWith("share_")) return `${percent(value)} %`;
  return unit ? withPrefix(Number(value), unit) : number(Number(value));
}

// Distinct words, by decreasing time.
function byTime(rows, word, time) {
  const sums = d3.rollup(rows, (group) => d3.sum(group, time), word);
  return [...sums].sort((a, b) => d3.descending(a[1], b[1]));
}

// Bars and waterfalls: an SVG as wide as its place, redrawn with it. `rows`: {name, text, from, to,
// colour}; on a narrow page names and texts stand above their bars.
const kLetter = 6.7;  // pixels of an average letter
// The ends of names tell more than their middles.
function clipped(text, room) {
  const most = Math.max(4, Math.floor(room / kLetter)), head = Math.ceil(most / 3);
  return text.length <= most ? text : `${text.slice(0, head)}…${text.slice(text.length - (most - head - 1))}`;
}

function barPlot(parent, rows, {label: aria, names, values, low = 0, axis}) {
  const svg = d3.create("svg").attr("class", "bars").attr("role", "img").attr("aria-label", aria);
  const render = () => {
    const width = svg.node().getBoundingClientRect().width;
    if (width === 0) return;  // in a hidden view
    const isNarrow = width < 1.35 * (names + values), step = isNarrow ? 37 : 22, below = isNarrow ? 18 : 3;
    const left = isNarrow ? 0 : Math.min(names, 0.4 * width), bottom = rows.length * step + 6;
    const x = d3.scaleLinear([low, d3.max(rows, (row) => Math.max(row.from, row.to)) || 1], [left, width - (isNarrow ? 1 : values)]);
    svg.attr("height", bottom + (axis ? 30 : 0)).selectAll("*").remove();
    const g = svg.selectAll("g").data(rows).join("g").attr("transform", (row, i) => `translate(0,${i * step})`);
    const start = (row) => x(Math.max(low, Math.min(row.from, row.to))), end = (row) => x(Math.max(row.from, row.to));
    g.append("rect").attr("x", start).attr("y", below).attr("height", 15).attr("rx", 2)
        .attr("width", (row) => Math.max(1, end(row) - start(row))).attr("fill", (row) => row.colour);
    g.append("text").attr("x", isNarrow ? 0 : left - 8).attr("y", 14).attr("text-anchor", isNarrow ? "start" : "end")
        .text((row) => clipped(row.name, isNarrow ? width - row.text.length * kLetter - 8 : left - 8));
    g.append("text").attr("class", "muted").attr("x", (row) => isNarrow ? width : end(row) + 6).attr("y", 14)
        .attr("text-anchor", isNarrow ? "end" : "start").text((row) => row.text);
    if (axis) axis(svg.append("g").attr("transform", `translate(0,${bottom})`).attr("color", css("--muted")), x, left);
  };
  parent.append(svg.node());
  figures.push({render});
  render();
}

// {name, value, colour, text}, each from 0.
function bars(parent, rows, {values = 150, names = 120, ...options}) {
  barPlot(parent, rows.map((row) => ({...row, from: 0, to: row.value})), {names, values, ...options});
}

// From `before` by steps {name, change} to `after`, in seconds; steps that do not fit are combined.
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
  // The steps fill the plot: the axis need not start at 0 if both totals are far above it.
  const ends = rows.flatMap((row) => row.total ? [row.to] : [row.from, row.to]);
  const least = d3.min(ends), most = d3.max(ends);
  const low = least > 0.5 * most ? Math.max(0, least - 0.25 * (most - least)) : 0;
  barPlot(parent, rows.map((row) => ({...row, text: row.total ? timeText(row.to) : signedText(row.change),
      colour: row.total ? kOther : row.change > 0 ? "#d55e00" : "#0072b2"})), {
    label: "waterfall of the difference", names: 300, values: 130, low,
    axis: (g, x, left) => {
      g.call(d3.axisBottom(x).ticks((x.range()[1] - left) / 90).tickFormat(timeText));
      g.append("text").attr("x", x.range()[1]).attr("y", 28).attr("text-anchor", "end").attr("fill", "currentColor").text(low > 0 ? "the axis does not start at 0" : "");
    },
  });
}

// A table that is sorted by clicking a header, filtered, and linked to the plots.
//   columns: {title, get(row), cell(value, row)?, number?: true, swatch(row)?, unsaid?}
//   sort: the title of a column; null: rows as they come

// The columns with anything in them, besides what goes without saying.
const telling = (columns, rows) => columns.filter(({get, unsaid}) => rows.some((row) => ![null, undefined, "", unsaid].includes(get(row))));

const kRowsAtOnce = 100;

class Table {
  constructor(parent, {columns, rows, link, sort, down = true, filter = true}) {
    Object.assign(this, {columns, rows, link, down, shown: kRowsAtOnce, words: "", sort: sort === null ? -1 : Math.max(0, columns.findIndex(({title}) => title === sort))});
    this.body = element("tbody");
    this.head = element("tr");
    columns.forEach((column, i) => this.head.append(this.header(column, i)));
    if (filter) parent.append(this.filterBox());
    const table = element("table", {}, element("thead", {}, this.head), this.body);
    parent.append(element("div", {class: "scroll"}, table));
    this.more = element("button", {class: "more", type: "button"});
    this.more.addEventListener("click", () => { this.shown *= 5; this.fill(); });
    parent.append(this.more);
    if (link) this.listen(link);
    this.fill();
  }
  header(column, i) {
    const button = element("button", {type: "button"}, column.title);
    button.addEventListener("click", () => {
      this.down = this.sort === i ? !this.down : Boolean(column.number);
      this.sort = i;
      this.fill();
    });
    return element("th", {scope: "col", class: column.number ? "number" : ""}, button);
  }
  filterBox() {
    const input = element("input", {type: "search", placeholder: "name, class, bound ...", "aria-label": "filter"});
    this.count = element("span", {class: "about"});
    input.addEventListener("input", () => { this.words = input.value.toLowerCase(); this.fill(); });
    return element("div", {class: "controls"}, "Filter ", input, this.count);
  }
  listen(link) {
    const row = (event) => event.target.closest("tr");
    this.body.addEventListener("mouseover", (event) => link.hover(row(event) ? Number(row(event).dataset.i) : -1));
    this.body.addEventListener("mouseleave", () => link.hover(-1));
    this.body.addEventListener("click", (event) => { if (row(event)) link.choose(Number(row(event).dataset.i)); });
    link.onChange((what) => this.mark(what));
  }
  matching() {
    if (!this.words) return this.rows;
    const texts = this.columns.filter((column) => !column.number);
    return this.rows.filter((row) => texts.some((column) => String(column.get(row)).toLowerCase().includes(this.words)));
  }
  // Empty values are last in both directions.
  ordered() {
    if (this.sort < 0) return this.matching();
    const {get} = this.columns[this.sort];
    const empty = (value) => value === null || value === undefined || value === "";
    const order = this.down ? d3.descending : d3.ascending;
    return [...this.matching()].sort((a, b) => {
      const x = get(a), y = get(b);
      if (empty(x) || empty(y)) return Number(empty(x)) - Number(empty(y));
      return order(x, y);
    });
  }
  fill() {
    const rows = this.ordered();
    this.order = rows;
    [...this.head.children].forEach((th, i) => {
      if (i === this.sort) th.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
    this.body.replaceChildren(...rows.slice(0, this.shown).map((row) => this.line(row)));
    const left = rows.length - this.shown;
    this.more.hidden = left <= 0;
    this.more.textContent = `Show more (${left} of ${rows.length} not shown)`;
    if (this.count) this.count.textContent = `${rows.length} of ${this.rows.length} rows`;
    this.mark("fill");
  }
  line(row) {
    const tr = element("tr", {"data-i": row.i});
    for (const column of this.columns) {
      const value = column.get(row);
      const text = column.cell ? column.cell(value, row) : column.number ? number(value) : String(value ?? "");
      const td = element("td", {class: column.number ? "number" : null, title: column.number ? null : text});
      if (column.swatch && text) {
        const swatch = element("i");
        swatch.style.background = column.swatch(row);
        td.append(swatch);
      }
      td.append(text);
      tr.append(td);
    }
    return tr;
  }
  // Scrolls to the selected row; shows it above the others if it is not among them.
  mark(what) {
    if (!this.link) return;
    const {hovered, chosen} = this.link;
    if (what === "choose" && chosen >= 0 && !this.body.querySelector(`tr[data-i="${chosen}"]`)) {
      const row = this.rows.find((each) => each.i === chosen);
      if (row) this.body.prepend(this.line(row));
    }
    for (const tr of this.body.children) {
      const i = Number(tr.dataset.i);
      tr.classList.toggle("hovered", i === hovered);
      tr.classList.toggle("chosen", i === chosen);
    }
  }
}
