package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"piedmont/native"
)

func tablesCommand() *cobra.Command {
	tables := &cobra.Command{Use: "tables", Short: "Look after dropped tables", Args: cobra.NoArgs, RunE: help}
	tables.AddCommand(droppedCommand(), restoreTableCommand())
	return tables
}

const nameHelp = "Names are paths of the whole tree, levels joined by dots; a dot inside a level is written %2E,\n" +
	"a percent sign %25, and other bytes may be written so too."

func droppedCommand() *cobra.Command {
	var flags serveFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "dropped [NAME]",
		Short: "List dropped tables, all or those of a table's or a namespace's name",
		Long: "List dropped tables of native mounts: those that can be restored and until when, and what\n" +
			"became of the files of those that were purged. It asks the running server, or opens the\n" +
			"registry itself.\n\n" + nameHelp,
		Example: "  piedmont tables dropped --config piedmont.yaml\n  piedmont tables dropped sales.orders --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withControl(cmd, flags, func(client *controlClient) error {
				return listDropped(cmd.Context(), cmd.OutOrStdout(), client, printableName(strings.Join(args, "")), asJSON)
			})
		},
	}
	flags.addRegistry(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line, with the tables' uuids and locations")
	return cmd
}

func restoreTableCommand() *cobra.Command {
	var flags serveFlags
	var order restoreOrder
	cmd := &cobra.Command{
		Use:   "restore NAME",
		Short: "Bring back a dropped table",
		Long: "Bring back a dropped table as it was when it was dropped: the one dropped last under the\n" +
			"name, or the one of an ID that tables dropped shows.\n\n" + nameHelp,
		Example: "  piedmont tables restore sales.orders --config piedmont.yaml\n" +
			"  piedmont tables restore sales.orders --as sales.orders_before",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one table to restore, like sales.orders")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			order.Name = args[0]
			if order.As == "" {
				order.As = order.Name
			}
			return withControl(cmd, flags, func(client *controlClient) error {
				return restoreTable(cmd.Context(), cmd.OutOrStdout(), client, order)
			})
		},
	}
	flags.addRegistry(cmd)
	cmd.Flags().StringVar(&order.As, "as", "", "the name it gets (default: the one it had)")
	cmd.Flags().StringVar(&order.ID, "id", "", "which one, of several dropped under the name")
	return cmd
}

// withControl runs a command against whoever has the registry.
func withControl(cmd *cobra.Command, flags serveFlags, f func(*controlClient) error) error {
	c, _, err := flags.load()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError}))
	client, err := openControl(cmd.Context(), c, log)
	if err != nil {
		return err
	}
	return errors.Join(f(client), client.close())
}

func listDropped(ctx context.Context, w io.Writer, client *controlClient, below string, asJSON bool) (err error) {
	answer, err := client.do(ctx, http.MethodGet, droppedPath, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	found := 0
	for lines := json.NewDecoder(answer.Body); ; {
		var d droppedLine
		if err := lines.Decode(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return errors.Join(fmt.Errorf("read the list: %w", err), failure(answer))
		}
		d.Name = printableName(d.Name)
		if below != "" && d.Name != below && !strings.HasPrefix(d.Name, below+".") {
			continue
		}
		if err := printDropped(w, table, found, d, asJSON); err != nil {
			return err
		}
		found++
	}
	if err := failure(answer); err != nil {
		return err
	}
	if found == 0 && !asJSON {
		_, err = fmt.Fprintln(w, "no dropped tables")
		return err
	}
	return table.Flush()
}

func printDropped(w io.Writer, table *tabwriter.Writer, number int, d droppedLine, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(d)
	}
	if number == 0 {
		_, _ = fmt.Fprintln(table, "NAME\tDROPPED\tBY\tSTATE\tID") // Flush has the error
	}
	_, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", d.Name, moment(d.DroppedAt), printable(d.DroppedBy),
		printable(describeDropped(d.Dropped, time.Now())), printable(d.ID))
	return err
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "?"
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// describeDropped says what became of a dropped table and what will.
func describeDropped(d native.Dropped, now time.Time) string {
	switch {
	case d.State == native.Damaged:
		return "its record in the registry is damaged"
	case d.State == native.Restorable && !d.RestorableUntil.After(now) && d.Purge && d.Keeps == "":
		return "no longer restorable, waits to be purged"
	case d.State == native.Restorable && !d.RestorableUntil.After(now):
		return "no longer restorable"
	case d.State == native.Restorable && d.Purge && d.Keeps != "":
		return "restorable until " + moment(d.RestorableUntil) + ", then kept (" + d.Keeps + ")"
	case d.State == native.Restorable && d.Purge:
		return "restorable until " + moment(d.RestorableUntil) + ", then purged"
	case d.State == native.Restorable:
		return "restorable until " + moment(d.RestorableUntil)
	case d.Report == nil:
		return "files are being removed"
	}
	text := fmt.Sprintf("%s, files removed: %d", d.State, d.Report.Removed)
	if d.Report.Outside > 0 {
		text += fmt.Sprintf(", outside its location: %d", d.Report.Outside)
	}
	if n := d.Report.Unread; n > 0 {
		text += fmt.Sprintf(", unreadable manifests: %d", n)
	}
	if d.Report.Reason != "" {
		text += " (" + d.Report.Reason + ")"
	}
	return text
}

func restoreTable(ctx context.Context, w io.Writer, client *controlClient, order restoreOrder) error {
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	answer, err := client.do(ctx, http.MethodPost, restorePath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	var restored native.Dropped
	if err := errors.Join(json.NewDecoder(answer.Body).Decode(&restored), answer.Body.Close()); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	_, err = fmt.Fprintf(w, "restored %s at %s\n", printableName(order.As), printable(restored.MetadataLocation))
	return err
}
