// Student's t test of two independent samples with one variance, two-sided.

// The chance that |t| stays below the given value: the finite series for whole degrees of freedom
// (Abramowitz and Stegun, 26.7.3 and 26.7.4).
function chanceBelow(t, degrees) {
  const angle = Math.atan2(t, Math.sqrt(degrees));
  const cosine = Math.cos(angle);
  const odd = degrees % 2 === 1;
  if (odd && degrees === 1) return (2 * angle) / Math.PI;
  let term = odd ? cosine : 1;
  let sum = term;
  for (let k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= (cosine * cosine * (k - 1)) / k;
    sum += term;
  }
  return odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
}

function sums(sample) {
  const mean = sample.reduce((sum, value) => sum + value, 0) / sample.length;
  return { mean, squares: sample.reduce((sum, value) => sum + (value - mean) ** 2, 0) };
}

// The p-value of the difference of two means.
export function studentP(left, right) {
  const a = sums(left);
  const b = sums(right);
  const degrees = left.length + right.length - 2;
  const variance = ((a.squares + b.squares) / degrees) * (1 / left.length + 1 / right.length);
  const difference = Math.abs(a.mean - b.mean);
  if (difference === 0) return 1;
  return Math.max(0, 1 - chanceBelow(difference / Math.sqrt(variance), degrees));
}
