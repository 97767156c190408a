// The page: a tab for each view, drawn when first shown. Differences come first; `#2` at the end of
// the address opens the second tab.

const kShow = {simulation: showSimulation, difference: showDifference, paired: showPaired, scores: showScores, study: showStudy, tables: showTables};

function start() {
  document.querySelector("h1").textContent = kData.title;
  const main = document.querySelector("main"), nav = document.querySelector("nav");
  const order = viewsOf(unpacked(kData.results)).sort((a, b) => Number(b.kind === "difference") - Number(a.kind === "difference"));
  const tabs = order.map((view) => {
    const body = element("div", {role: "tabpanel", "data-kind": view.kind, hidden: ""});
    const tab = element("button", {type: "button", role: "tab"}, view.label);
    main.append(body);
    nav.append(tab);
    return {view, body, tab};
  });
  const show = (shown) => {
    for (const each of tabs) {
      each.body.hidden = each !== shown;
      each.tab.setAttribute("aria-selected", String(each === shown));
    }
    if (shown.body.childElementCount === 0) kShow[shown.view.kind](shown.body, shown.view);
    else redraw();
  };
  tabs.forEach((each, i) => each.tab.addEventListener("click", () => {
    history.replaceState(null, "", `#${i + 1}`);
    show(each);
  }));
  show(tabs[Number(location.hash.slice(1)) - 1] || tabs[0]);
}

start();
