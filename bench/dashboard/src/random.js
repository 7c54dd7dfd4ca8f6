// Repeatable random numbers: a 32-bit counter, each value of it well mixed. The permutation test
// and the simulations need the same numbers on every machine and in every run.

// A function that returns the next number in [0, 1).
export function randomNumbers(seed) {
  let counter = seed >>> 0;
  return () => {
    counter = (counter + 0x9e3779b9) >>> 0;
    let bits = counter;
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return ((bits ^ (bits >>> 15)) >>> 0) / 4294967296;
  };
}

// Puts an array into random order, in place (Fisher and Yates).
export function shuffle(array, random) {
  for (let last = array.length - 1; last > 0; --last) {
    const other = Math.floor(random() * (last + 1));
    const kept = array[last];
    array[last] = array[other];
    array[other] = kept;
  }
}
