// One chart: a measure of a series over its commits, drawn by uPlot.
//
// The horizontal axis counts points, not days: commits come in bursts. The chart shows the band of
// the repetitions, the medians, dashed lines at the level of each stretch, triangles at changes,
// and a ring around the chosen point. A click chooses a point. People who cannot see the canvas use
// the slider and the tables of the card.
import uPlot from "uplot";
import { axisText, percent, valueText } from "./format.js";

const HEIGHT = 190;
const FONT = "12px system-ui, sans-serif";
// The axis spans at least this share of the values, so that noise does not look large.
const LEAST_SPAN = 0.24;

function colors() {
  const style = getComputedStyle(document.documentElement);
  const names = ["line", "band", "grid", "quiet", "worse", "better", "text", "card"];
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}

function rangeOf(points, measure) {
  const present = points.map((point) => point[measure]).filter(Boolean);
  const low = Math.min(...present.map((value) => value.low));
  const high = Math.max(...present.map((value) => value.high));
  const missing = Math.max(0, LEAST_SPAN * ((low + high) / 2) - (high - low)) / 2;
  const air = 0.08 * (high - low + 2 * missing) || 1;
  return [Math.max(0, low - missing - air), high + missing + air];
}

// The stretches between changes: { begin, end, level }, ends exclusive.
function stretches(series, measure) {
  const changes = series.changes[measure];
  if (!changes.length) return [];
  const ends = [...changes.map(({ at }) => at), series.points.length];
  const levels = [changes[0].before, ...changes.map(({ after }) => after)];
  return levels.map((level, index) => ({ begin: ends[index - 1] ?? 0, end: ends[index], level }));
}

function drawLevels(plot, series, measure, color) {
  const { ctx } = plot;
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.strokeStyle = color.text;
  ctx.lineWidth = devicePixelRatio;
  for (const { begin, end, level } of stretches(series, measure)) {
    const y = plot.valToPos(level, "y", true);
    ctx.beginPath();
    ctx.moveTo(plot.valToPos(begin, "x", true), y);
    ctx.lineTo(plot.valToPos(end - 1, "x", true), y);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

// A line through the chart at each change, and a triangle with the percentage: at the top for
// changes for the worse, at the bottom for changes for the better; gray where the machine moved.
function drawChanges(plot, series, measure, color) {
  const { ctx, bbox } = plot;
  const size = 6 * devicePixelRatio;
  const marks = series.changes[measure].map(({ at, worse, ratio, moved }) => ({
    x: plot.valToPos(at, "x", true),
    y: worse ? bbox.top + size : bbox.top + bbox.height - size,
    tip: worse ? size : -size,
    color: moved ? color.quiet : worse ? color.worse : color.better,
    text: percent(ratio),
  }));
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const mark of marks) {
    ctx.strokeStyle = ctx.fillStyle = mark.color;
    ctx.beginPath();
    ctx.moveTo(mark.x, bbox.top);
    ctx.lineTo(mark.x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(mark.x - size, mark.y - mark.tip);
    ctx.lineTo(mark.x + size, mark.y - mark.tip);
    ctx.lineTo(mark.x, mark.y + mark.tip);
    ctx.fill();
  }
  // A rim in the color of the card keeps the texts apart from what is behind them.
  ctx.font = `600 ${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.strokeStyle = color.card;
  ctx.lineWidth = 4 * devicePixelRatio;
  ctx.lineJoin = "round";
  for (const mark of marks) {
    const left = mark.x > bbox.left + bbox.width * 0.75;
    const x = mark.x + (left ? -1.6 : 1.6) * size;
    ctx.textAlign = left ? "right" : "left";
    ctx.fillStyle = mark.color;
    ctx.strokeText(mark.text, x, mark.y);
    ctx.fillText(mark.text, x, mark.y);
  }
}

function drawChosen(plot, point, index, measure, color) {
  if (!point?.[measure]) return;
  const { ctx } = plot;
  const x = plot.valToPos(index, "x", true);
  const y = plot.valToPos(point[measure].mid, "y", true);
  ctx.beginPath();
  ctx.arc(x, y, 6 * devicePixelRatio, 0, 2 * Math.PI);
  ctx.strokeStyle = color.text;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.stroke();
}

// The text that follows the pointer.
function tooltip(plot, series, measure, tip) {
  const { idx, left } = plot.cursor;
  const point = idx === null || idx === undefined ? null : series.points[idx];
  tip.hidden = !point?.[measure] || left < 0;
  if (tip.hidden) return;
  tip.textContent = `${point.label}: ${valueText(series, measure, point[measure].mid)}`;
  const atRight = left > plot.over.clientWidth / 2;
  tip.style.left = atRight ? "auto" : `${left + 10}px`;
  tip.style.right = atRight ? `${plot.over.clientWidth - left + 10}px` : "auto";
}

function optionsOf({ series, measure, width, chosen, choose }) {
  const color = colors();
  const { points } = series;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  const axis = { stroke: color.quiet, font: FONT, grid: { stroke: color.grid, width: 1 } };
  axis.ticks = { show: false };
  const edge = { stroke: "transparent", width: 0, points: { show: false } };
  const lastLabel = (index) =>
    Number.isInteger(index) ? (points[index]?.label ?? "").slice(0, 9) : "";
  return {
    width,
    height: HEIGHT,
    padding: [10, 30, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.5, Math.max(points.length - 0.5, 0.5)] },
      y: { range: rangeOf(points, measure) },
    },
    axes: [
      {
        ...axis,
        space: 84,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500],
        size: 30,
        grid: { show: false },
        values: (_, splits) => splits.map(lastLabel),
      },
      {
        ...axis,
        space: 36,
        size: 66,
        values: (_, splits) => splits.map((value) => axisText(series, measure, value)),
      },
    ],
    series: [
      {},
      { stroke: color.line, width: 2, points: { show: true, size: 6, fill: color.line } },
      edge,
      edge,
    ],
    bands: [{ series: [3, 2], fill: color.band }],
    hooks: {
      ready: [
        (plot) => {
          plot.over.append(tip);
          plot.over.addEventListener("click", () => {
            if (Number.isInteger(plot.cursor.idx)) choose(plot.cursor.idx);
          });
        },
      ],
      setCursor: [(plot) => tooltip(plot, series, measure, tip)],
      draw: [
        (plot) => {
          plot.ctx.save();
          drawLevels(plot, series, measure, color);
          drawChanges(plot, series, measure, color);
          drawChosen(plot, points[chosen()], chosen(), measure, color);
          plot.ctx.restore();
        },
      ],
    },
  };
}

// Draws into `place`. chosen() is the index of the chosen point, choose(index) chooses one. The
// chart has uPlot's redraw() and destroy(), and keeps the width of its place.
export function drawChart(place, { series, measure, chosen, choose }) {
  const part = (name) => series.points.map((point) => point[measure]?.[name] ?? null);
  const data = [series.points.map((_, index) => index), part("mid"), part("low"), part("high")];
  const width = Math.max(place.clientWidth, 120);
  const plot = new uPlot(optionsOf({ series, measure, width, chosen, choose }), data, place);
  const observer = new ResizeObserver(() => {
    const now = Math.max(place.clientWidth, 120);
    if (now !== plot.width) plot.setSize({ width: now, height: HEIGHT });
  });
  observer.observe(place);
  return {
    redraw: () => plot.redraw(false),
    destroy: () => {
      observer.disconnect();
      plot.destroy();
    },
  };
}
