import java.io.IOException;
import java.nio.file.Path;
import nestline.Filter;

class Known {
  public static void main(String[] words) throws IOException {
    Filter filter = Filter.open(Path.of("words.nest"));
    for (String word : words) {
      System.out.println(word + (filter.mayContain(word) ? ": maybe" : ": certainly not"));
    }
  }
}
