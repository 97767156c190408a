// Appended to a copy of a page of `tilecast report`: uses every tab like a reader and writes its
// findings into the page, as JSON in <pre id="outcome">.
(() => {
  "use strict";
  const painted = (canvas) => {
    const {width, height} = canvas;
    if (width === 0 || height === 0) return false;
    const copy = document.createElement("canvas");
    Object.assign(copy, {width, height});
    const ctx = copy.getContext("2d", {willReadFrequently: true});
    ctx.drawImage(canvas, 0, 0);
    return ctx.getImageData(0, 0, width, height).data.some((value) => value !== 0);
  };
  const at = (canvas, x, y, type) => {
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new MouseEvent(type, {clientX: box.left + x, clientY: box.top + y, bubbles: true}));
  };
  // "1,234", "+1.5", "1.626 µs", "3.2 TB/s": a number with a decimal prefix of its unit, or without.
  const prefixes = {n: 1e-9, "µ": 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15};
  const value = (text) => {
    const [, digits, prefix] = /^([-+.\de]*) ?(?:([nµmkMGTP])(?=[A-Z]|s$|$))?/.exec(text.replace(/,/g, "").replace("\u2212", "-"));
    return Number(digits) * (prefixes[prefix] || 1);
  };

  // Moves over the figure until a row of the table is highlighted.
  function hovers(panel, canvas) {
    const found = {rows: 0, tip: false, same: false, painted: false};
    const box = canvas.getBoundingClientRect();
    for (let y = 3; y < box.height; y += 4) {
      for (let x = 3; x < box.width; x += 4) {
        at(canvas, x, y, "mousemove");
        const lit = panel.querySelectorAll("tr.hovered");
        if (lit.length === 0) continue;
        const tip = document.getElementById("tip");
        found.rows = lit.length;
        found.tip = !tip.hidden;
        const [first, ...lines] = tip.textContent.split("\n");
        found.same = [...lit[0].children].some(({textContent: text}) => text === first || (text && lines.some((each) => each.endsWith(`: ${text}`))));
        found.painted = painted(canvas);
        at(canvas, x, y, "click");
        found.chosen = panel.querySelectorAll("tr.chosen").length;
        at(canvas, x, y, "mouseleave");
        found.left = panel.querySelectorAll("tr.hovered").length === 0 && tip.hidden;
        return found;
      }
    }
    return found;
  }

  // Every column in both directions.
  function sorts(table) {
    let good = 0;
    const headers = [...table.querySelectorAll("th")];
    headers.forEach((th, column) => {
      for (let turn = 0; turn < 2; ++turn) {
        th.querySelector("button").click();
        const down = th.getAttribute("aria-sort") === "descending";
        const cells = [...table.querySelectorAll("tbody tr")].map((tr) => tr.children[column].textContent).filter((text) => text !== "");
        const numeric = th.classList.contains("number");
        const keys = numeric ? cells.map(value) : cells;
        good += keys.every((key, i) => i === 0 || (down ? keys[i - 1] >= key : keys[i - 1] <= key)) ? 1 : 0;
      }
    });
    return {good, tried: 2 * headers.length};
  }

  function filters(panel) {
    const input = panel.querySelector("input[type=search]");
    if (!input) return null;
    const rows = () => panel.querySelector("input[type=search]").closest(".panel").querySelectorAll("tbody tr").length;
    const before = rows();
    input.value = "no kernel is called this";
    input.dispatchEvent(new Event("input"));
    const none = rows();
    input.value = "";
    input.dispatchEvent(new Event("input"));
    return {before, none, after: rows()};
  }

  // Rows on the front according to a study's table.
  function front(panel) {
    return [...panel.querySelectorAll("tbody tr")].filter((row) => row.firstChild.textContent === "yes").length;
  }

  function tries(panel) {
    const out = {kind: panel.dataset.kind, figures: [], bars: 0, tables: []};
    for (const plot of panel.querySelectorAll(".plot")) {
      out.figures.push({label: plot.getAttribute("aria-label"), painted: painted(plot.querySelector("canvas"))});
    }
    out.bars = panel.querySelectorAll("svg.bars rect").length;
    for (const button of panel.querySelectorAll("[data-by]")) button.click();
    out.front = front(panel);
    for (const box of panel.querySelectorAll("input[type=checkbox]")) box.click();
    out.flipped = front(panel);
    for (const table of panel.querySelectorAll("table")) out.tables.push(sorts(table));
    out.filter = filters(panel);
    out.hover = {};
    for (const plot of panel.querySelectorAll(".plot")) {
      const label = plot.getAttribute("aria-label");
      const canvas = plot.querySelector("canvas:last-of-type");
      if (canvas.hasAttribute("tabindex")) out.hover[label] = hovers(panel, canvas);
    }
    const row = panel.querySelector(".long tbody tr");
    if (row) {
      row.querySelector("td").dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
      out.back = [...panel.querySelectorAll("canvas[tabindex]")].filter(painted).length;
    }
    return out;
  }

  const outcome = {faults: window.tilecastFaults, loaded_ms: performance.now(), views: []};
  const tabs = [...document.querySelectorAll("nav button")];
  const panels = [...document.querySelectorAll("main > [role=tabpanel]")];
  tabs.forEach((tab, i) => {
    tab.click();
    outcome.views.push(tries(panels[i]));
    outcome.views[i].alone = panels.filter((panel) => !panel.hidden).length === 1;
  });
  const pre = document.createElement("pre");
  pre.id = "outcome";
  pre.textContent = JSON.stringify(outcome);
  document.body.append(pre);
})();
