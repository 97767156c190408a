// A table that is sorted by clicking a header, filtered, and linked to the plots.
//   columns: {title, get(row), cell(value, row)?, number?: true, swatch(row)?}

const kRowsAtOnce = 100;

class Table {
  constructor(parent, {columns, rows, link, sort = 0, down = true, filter = true}) {
    Object.assign(this, {columns, rows, link, sort, down, shown: kRowsAtOnce, words: ""});
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
