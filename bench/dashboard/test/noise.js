// Simulated series for tests: a level of 100 with a relative standard deviation of 3 % in several
// shapes, and a change of level on request. The same arguments give the same series everywhere.
//
//   normal      the bell curve
//   heavy       Student's t with 3 degrees of freedom: far outliers now and then
//   spikes      the bell curve, and 8 % of the points slower by 10 to 40 %: a busy neighbor
//   correlated  the bell curve, each point keeping 0.3 of its neighbor's deviation
import { randomNumbers } from "../src/random.js";

export const SHAPES = ["normal", "heavy", "spikes", "correlated"];

const DEVIATION = 0.03;

// Box and Muller.
export function normalNumbers(random) {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function studentWith3(normal) {
  let squares = 0;
  for (let i = 0; i < 3; ++i) squares += normal() ** 2;
  // Its variance is 3.
  return normal() / Math.sqrt(squares / 3) / Math.sqrt(3);
}

export function simulate({ shape, length, seed, change, deviation = DEVIATION }) {
  const random = randomNumbers(Math.imul(seed, 0x2545f491) ^ SHAPES.indexOf(shape));
  const normal = normalNumbers(random);
  let kept = normal();
  return Array.from({ length }, (_, index) => {
    let noise = shape === "heavy" ? studentWith3(normal) : normal();
    if (shape === "correlated") noise = kept = 0.3 * kept + Math.sqrt(1 - 0.09) * noise;
    let value = 100 * Math.exp(deviation * noise);
    if (shape === "spikes" && random() < 0.08) value *= 1 - 0.1 - 0.3 * random();
    return change && index >= change.at ? value * change.ratio : value;
  });
}
