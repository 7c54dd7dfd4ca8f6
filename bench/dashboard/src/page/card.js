// The card of one series: its charts, a slider that chooses a commit, what was measured there, and
// all points as a table.
//
// Charts are drawn when the card comes near the window and removed when it has left, so that
// hundreds of cards cost little. A live region announces what the slider chooses. The raw numbers
// of the chosen commit are in the details below it, those of all commits in the table.
import { drawChart } from "./chart.js";
import { element, fill, table } from "./dom.js";
import {
  breakable,
  dateText,
  joined,
  measureName,
  pText,
  percent,
  plural,
  rawText,
  valueText,
} from "./format.js";

export function measuresOf(series) {
  return ["ratio", "figure"].filter((measure) => series.points.some((point) => point[measure]));
}

// The commit of a point: a link when the page knows where commits are.
export function commitLink(data, point, name = "commit") {
  const known = data.commitUrl && point.isCommit && /^[\w.]+$/.test(point.id);
  if (!known) return element("span", { class: name }, point.label);
  const href = data.commitUrl.replaceAll("{commit}", () => encodeURIComponent(point.id));
  return element("a", { class: name, href, rel: "noreferrer" }, point.label);
}

function spreadText(series, measure, { low, high }) {
  if (low === high) return "";
  return `${valueText(series, measure, low)} to ${valueText(series, measure, high)}`;
}

// The changes at a point, in words.
function changeTexts(series, index) {
  return measuresOf(series).flatMap((measure) =>
    series.changes[measure]
      .filter(({ at }) => at === index)
      .map((change) => {
        const kind = change.moved ? "move of the machine" : change.worse ? "regression" : "improvement";
        const name = measureName(series, measure).replace(/^./, (first) => first.toLowerCase());
        return `${kind} of ${percent(change.ratio)} (${name}, p ${pText(change.p)})`;
      }),
  );
}

// A point in one sentence, for the live region.
function pointText(series, index) {
  const point = series.points[index];
  const values = measuresOf(series)
    .filter((measure) => point[measure])
    .map((measure) => {
      const spread = spreadText(series, measure, point[measure]);
      const value = valueText(series, measure, point[measure].mid);
      return `${measureName(series, measure)} ${value}${spread && ` (${spread})`}`;
    });
  return joined(...values, ...changeTexts(series, index));
}

function rawTable(data, series, point) {
  const head = ["Run", ...series.columns, "time unit", "file"];
  const body = point.rows.map(([file, aggregate, unit, ...numbers], index) => [
    aggregate || `#${index + 1}`,
    ...numbers.map(rawText),
    unit,
    data.files[file].file,
  ]);
  const caption = `Raw numbers of ${series.name} at ${point.label}`;
  return table(caption, head, body);
}

function contextLists(data, point) {
  const files = [...new Set(point.rows.map(([file]) => file))];
  return files.map((file) => [
    element("h4", {}, data.files[file].file),
    element(
      "dl",
      {},
      data.files[file].context.map(([key, value]) => [
        element("dt", {}, key),
        element("dd", {}, value),
      ]),
    ),
  ]);
}

// The commit that was chosen, with its raw numbers.
function pointPanel(data, series, index, open) {
  const point = series.points[index];
  return [
    element(
      "p",
      {},
      point.isCommit ? "Commit " : "File ",
      commitLink(data, point),
      point.title ? ` ${point.title}` : "",
      point.time === null ? "" : element("span", { class: "quiet" }, ` ${dateText(point.time)}`),
    ),
    element(
      "details",
      { class: "raw", open },
      element("summary", {}, "Raw numbers of this point"),
      rawTable(data, series, point),
      contextLists(data, point),
    ),
  ];
}

function pointsTable(data, series, show) {
  const measures = measuresOf(series);
  const head = [
    "Commit",
    "Numbers",
    "Date",
    ...measures.flatMap((measure) => [measureName(series, measure), "Spread"]),
  ];
  const rows = series.points.map((point, index) => [
    commitLink(data, point),
    element(
      "button",
      { type: "button", "aria-label": `Raw numbers of ${point.label}`, onclick: () => show(index) },
      "Raw numbers",
    ),
    dateText(point.time),
    ...measures.flatMap((measure) =>
      point[measure]
        ? [
            valueText(series, measure, point[measure].mid),
            spreadText(series, measure, point[measure]),
          ]
        : ["", ""],
    ),
    changeTexts(series, index).join("; "),
  ]);
  return table(`All points of ${series.name}`, [...head, "Change"], rows.reverse());
}

// The newest change of each measure that is not the machine's, shown beside the name.
function badges(series) {
  return measuresOf(series).flatMap((measure) =>
    series.changes[measure]
      .filter(({ moved }) => !moved)
      .slice(-1)
      .map((change) =>
        element(
          "span",
          { class: change.worse ? "badge worse" : "badge better" },
          `${measure === "ratio" ? "ratio" : "absolute"} ${percent(change.ratio)}`,
        ),
      ),
  );
}

// Makes the card: { node, show(visible), choose(index), refresh() }.
export function makeCard(data, number) {
  const series = data.series[number];
  const id = `series-${number}`;
  const last = series.points.length - 1;
  let chosen = last;
  let charts = null;

  const places = measuresOf(series).map((measure) => ({
    measure,
    place: element("div", { class: "plot", "aria-hidden": "true" }),
  }));
  const announcement = element("p", { class: "announcement", "aria-live": "polite" });
  const panel = element("div", { class: "point" });
  const slider = element("input", {
    type: "range",
    id: `${id}-slider`,
    min: 0,
    max: last,
    value: last,
    oninput: () => choose(Number(slider.value)),
  });

  function choose(index, showRaw = false) {
    chosen = index;
    slider.value = String(index);
    const { label } = series.points[index];
    slider.setAttribute("aria-valuetext", `${label}, ${index + 1} of ${last + 1}`);
    announcement.textContent = pointText(series, index);
    fill(panel, pointPanel(data, series, index, showRaw || panel.querySelector("details")?.open));
    charts?.forEach((chart) => chart.redraw());
    if (showRaw) panel.querySelector("summary").focus();
  }

  const all = element(
    "details",
    {
      class: "all",
      ontoggle: () => {
        if (all.open && all.children.length === 1) {
          all.append(pointsTable(data, series, (index) => choose(index, true)));
        }
      },
    },
    element("summary", {}, `All ${plural(last + 1, "point")} as a table`),
  );

  const node = element(
    "article",
    { class: "card", id, tabindex: -1, "aria-labelledby": `${id}-name` },
    element("h3", { id: `${id}-name` }, breakable(series.name)),
    element(
      "p",
      { class: "quiet" },
      joined(series.machine, plural(last + 1, "point"), !series.judged && "too short to be judged"),
      " ",
      badges(series),
    ),
    element(
      "div",
      { class: "charts" },
      places.map(({ measure, place }) =>
        element("figure", {}, element("figcaption", {}, measureName(series, measure)), place),
      ),
    ),
    last > 0 && element("label", { for: `${id}-slider` }, "Commit", slider),
    announcement,
    panel,
    all,
  );
  choose(last);

  const clear = () => {
    charts?.forEach((chart) => chart.destroy());
    charts = null;
  };
  const show = (visible) => {
    if (!visible) return clear();
    charts ??= places.map(({ measure, place }) =>
      drawChart(place, { series, measure, chosen: () => chosen, choose }),
    );
  };
  return {
    node,
    show,
    choose,
    refresh: () => {
      if (!charts) return;
      clear();
      show(true);
    },
  };
}
