import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HMSHandler;
import org.apache.hadoop.hive.metastore.TransactionalMetaStoreEventListener;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.NotificationEvent;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.metastore.events.AlterTableEvent;
import org.apache.hadoop.hive.metastore.events.CreateDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.CreateTableEvent;
import org.apache.hadoop.hive.metastore.events.DropDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.DropTableEvent;
import org.apache.hadoop.hive.metastore.messaging.EventMessage;
import org.apache.hadoop.hive.metastore.messaging.MessageBuilder;
import org.apache.hadoop.hive.metastore.messaging.MessageEncoder;
import org.apache.hadoop.hive.metastore.messaging.MessageFactory;

/**
 * Logs what changes as notification events, which a Hive 4 Metastore does by a listener that
 * no repository has for its version. Messages and table are the metastore's own.
 */
public class EventLog extends TransactionalMetaStoreEventListener {
  private final MessageBuilder messages = MessageBuilder.getInstance();

  public EventLog(Configuration configuration) {
    super(configuration);
  }

  private void log(String catalog, String database, String table, String type, EventMessage message) throws MetaException {
    MessageEncoder encoder = MessageFactory.getDefaultInstance(getConf());
    NotificationEvent event = new NotificationEvent(0, (int) (System.currentTimeMillis() / 1000), type, encoder.getSerializer().serialize(message));
    event.setCatName(catalog);
    event.setDbName(database);
    if (table != null) {
      event.setTableName(table);
    }
    event.setMessageFormat(encoder.getMessageFormat());
    HMSHandler.getMSForConf(getConf()).addNotificationEvent(event);
  }

  private void log(Table t, String type, EventMessage message) throws MetaException {
    log(t.getCatName(), t.getDbName(), t.getTableName(), type, message);
  }

  private void log(Database d, String type, EventMessage message) throws MetaException {
    log(d.getCatalogName(), d.getName(), null, type, message);
  }

  @Override
  public void onCreateTable(CreateTableEvent e) throws MetaException {
    log(e.getTable(), "CREATE_TABLE", messages.buildCreateTableMessage(e.getTable(), Collections.<String>emptyIterator()));
  }

  @Override
  public void onAlterTable(AlterTableEvent e) throws MetaException {
    log(e.getNewTable(), "ALTER_TABLE", messages.buildAlterTableMessage(e.getOldTable(), e.getNewTable(), e.getIsTruncateOp(), e.getWriteId()));
  }

  @Override
  public void onDropTable(DropTableEvent e) throws MetaException {
    log(e.getTable(), "DROP_TABLE", messages.buildDropTableMessage(e.getTable()));
  }

  @Override
  public void onCreateDatabase(CreateDatabaseEvent e) throws MetaException {
    log(e.getDatabase(), "CREATE_DATABASE", messages.buildCreateDatabaseMessage(e.getDatabase()));
  }

  @Override
  public void onDropDatabase(DropDatabaseEvent e) throws MetaException {
    log(e.getDatabase(), "DROP_DATABASE", messages.buildDropDatabaseMessage(e.getDatabase()));
  }
}
