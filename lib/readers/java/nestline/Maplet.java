package nestline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * A maplet: pairs of a key and a value. Candidates of a key are its values, seldom another's too.
 */
public final class Maplet extends NestlineFile {
  private Maplet(Object name, ByteBuffer[] pieces) throws FormatException {
    super(name, pieces, "a maplet");
  }

  /** Maps a file and checks it. */
  public static Maplet open(Path path) throws IOException { return new Maplet(path, map(path)); }

  /**
   * Copies the bytes of a file, from position to limit, and checks them. The copy is in direct
   * memory, of which a JVM has as much as of heap unless -XX:MaxDirectMemorySize=BYTES is given:
   * OutOfMemoryError if it is too little. {@link #open} copies nothing.
   */
  public static Maplet of(ByteBuffer file) throws FormatException {
    return new Maplet("bytes", copy(file));
  }

  /** The candidates of an integer. */
  public long[] find(long key) { return values(hash(key)); }

  /** The candidates of a string. */
  public long[] find(String key) { return values(hash(key)); }

  /** The candidates of the string of these bytes. */
  public long[] find(byte[] key) { return values(hash(key)); }

  /** The candidates of keys of this hash. */
  public long[] findHash(long hash) { return values(hash); }
}
