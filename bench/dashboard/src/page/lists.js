// The lists of regressions and of improvements, as tables that fold into blocks on a phone; and the items of the
// moves of machines.
import { commitLink } from "./card.js";
import { element, fill } from "./dom.js";
import {
  breakable,
  dateText,
  measureName,
  plural,
  pText,
  percent,
  someOf,
  valueText,
} from "./format.js";

function remarks({ recovered, twin, alone, beside, measure }) {
  const texts = [];
  if (recovered) texts.push("recovered since");
  if (twin !== null) texts.push(`absolute figure ${percent(twin)}`);
  if (measure === "ratio" && twin === null) texts.push("absolute figure unchanged");
  if (beside) texts.push("ratio moved with the machine");
  if (alone) texts.push("ratio unchanged: perhaps the machine");
  return texts.join("; ");
}

// The last commit before a change, and those that other files name between the two: the change may
// have come with any of them.
function placeOf(data, series, { at, last, worse }) {
  const [good, first] = [series.points[last], series.points[at]];
  const between = data.commits.slice(good.commit + 1, first.commit).map(({ label }) => label);
  return element(
    "div",
    { class: "quiet" },
    worse ? "last good: " : "last before it: ",
    commitLink(data, good, "last-good"),
    between.length > 0 &&
      `; ${plural(between.length, "commit")} between not measured: ${someOf(between)}`,
  );
}

// A move of a machine: where, how far, from which commit to which.
export function moveItem(data, { machine, measure, begin, end, ratio, moved, of }) {
  const at = (commit) => {
    const point = data.commits[commit];
    return [commitLink(data, point), ` ${dateText(point.time)}`];
  };
  const what = measure === "ratio" ? "ratios to the ceiling" : "speed";
  return element(
    "li",
    {},
    `${machine}: ${percent(ratio)} in ${what} of ${moved} of ${of} series, from `,
    at(begin),
    " until ",
    at(end),
  );
}

// Fills `place`; open(row) is called when the reader opens the chart of a row.
export function fillList(place, { data, rows, open, none }) {
  if (!rows.length) {
    fill(place, element("p", {}, none));
    return;
  }
  const cell = (name, ...content) =>
    element("td", { "data-name": name }, content.some(Boolean) && element("div", {}, content));
  const lines = rows.map((row) => {
    const series = data.series[row.series];
    const point = series.points[row.at];
    const href = `#series-${row.series}`;
    return element(
      "tr",
      { class: row.recovered ? "recovered" : null },
      cell(
        "Change",
        element("strong", { class: row.worse ? "worse" : "better" }, percent(row.ratio)),
      ),
      cell("Benchmark", element("a", { href, onclick: () => open(row) }, breakable(series.name))),
      cell("Measure", measureName(series, row.measure)),
      cell(
        "Before and after",
        `${valueText(series, row.measure, row.before)} \u2192 ${valueText(series, row.measure, row.after)}`,
      ),
      cell(
        "Commit",
        commitLink(data, point),
        point.title ? ` ${point.title}` : "",
        element("span", { class: "quiet" }, ` ${dateText(point.time)}`),
        placeOf(data, series, row),
      ),
      cell("Machine", series.machine),
      cell("p", pText(row.p)),
      cell("Remark", remarks(row)),
    );
  });
  const names = [
    "Change",
    "Benchmark",
    "Measure",
    "Before and after",
    "Commit",
    "Machine",
    "p",
    "Remark",
  ];
  const head = element(
    "tr",
    {},
    names.map((name) => element("th", { scope: "col" }, name)),
  );
  fill(
    place,
    element("table", { class: "list" }, element("thead", {}, head), element("tbody", {}, lines)),
  );
}
