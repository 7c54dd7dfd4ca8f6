// The page: reads its data, shows the summary, the problems, the lists and the cards, and keeps
// them in step with the filters.
import { makeCard } from "./card.js";
import { element, fill } from "./dom.js";
import { makeFilters } from "./filters.js";
import { dateText, joined, plural, share } from "./format.js";
import { fillList, moveItem } from "./lists.js";

// How far outside the window charts are already drawn.
const AHEAD = "600px";

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
for (const { points } of data.series) {
  for (const point of points) Object.assign(point, data.commits[point.commit]);
}

function showSummary() {
  const machines = new Set(data.series.map(({ machine }) => machine));
  const times = data.commits.map(({ time }) => time).filter((time) => time !== null);
  byId("summary").textContent = joined(
    `${data.series.length} series`,
    plural(data.commits.length, data.commits.some(({ isCommit }) => isCommit) ? "commit" : "file"),
    plural(machines.size, "machine"),
    [...new Set([times[0], times.at(-1)].map((time) => dateText(time ?? null)))].join(" to "),
  );
}

function showProblems() {
  if (!data.problems.length) return;
  byId("problems").hidden = false;
  fill(
    byId("problems").querySelector("ul"),
    data.problems.map(({ file, message }) =>
      element("li", {}, element("code", {}, file), `: ${message}`),
    ),
  );
}

function showMoves() {
  byId("moves").hidden = !data.moves.length;
  fill(byId("moves").querySelector("ul"), data.moves.map((move) => moveItem(data, move)));
}

function showMethod() {
  const texts = {
    significance: share(data.method.significance),
    minPoints: String(data.method.minPoints),
    leastSide: String(data.method.leastSide),
    needed: String(data.method.needed),
    minEffect: share(data.method.minEffect),
    few: String(data.method.few),
    leastSeries: String(data.method.leastSeries),
    nearlyAll: share(data.method.nearlyAll),
  };
  for (const place of document.querySelectorAll("[data-method]")) {
    place.textContent = texts[place.dataset.method];
  }
  byId("to-method").addEventListener("click", () => {
    byId("method").open = true;
  });
}

// What stands in place of an empty list: never "none found" where nothing was judged.
function noneText(shown) {
  const short = shown.filter(({ judged }) => !judged).length;
  const needed = `the ${data.method.needed} points in which a change can be found`;
  if (short && short === shown.length) return `Nothing can be judged: no series has ${needed}.`;
  const none =
    data.series.length === shown.length ? "None found" : "None among the benchmarks shown";
  return short ? `${none} in the series that have ${needed}.` : `${none}.`;
}

function showShortness() {
  const short = data.series.filter(({ judged }) => !judged).length;
  byId("short").hidden = !short;
  byId("short").textContent =
    `Not judged, since they have fewer than ${data.method.needed} points: ` +
    `${short} of ${data.series.length} series.`;
}

// Cards of series with regressions come first, in the order of the list; then the others.
function orderOfCards() {
  const changed = data.regressions.map(({ series }) => series);
  return [...new Set([...changed, ...data.series.keys()])];
}

function showAll() {
  for (const { series } of data.regressions) data.series[series].worse = true;
  const cards = new Map(orderOfCards().map((number) => [number, makeCard(data, number)]));
  const byNode = new Map([...cards.values()].map((card) => [card.node, card]));
  byId("cards").append(...byNode.keys());

  const observer = new IntersectionObserver(
    (entries) =>
      entries.forEach(({ target, isIntersecting }) => byNode.get(target).show(isIntersecting)),
    { rootMargin: AHEAD },
  );
  byNode.forEach((_, node) => observer.observe(node));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    cards.forEach((card) => card.refresh()),
  );

  const open = ({ series, at }) => cards.get(series).choose(at);
  makeFilters(byId("filters"), data, (wanted) => {
    const shown = new Set(data.series.keys());
    cards.forEach((card, number) => {
      card.node.hidden = !wanted(data.series[number]);
      if (card.node.hidden) shown.delete(number);
    });
    const rows = (list) => list.filter(({ series }) => shown.has(series));
    const worse = rows(data.regressions);
    const better = rows(data.improvements);
    const none = noneText([...shown].map((number) => data.series[number]));
    fillList(byId("regressions").querySelector("div"), { data, rows: worse, open, none });
    fillList(byId("improvements").querySelector("div"), { data, rows: better, open, none });
    const judged = [...shown].some((number) => data.series[number].judged);
    const count = (list) => (judged || !shown.size ? list.length : "not judged");
    byId("regressions-title").textContent = `Regressions (${count(worse)})`;
    byId("improvements").querySelector("summary").textContent = `Improvements (${count(better)})`;
    byId("shown").textContent = `${shown.size} of ${data.series.length} shown`;
  });
}

showSummary();
showProblems();
showShortness();
showMethod();
showMoves();
showAll();
