// Where the machine moved and not the code: nearly all of its series step in the same direction at one
// commit, and come back. A neighbour that stays for some days does that, a slower clock, another host below
// a virtual machine.
//
// 1. Candidates are pairs of changes of one series, the second in the other direction and at most FEW points
//    after the first. Those that the most series have are tried first.
// 2. A series can tell if it has LEAST_SIDE points before the first commit, between the two, and from the
//    second on; of either side the nearest FEW count. It moved with the machine if its median between the two
//    differs from both sides by MIN_EFFECT, in the direction of the candidate, and the sides from each
//    other by less than MIN_EFFECT. So a series that was also changed by a commit, and stays changed, did not.
// 3. The machine moved if LEAST_SERIES can tell and the share NEARLY_ALL of them moved.
// 4. It did not if half of the series that can tell on another machine moved too, in the same direction
//    between the same commits: then the code was changed and changed back.
// 5. Changes of the series that moved are the machine's if they are at most NEAR points from one of the two
//    commits, in its direction; change points err by as much.
//
// The two measures of a series, ratio and figure, are judged apart. Values that are no times and no rates,
// such as sizes, take no part: a machine does not move them.
//
// A commit that slows down every benchmark, on the only machine that measures, and is taken back by the next
// few looks the same. Until a step has come back, and LEAST_SIDE points show it, it is a regression.
import { LEAST_SIDE, median, MIN_EFFECT } from "./change_points.js";
import { RATE } from "./formats.js";
import { isBiggerBetter } from "./series.js";

export const FEW = 10;
export const LEAST_SERIES = 5;
export const NEARLY_ALL = 0.8;
export const NEAR = 2;
const ELSEWHERE = 0.5;
const STEP = Math.log1p(MIN_EFFECT);

// The logarithms of the speeds of a series before, between and after two commits; null if it cannot tell.
function levels(series, measure, { begin, end }) {
  const sign = isBiggerBetter(series, measure) ? 1 : -1;
  const present = series.points.filter((point) => point[measure]);
  const first = present.filter(({ commit }) => commit < begin).length;
  const after = present.filter(({ commit }) => commit < end).length;
  const stretches = [
    present.slice(Math.max(first - FEW, 0), first),
    present.slice(first, after),
    present.slice(after, after + FEW),
  ];
  if (stretches.some((points) => points.length < LEAST_SIDE)) return null;
  return stretches.map((points) => sign * Math.log(median(points.map((one) => one[measure].mid))));
}

// { of, moved }: how many series can tell, and those that moved, { series, step }.
function ask(members, measure, candidate) {
  let of = 0;
  const moved = [];
  for (const series of members) {
    const found = levels(series, measure, candidate);
    if (!found) continue;
    ++of;
    const [before, between, after] = found;
    const steps = [between - before, between - after].map((one) => (candidate.worse ? -one : one));
    if (Math.min(...steps) >= STEP && Math.abs(after - before) < STEP) {
      moved.push({ series, step: between - before });
    }
  }
  return { of, moved };
}

// The pairs of changes that could be a move of the machine, those of the most series first.
function candidatesOf(members, measure) {
  const found = new Map();
  for (const { points, changes: of } of members) {
    const between = (from, to) => points.slice(from, to).filter((point) => point[measure]).length;
    const changes = of[measure];
    changes.forEach((first, index) => {
      for (const second of changes.slice(index + 1)) {
        if (second.worse === first.worse || between(first.at, second.at) > FEW) continue;
        const [begin, end] = [first, second].map(({ at }) => points[at].commit);
        const key = `${begin} ${end} ${first.worse}`;
        const known = found.get(key) ?? { begin, end, worse: first.worse, votes: 0 };
        found.set(key, { ...known, votes: known.votes + 1 });
      }
    });
  }
  return [...found.values()].sort((a, b) => b.votes - a.votes || a.begin - b.begin || a.end - b.end);
}

// Marks the changes that are the machine's.
function mark(series, measure, { begin, end, worse }) {
  const { points } = series;
  const placeOf = (commit) => points.findIndex((point) => point.commit >= commit);
  const ends = [
    { at: placeOf(begin), worse },
    { at: placeOf(end), worse: !worse },
  ];
  for (const change of series.changes[measure]) {
    if (ends.some((one) => one.worse === change.worse && Math.abs(one.at - change.at) <= NEAR)) {
      change.moved = true;
    }
  }
}

function movesOf(machine, measure, members, others) {
  const moves = [];
  for (const candidate of candidatesOf(members, measure)) {
    const { begin, end, worse } = candidate;
    if (moves.some((move) => begin < move.end && move.begin < end)) continue;
    const { of, moved } = ask(members, measure, candidate);
    if (of < LEAST_SERIES || moved.length < NEARLY_ALL * of) continue;
    const isCode = others.some((its) => {
      const there = ask(its, measure, candidate);
      return there.of > 0 && there.moved.length >= ELSEWHERE * there.of;
    });
    if (isCode) continue;
    for (const { series } of moved) mark(series, measure, candidate);
    const ratio = Math.exp(median(moved.map(({ step }) => step)));
    moves.push({ machine, measure, begin, end, worse, ratio, moved: moved.length, of });
  }
  return moves;
}

function isSpeed({ quantity, unit }) {
  return quantity !== "value" || RATE.test(unit);
}

// Finds the moves of all machines in series that have their `changes` (judge.js), and sets `moved` in those
// changes that are the machine's. Gives { machine, measure, begin, end, worse, ratio, moved, of }, the newest
// first: the commits where the machine moved and came back, the median change of speed, and how many series
// moved of those that can tell.
export function machineMoves(all) {
  const machines = new Map();
  for (const series of all.filter(isSpeed)) {
    if (!machines.has(series.machine)) machines.set(series.machine, []);
    machines.get(series.machine).push(series);
  }
  const moves = [...machines].flatMap(([machine, members]) => {
    const others = [...machines.values()].filter((of) => of !== members);
    return ["ratio", "figure"].flatMap((measure) => movesOf(machine, measure, members, others));
  });
  return moves.sort((a, b) => b.begin - a.begin || b.end - a.end);
}
