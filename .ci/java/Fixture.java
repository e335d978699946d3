package org.apache.iceberg.rest; // for what is private to it

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Iceberg's own REST server of its test fixtures, on loopback alone: Fixture memory|jdbc DIR.
 * It keeps its data in DIR and writes the port that it listens on to DIR/port.
 */
public class Fixture {
  private Fixture() {}

  public static void main(String[] args) throws Exception {
    Path dir = Path.of(args[1]);
    String warehouse = dir.resolve("warehouse").toUri().toString();
    Map<String, String> properties =
        args[0].equals("memory")
            ? Map.of("catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog", "warehouse", warehouse)
            : Map.of(
                "catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog", "warehouse", warehouse,
                "uri", "jdbc:sqlite:" + dir.resolve("catalog.db"), "jdbc.schema-version", "V1", "clients", "1");
    Catalog catalog = CatalogUtil.buildIcebergCatalog("fixture", properties, new Configuration());
    ServletContextHandler handler = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    handler.addServlet(
        new ServletHolder(new RESTCatalogServlet(new RESTServerCatalogAdapter(new RESTCatalogServer.CatalogContext(catalog, properties)))),
        "/*");
    Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(handler);
    server.start();
    Path port = dir.resolve("port.new");
    Files.writeString(port, Integer.toString(((ServerConnector) server.getConnectors()[0]).getLocalPort()));
    Files.move(port, dir.resolve("port"));
    server.join();
  }
}
