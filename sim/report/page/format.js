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
const us = (seconds) => number(micro(seconds));
const signedUs = (seconds) => (seconds > 0 ? "+" : "") + us(seconds).replace("-", "\u2212");
const percent = (share) => d3.format(",.3~r")(100 * share);
// "1.23 Tbyte/s": decimal prefixes.
function withPrefix(value, unit = "") {
  const text = d3.format(".4~s")(value);
  return /[a-zA-Z]$/.test(text) ? `${text.slice(0, -1)} ${text.slice(-1)}${unit}` : `${text} ${unit}`.trim();
}

// Distinct words, by decreasing time.
function byTime(rows, word, time) {
  const sums = d3.rollup(rows, (group) => d3.sum(group, time), word);
  return [...sums].sort((a, b) => d3.descending(a[1], b[1]));
}
