import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import nestline.Filter;

/**
 * Compares lookups in a file of make_filter with those of Guava's BloomFilter, which has as much memory and as many keys:
 * Compare FILE KEYS, where KEYS is how many keys of each kind FILE has. compare.py runs it.
 */
final class Compare {
  private static final int ASKED = 1 << 20, ROUNDS = 15;
  private static int found;

  private interface Work {
    int run();
  }

  private static double nanoseconds(Work work) {
    long begin = System.nanoTime();
    found += work.run();
    return (System.nanoTime() - begin) / (double) ASKED;
  }

  private static double median(double[] numbers) {
    Arrays.sort(numbers);
    return numbers[numbers.length / 2];
  }

  /** `batch` is null where there are no batches. */
  private static void compare(String name, Work ours, Work batch, Work theirs) {
    double[] our = new double[ROUNDS], batches = new double[ROUNDS], other = new double[ROUNDS];
    double[] ratios = new double[ROUNDS];
    for (int round = -5; round < ROUNDS; round++) {  // the first warm up
      int i = Math.max(round, 0);
      our[i] = nanoseconds(ours);
      other[i] = nanoseconds(theirs);
      if (batch != null) batches[i] = nanoseconds(batch);
      ratios[i] = other[i] / our[i];
    }
    String inBatches = batch == null ? "" : String.format(", batches %6.1f", median(batches));
    System.out.printf("%-16s %6.1f ns%s, other %6.1f: %.2f times as fast%n", name, median(our),
        inBatches, median(other), median(ratios));
  }

  public static void main(String[] words) throws IOException {
    Path file = Path.of(words[0]);
    Filter filter = Filter.open(file);
    long each = Long.parseLong(words[1]), bits = (Files.size(file) - 4096) * 8;
    // The false-positive rate for which it takes so many bits a key.
    double rate = Math.exp(-(double) bits / (2 * each) * Math.log(2) * Math.log(2));
    BloomFilter<Long> longs = BloomFilter.create(Funnels.longFunnel(), 2 * each, rate);
    BloomFilter<CharSequence> strings =
        BloomFilter.create(Funnels.stringFunnel(StandardCharsets.UTF_8), 2 * each, rate);
    for (long i = 0; i < 2 * each; i++) longs.put(i * 0x9e3779b97f4a7c15L);
    long x = 1;
    boolean[] answers = new boolean[ASKED];
    for (String kind : new String[] {"absent", "present"}) {
      long[] keys = new long[ASKED];
      String[] texts = new String[ASKED];
      for (int i = 0; i < ASKED; i++) {
        x = x * 6364136223846793005L + 1442695040888963407L;
        long number = kind.equals("present") ? (x >>> 20) % each : 2 * each + (x >>> 20);
        keys[i] = number * 0x9e3779b97f4a7c15L;
        texts[i] = String.format("%016x", keys[i]);
      }
      compare("long, " + kind, () -> {
        int n = 0;
        for (long key : keys) n += filter.mayContain(key) ? 1 : 0;
        return n;
      }, () -> {
        filter.mayContain(keys, answers);
        return answers[0] ? 1 : 0;
      }, () -> {
        int n = 0;
        for (long key : keys) n += longs.mightContain(key) ? 1 : 0;
        return n;
      });
      if (each > 20_000_000) continue;  // strings.put would take minutes
      if (kind.equals("absent")) {
        for (long i = 0; i < 2 * each; i++) strings.put(String.format("%016x", i * 0x9e3779b97f4a7c15L));
      }
      compare("String, " + kind, () -> {
        int n = 0;
        for (String key : texts) n += filter.mayContain(key) ? 1 : 0;
        return n;
      }, null, () -> {
        int n = 0;
        for (String key : texts) n += strings.mightContain(key) ? 1 : 0;
        return n;
      });
    }
    if (found == 0) throw new AssertionError();
  }
}
