import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.view.ViewMetadataParser;

/**
 * Reads metadata documents as Iceberg's own client does, and of tables what it would write.
 * Read FOLDER: with documents of tables, named *.table.json, and of views, *.view.json
 */
public class Read {
  public static void main(String[] args) throws Exception {
    List<Path> files;
    try (Stream<Path> all = Files.list(Path.of(args[0]))) {
      files = all.sorted().collect(Collectors.toList());
    }
    int read = 0;
    for (Path file : files) {
      try {
        read(file.getFileName().toString(), Files.readString(file));
        read++;
      } catch (Exception e) {
        System.out.println(Files.readString(file));
        System.out.println("--- FAIL: Java can't read " + file.getFileName() + ": " + e);
      }
    }
    if (read == files.size() && read > 0) {
      System.out.println("--- PASS: Java reads all of " + read + " documents");
    }
    System.exit(read == files.size() && read > 0 ? 0 : 1);
  }

  static void read(String name, String json) {
    if (name.endsWith(".view.json")) {
      // It reads representations of types that it doesn't know, but can't write them.
      ViewMetadataParser.fromJson(json).currentVersion();
      return;
    }
    TableMetadata m = TableMetadataParser.fromJson("s3://b/" + name, json);
    m.currentSnapshot();
    TableMetadataParser.fromJson(TableMetadataParser.toJson(m));
  }
}
