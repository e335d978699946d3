import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BaseTransaction;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableCommit;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.rest.RESTCatalog;
import org.apache.iceberg.types.Types;

/**
 * Two tables in one transaction of Iceberg's own client, while a competing writer advances
 * one of them: refused, and neither table moves. Conflict URI WAREHOUSE CREDENTIAL
 */
public class Conflict {
  static final Schema SCHEMA = new Schema(Types.NestedField.optional(1, "id", Types.LongType.get()));
  static final TableIdentifier A = TableIdentifier.of("conflict", "a");
  static final TableIdentifier B = TableIdentifier.of("conflict", "b");

  final RESTCatalog writer;
  final RESTCatalog competitor;
  int failed = 0;

  Conflict(Map<String, String> properties) {
    writer = new RESTCatalog();
    writer.initialize("writer", properties);
    competitor = new RESTCatalog();
    competitor.initialize("competitor", properties);
  }

  public static void main(String[] args) throws Exception {
    Conflict c = new Conflict(Map.of("uri", args[0], "warehouse", args[1], "credential", args[2]));
    c.writer.createNamespace(Namespace.of("conflict"));
    c.writer.createTable(A, SCHEMA);
    c.writer.createTable(B, SCHEMA);
    c.run("both tables move", c::bothMove);
    c.run("a competitor advanced the first", () -> c.neitherMoves(A));
    c.run("a competitor advanced the last", () -> c.neitherMoves(B));
    c.run("both tables move again", c::bothMove);
    c.writer.dropTable(A, false);
    c.writer.dropTable(B, false);
    c.writer.dropNamespace(Namespace.of("conflict"));
    c.writer.close();
    c.competitor.close();
    System.exit(c.failed);
  }

  interface Test {
    void run() throws Exception;
  }

  void run(String name, Test test) {
    try {
      test.run();
      System.out.println("--- PASS: transaction: " + name);
    } catch (Throwable e) {
      failed = 1;
      e.printStackTrace(System.out);
      System.out.println("--- FAIL: transaction: " + name);
    }
  }

  void bothMove() {
    String a = location(A);
    String b = location(B);
    int snapshots = snapshots(A) + snapshots(B);
    writer.commitTransaction(List.of(append(A), append(B)));
    check(!a.equals(location(A)) && !b.equals(location(B)), "a table did not move");
    check(snapshots(A) + snapshots(B) == snapshots + 2, "an append is missing");
  }

  void neitherMoves(TableIdentifier contested) {
    List<TableCommit> commits = List.of(append(A), append(B));
    competitor.loadTable(contested).newFastAppend().appendFile(file()).commit();
    String a = location(A);
    String b = location(B);
    int snapshots = snapshots(A) + snapshots(B);
    try {
      writer.commitTransaction(commits);
      throw new AssertionError("the transaction was committed");
    } catch (CommitFailedException e) {
      check(e.getMessage().contains("main"), e.getMessage()); // the branch that has changed
    }
    check(a.equals(location(A)) && b.equals(location(B)), "a table moved");
    check(snapshots(A) + snapshots(B) == snapshots, "an append was committed");
  }

  /** An append that waits for the transaction, from the table as it is now. */
  TableCommit append(TableIdentifier id) {
    Table table = writer.loadTable(id);
    Transaction t = table.newTransaction();
    t.newFastAppend().appendFile(file()).commit();
    return TableCommit.create(
        id, ((BaseTransaction) t).startMetadata(), ((BaseTransaction) t).currentMetadata());
  }

  /** A data file that nobody will read. */
  static DataFile file() {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath("file:/tmp/" + UUID.randomUUID() + ".parquet")
        .withFileSizeInBytes(10)
        .withRecordCount(1)
        .build();
  }

  /** Where the table's metadata lies, as a client that knows nothing sees it. */
  String location(TableIdentifier id) {
    return ((BaseTable) competitor.loadTable(id)).operations().current().metadataFileLocation();
  }

  int snapshots(TableIdentifier id) {
    return ((BaseTable) competitor.loadTable(id)).operations().current().snapshots().size();
  }

  static void check(boolean ok, String message) {
    if (!ok) {
      throw new AssertionError(message);
    }
  }
}
