// Descriptions of one kernel: tooltips and the panel of the selected one.

function kernelText(k) {
  if (!k) return "";
  const lines = [k.name, `${k.opcode}, ${k.class}`,
    `${us(k.total_s)} µs = ${number(k.multiplicity)} × ${us(k.time_s)} µs`, `held up by ${boundName(k.bound)}`];
  if (k.interval) lines.push(`90 %: ${us(k.interval[0])} to ${us(k.interval[1])} µs a launch`);
  return lines.join("\n");
}

function facts(parent, pairs) {
  const list = element("dl", {class: "facts"});
  for (const [name, value] of pairs) {
    if (value === "" || value === null || value === undefined) continue;
    list.append(element("dt", {}, name), element("dd", {}, value));
  }
  parent.append(list);
}

function cards(parent, list) {
  const node = element("div", {class: "cards"});
  for (const [value, name] of list) {
    if (value === "" || value === null) continue;
    node.append(element("div", {class: "card"}, element("b", {}, value), element("span", {}, name)));
  }
  parent.append(node);
}

function notes(parent, list) {
  if (list.length === 0) return;
  const node = panel(parent, "Notes", "", "long");
  node.append(element("ul", {class: "notes"}, ...list.map((text) => element("li", {}, text))));
}

function chosenKernel(parent, view, link) {
  const node = panel(parent, "Chosen kernel", "", "third");
  const body = element("div");
  node.append(body);
  const longest = view.kernels.reduce((a, b) => (b.total_s > a.total_s ? b : a));
  const show = () => {
    const k = link.chosen >= 0 ? view.kernels[link.chosen] : longest;
    body.replaceChildren();
    if (link.chosen < 0) body.append(element("p", {class: "about"}, "The longest one; choose others in plots and table."));
    facts(body, [
      ["kernel", k.name], ["op", `${k.opcode} (${k.class})`], ["in", k.computation],
      ["time", `${us(k.time_s)} µs a launch, × ${number(k.multiplicity)} = ${us(k.total_s)} µs`],
      ["90 % interval", k.interval ? `${us(k.interval[0])} to ${us(k.interval[1])} µs` : ""],
      ["k of the correction", k.weight === null ? "" : d3.format(".2f")(k.weight)], ["held up by", boundName(k.bound)],
      ["without it", k.next_bound ? `${us(k.next_time_s)} µs, by ${boundName(k.next_bound)}` : ""],
      ["speed of light", `${us(k.speed_of_light_s)} µs`], ["work", withPrefix(k.flops, "FLOP")],
      ["main memory", `${withPrefix(k.hbm_read_bytes, "byte")} read, ${withPrefix(k.hbm_write_bytes, "byte")} written`],
      ["tile", k.tile], ["approximated", k.flags]]);
    const busy = k.busy.filter((each) => each.time > 0).sort((a, b) => d3.descending(a.time, b.time));
    body.append(element("p", {class: "about gap"}, "busy in one launch, µs"));
    bars(body, busy.map((each) => ({name: boundName(each.name), value: each.time, colour: boundColour(each.name), text: us(each.time)})),
         {label: "busy time of each resource", width: 360, values: 60});
  };
  link.onChange((what) => { if (what === "choose") show(); });
  show();
}
