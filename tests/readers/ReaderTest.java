package nestline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Tests of the reader in Java against what the library answers, and on damaged files.
 *
 *   java -cp CLASSES nestline.ReaderTest GOLDEN FILES ERRORS
 *
 * GOLDEN: the folder of the golden files. FILES: the folder that make_files has written; its head
 * says what is in it. ERRORS: errors.txt beside this. Without ERRORS, the classes are those with
 * small pieces (CMakeLists.txt), and what does not depend on these is left out.
 */
final class ReaderTest {
  private static final long STEP = 0x9e3779b97f4a7c15L;
  private static final int GOLDEN_KEYS = 4096, KEYS = 340_000;
  private static int checks = 0;

  private static void check(boolean good, String what) {
    checks++;
    if (!good) throw new AssertionError(what);
  }

  private static NestlineFile read(String name, byte[] file) throws FormatException {
    return read(name, ByteBuffer.wrap(file));
  }

  private static NestlineFile read(String name, ByteBuffer bytes) throws FormatException {
    if (name.startsWith("e")) return ExpiringFilter.of(bytes);
    return name.startsWith("m") ? Maplet.of(bytes) : Filter.of(bytes);
  }

  private static NestlineFile open(Path path) throws IOException {
    String name = path.getFileName().toString();
    if (name.startsWith("e")) return ExpiringFilter.open(path);
    return name.startsWith("m") ? Maplet.open(path) : Filter.open(path);
  }

  /** Of key number i of a kind: integers, strings or hashes. */
  private static long hashOf(NestlineFile file, int kind, int i) {
    return switch (kind) {
      case 0 -> file.hash((long) i);
      case 1 -> file.hash("key-" + i);
      default -> (i + 1) * STEP;
    };
  }

  private static void checkGolden(Path path) throws IOException {
    NestlineFile file = open(path);
    Path answers = Path.of(path.toString().replace(".nest", ".answers"));
    List<String> lines = Files.readAllLines(answers);
    for (int kind = 0; kind < 3; kind++) {
      String line = lines.get(kind);
      String[] candidates = line.split(";", -1);
      for (int i = 0; i < GOLDEN_KEYS; i++) {
        long hash = hashOf(file, kind, i);
        String what = path + ": kind " + kind + ", key " + i;
        if (file instanceof Maplet maplet) {
          Stream<String> found = Arrays.stream(maplet.findHash(hash)).sorted()
              .mapToObj(value -> String.format("%02x", value));
          check(String.join(" ", found.toList()).equals(candidates[i]), what);
        } else {
          boolean expected = (Character.digit(line.charAt(i / 4), 16) >> i % 4 & 1) == 1;
          check(file.mayContainHash(hash) == expected, what);
        }
        if (kind == 0 && file instanceof ExpiringFilter filter) {
          int left = filter.ticksLeft(hash, filter.tick());
          check(Math.max(left - 1, 0) == Character.digit(lines.get(3).charAt(i), 16), what);
        }
      }
    }
  }

  private static ByteBuffer bytesOf(Path path) throws IOException {
    return ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void checkAnswers(Path path) throws IOException {
    NestlineFile file = open(path);
    ByteBuffer answers = bytesOf(Path.of(path.toString().replace(".nest", ".answers")));
    int present = 0;
    int keys = 0;
    int each = NestlineFile.PIECE == 1 << 16 ? 16 : 1;  // of the keys, in small pieces
    for (; answers.hasRemaining(); keys++) {
      int answer = answers.get();
      present += answer > 0 ? 1 : 0;
      if (keys % each != 0) {
        if (file instanceof Maplet) answers.position(answers.position() + 8 * answer);
        continue;
      }
      long hash = hashOf(file, keys / KEYS, keys % KEYS);
      if (file.mayContainHash(hash) != answer > 0 || !isAnswer(file, hash, answer, answers)) {
        check(false, path + ": key " + keys);
      }
    }
    check(keys == 3 * KEYS, path + ": 10^6 keys");
    check(present > 5000, path + ": many keys are there");
  }

  private static boolean isAnswer(NestlineFile file, long hash, int answer, ByteBuffer values) {
    if (file instanceof ExpiringFilter filter) {
      long later = hash & 15;
      return filter.ticksLeft(hash, filter.tick()) == answer
          && filter.ticksLeft(hash, filter.tick() + later) == Math.max(answer - later, 0);
    }
    if (file.countHash(hash) != answer) return false;
    if (file instanceof Filter) return true;
    long[] expected = LongStream.range(0, answer).map(i -> values.getLong()).toArray();
    long[] found = ((Maplet) file).findHash(hash);
    Arrays.sort(found);
    return Arrays.equals(found, expected);
  }

  private static void checkXxh3(Path hashes) throws IOException {
    ByteBuffer expected = bytesOf(hashes);
    byte[] text = new byte[expected.capacity() / 16];
    check(text.length > 2000, "too few lengths");
    for (int size = 0; size < text.length; size++) {
      for (long seed : new long[] {0, STEP}) {
        long hash = Xxh3.hash(Arrays.copyOf(text, size), seed);
        check(hash == expected.getLong(), size + " bytes with seed " + seed);
      }
      text[size] = (byte) (size * 7);
    }
  }

  /** Each form of a key and the batch are the hash. */
  private static void checkForms(Path golden) throws IOException {
    Filter filter = Filter.open(golden.resolve("t8.nest"));
    Maplet maplet = Maplet.open(golden.resolve("m268_grown.nest"));
    for (int i = 0; i < 3000; i++) {
      String text = "key-" + i;
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      check(filter.mayContain(text) == filter.mayContainHash(filter.hash(text)), text);
      check(filter.mayContain(bytes) == filter.mayContain(text), text);
      check(filter.mayContain(i) == filter.mayContainHash(filter.hash((long) i)), text);
      long[] found = maplet.findHash(maplet.hash(text));
      check(Arrays.equals(maplet.find(text), found), text);
      check(Arrays.equals(maplet.find(bytes), found), text);
      check(Arrays.equals(maplet.find(i), maplet.findHash(maplet.hash((long) i))), text);
    }
    for (int count : new int[] {0, 1, 63, 64, 65, 4000}) {
      boolean[] found = new boolean[count + 1];
      filter.mayContain(LongStream.range(0, count).toArray(), found);
      for (int i = 0; i < count; i++) {
        check(found[i] == filter.mayContain((long) i), "batch of " + count);
      }
      check(!found[count], "batch of " + count);
    }
    check(filter.size() > 3000 && filter.size() < 65 * 60, "t8");
    ExpiringFilter expiring = ExpiringFilter.open(golden.resolve("e44.nest"));
    refuses(() -> expiring.ticksLeft(1, expiring.tick() - 1), "tick");
  }

  /** The copy of a buffer, whatever that is, has its bytes in pieces, and the buffer stays. */
  private static void checkCopies(Path path) throws IOException {
    byte[] file = Files.readAllBytes(path);
    NestlineFile expected = open(path);
    byte[] wide = new byte[file.length + 200];  // with other bytes around
    Arrays.fill(wide, (byte) 0x8e);
    System.arraycopy(file, 0, wide, 100, file.length);
    ByteBuffer direct = ByteBuffer.allocateDirect(wide.length).put(0, wide);
    ByteBuffer inside = ByteBuffer.wrap(wide).position(100).limit(100 + file.length);
    List<ByteBuffer> buffers = List.of(ByteBuffer.wrap(file), inside, inside.slice(),
        inside.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN),
        direct.duplicate().position(100).limit(100 + file.length),
        direct.slice(50, file.length + 100).position(50).limit(50 + file.length));
    for (ByteBuffer buffer : buffers) {
      ByteBuffer before = buffer.duplicate();
      String what = path + " of " + buffer;
      ByteBuffer[] pieces = NestlineFile.copy(buffer);
      check(pieces.length == (file.length + NestlineFile.PIECE - 1) / NestlineFile.PIECE, what);
      int at = 0;
      for (ByteBuffer piece : pieces) {
        check(piece.position() == 0 && piece.isReadOnly() && piece.isDirect(), what);
        check(piece.equals(ByteBuffer.wrap(file, at, piece.limit())), what + " at " + at);
        at += piece.limit();
        check(piece.limit() == NestlineFile.PIECE || at == file.length, what + " at " + at);
      }
      check(at == file.length, what);
      NestlineFile copy = read(path.getFileName().toString(), buffer);
      check(buffer.equals(before) && buffer.position() == before.position(), what);
      for (int i = 0; i < 3000; i++) {
        long hash = hashOf(expected, i % 3, i);
        check(copy.countHash(hash) == expected.countHash(hash), what + ": key " + i);
        check(Arrays.equals(copy.values(hash), expected.values(hash)), what + ": key " + i);
      }
    }
    check(NestlineFile.copy(ByteBuffer.allocate(0)).length == 0, "no bytes");
  }

  private static void refuses(Runnable call, String why) {
    try {
      call.run();
    } catch (IllegalArgumentException error) {
      check(error.getMessage().contains(why), why);
      return;
    }
    check(false, why);
  }

  /** Reads bytes that are no valid file. */
  private static void checkRefused(
      String name, byte[] file, String why, long offset, String what) {
    try {
      read(name, file);
    } catch (FormatException error) {
      check(error.getMessage().contains(why), what + ": " + error.getMessage());
      check(offset < 0 || error.offset() == offset, what + ": " + error.getMessage());
      check(error.getMessage().contains("at byte " + error.offset() + ": "), what);
      return;
    }
    check(false, what + " was read");
  }

  /** How long the header is. */
  private static int begin(byte[] file) {
    return file[12] != 2 ? 4096 : file[18] >>> 5 == 1 && file[19] == 0 ? 128 : 64;
  }

  /** Where version 1 of the format has what a header has at this place. */
  private static int pageAt(byte[] file, int at) {
    if (begin(file) == 4096) return at;
    for (int[] field : NestlineFile.FIELDS) {
      if (at >= field[1] && at < field[1] + field[3]) return field[0] + at - field[1];
    }
    return at;
  }

  private static void seal(byte[] file, boolean all) {
    ByteBuffer bytes = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    int begin = begin(file);
    if (file.length < begin + 80) return;  // of a version that there is not
    bytes.putLong(begin - 8, Xxh3.hash(Arrays.copyOf(file, begin - 8), 0));
    int sums = file.length - 16;  // small files have one section
    if (!all) return;
    bytes.putLong(sums, Xxh3.hash(Arrays.copyOfRange(file, begin, sums), 0));
    bytes.putLong(sums + 8, Xxh3.hash(Arrays.copyOfRange(file, sums, sums + 8), 0));
  }

  /** Files whose checksums are right may be anything: they are refused, or give answers. */
  private static boolean readSealed(String name, byte[] file, String what) {
    try {
      NestlineFile read = read(name, file);
      for (long i = 0; i < 100; i++) read.mayContainHash(read.hash(i));
      return true;
    } catch (FormatException error) {
      check(
          error.offset() >= 0 && error.offset() <= file.length, what + ": " + error.getMessage());
      return false;
    }
  }

  private static void checkDamages(Path path) throws IOException {
    String name = path.getFileName().toString();
    byte[] file = Files.readAllBytes(path);
    for (int length = 0; length < file.length; length++) {
      checkRefused(
          name, Arrays.copyOf(file, length), "the file", -1, path + " of " + length + " bytes");
    }
    checkRefused(
        name, Arrays.copyOf(file, file.length + 1), "should end", file.length, path + " and a byte");
    for (int at = 0; at < file.length; at++) {
      byte[] bad = file.clone();
      bad[at] ^= 1 << at % 8;
      checkRefused(name, bad, "", -1, path + " with another byte " + at);
    }
    int begin = begin(file);
    for (int i = 0; i < begin - 8; i++) {  // each bit of each field, and one of each byte else
      boolean reserved = i >= 104 && i < 4032;
      for (int bit = reserved ? i % 8 : 0; bit < (reserved ? i % 8 + 1 : 8); bit++) {
        byte[] bad = file.clone();
        bad[i] ^= 1 << bit;
        seal(bad, false);
        String what = path + " with another bit " + bit + " of byte " + i;
        int at = pageAt(file, i);
        boolean mayDiffer = at >= 40 && at < 48 || at >= 56 && at < 72;  // seed and capacities
        boolean expires = at >= 80 && at < 104 || at >= 4032 && at < 4040;
        boolean filter = !name.startsWith("e") && !name.startsWith("m");
        boolean kinds = filter && at >= 36 && at < 40 && !(at % 2 == 1 && bit == 7);
        if (readSealed(name, bad, what)) check(mayDiffer || expires || kinds, what + " was read");
      }
    }
    Random random = new Random(1);
    int good = 0;
    for (int round = 0; round < 2000; round++) {
      byte[] bad = file.clone();
      for (int flips = 1 + random.nextInt(3); flips > 0; flips--) {
        bad[begin + random.nextInt(file.length - begin - 16)] ^= 1 << random.nextInt(8);
      }
      seal(bad, true);
      good += readSealed(name, bad, path + ", round " + round) ? 1 : 0;
    }
    check(good < 2000, path + ": slots, locks and versions are checked");
    for (int round = 0; round < 1000; round++) {
      byte[] bad = file.clone();
      long number = random.nextLong() >>> random.nextInt(64);
      ByteBuffer.wrap(bad)
          .order(ByteOrder.LITTLE_ENDIAN)
          .putLong(16 + random.nextInt(85), number);
      seal(bad, false);
      readSealed(name, bad, path + ", number " + round);
    }
  }

  /** Each error says what is wrong and where. */
  private static void checkErrors(Path golden, Path errors) throws IOException {
    for (String line : Files.readAllLines(errors)) {
      if (line.startsWith("#")) continue;
      String[] words = line.split(" ", 5);
      byte[] bad = Files.readAllBytes(golden.resolve(words[0] + ".nest"));
      byte[] bytes = HexFormat.of().parseHex(words[2]);
      System.arraycopy(bytes, 0, bad, Integer.parseInt(words[1]), bytes.length);
      seal(bad, true);
      checkRefused(words[0], bad, words[4], Long.parseLong(words[3]), line);
    }
    byte[] file = Files.readAllBytes(golden.resolve("w9.nest"));
    byte[] maplet = Files.readAllBytes(golden.resolve("m268_grown.nest"));
    try {
      Filter.of(ByteBuffer.wrap(maplet));
      check(false, "a maplet is no filter");
    } catch (FormatException error) {
      check(error.offset() == 20, error.getMessage());
    }
    Path cut = Files.createTempFile("nestline", ".nest");
    try {
      Files.write(cut, Arrays.copyOf(file, 700));
      Filter.open(cut);
      check(false, "a file that is cut off");
    } catch (FormatException error) {
      check(error.getMessage().startsWith(cut + ": at byte "), error.getMessage());
    } finally {
      Files.delete(cut);
    }
  }

  public static void main(String[] folders) throws IOException {
    Path golden = Path.of(folders[0]);
    int files = 0;
    for (Path folder : List.of(golden, Path.of(folders[1]))) {
      try (Stream<Path> all = Files.list(folder)) {
        for (Path path :
            all.filter(name -> name.toString().endsWith(".nest")).sorted().toList()) {
          if (folder.equals(golden)) {
            checkGolden(path);
          } else {
            checkAnswers(path);
          }
          checkCopies(path);
          files++;
        }
      }
    }
    check(files == 18 + 34, "files: " + files);
    if (folders.length == 2) {
      check(NestlineFile.PIECE == 1 << 16, "small pieces");
      System.out.println(checks + " checks of " + files + " files in small pieces passed");
      return;
    }
    checkXxh3(Path.of(folders[1], "strings.hashes"));
    checkForms(golden);
    checkErrors(golden, Path.of(folders[2]));
    for (String name :
        List.of("w8", "w9", "w12_grown", "w16", "t8", "e40", "e44", "m268_grown",
            "w12_grown_small", "k16_small", "e44_small", "m268_grown_small")) {
      checkDamages(golden.resolve(name + ".nest"));
    }
    System.out.println(checks + " checks of " + files + " files passed");
  }
}
