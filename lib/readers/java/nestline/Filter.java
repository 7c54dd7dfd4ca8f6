package nestline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** A filter: it may say of an absent key that it is there, never the opposite of a present one. */
public final class Filter extends NestlineFile {
  private Filter(Object name, ByteBuffer[] pieces) throws FormatException {
    super(name, pieces, "a filter");
  }

  /** Maps a file and checks it. */
  public static Filter open(Path path) throws IOException { return new Filter(path, map(path)); }

  /**
   * Copies the bytes of a file, from position to limit, and checks them. The copy is in direct
   * memory, of which a JVM has as much as of heap unless -XX:MaxDirectMemorySize=BYTES is given:
   * OutOfMemoryError if it is too little. {@link #open} copies nothing.
   */
  public static Filter of(ByteBuffer file) throws FormatException {
    return new Filter("bytes", copy(file));
  }
}
