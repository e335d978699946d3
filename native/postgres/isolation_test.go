//go:build e2e

package postgres

import (
	"errors"
	"testing"

	"piedmont/native"
	"piedmont/native/registrytest"
)

// undoSQL makes the server undo transactions as if others were in the way: at the
// receipt, at an update or deletion, and when a commit is all but done.
const undoSQL = `
CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF random() < 0.12 THEN
		IF random() < 0.5 THEN
			RAISE EXCEPTION 'injected' USING ERRCODE = '40001';
		END IF;
		RAISE EXCEPTION 'injected' USING ERRCODE = '40P01';
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER undo AFTER INSERT ON piedmont_receipts FOR EACH STATEMENT EXECUTE FUNCTION undo();
CREATE TRIGGER undo AFTER UPDATE OR DELETE ON piedmont_records FOR EACH ROW EXECUTE FUNCTION undo();
CREATE CONSTRAINT TRIGGER undo_late AFTER INSERT ON piedmont_receipts DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION undo();`

const beginSerializable = "BEGIN ISOLATION LEVEL SERIALIZABLE"

// TestRegistryUndone runs the suite while the server undoes many of its transactions.
func TestRegistryUndone(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) native.Registry {
		url := newSchema(t)
		r := openTest(t, url)
		execute(t, url, undoSQL)
		return r
	})
}

// TestRegistrySerializable runs the suite with all transactions serializable, as some
// engines make them, and many undone.
func TestRegistrySerializable(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) native.Registry {
		url := withOption(t, newSchema(t), "default_transaction_isolation", "serializable")
		r, err := open(t.Context(), url, Options{}, beginSerializable)
		if err != nil {
			t.Fatal(err)
		}
		execute(t, url, undoSQL)
		return r
	})
}

// TestRegistryExecModes runs the suite without prepared statements, as poolers that
// share connections between transactions need it.
func TestRegistryExecModes(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			registrytest.Run(t, func(t *testing.T) native.Registry {
				return openTest(t, withOption(t, newSchema(t), "default_query_exec_mode", mode))
			})
		})
	}
}

// TestConflictDescribed finds what a conflict is about where the driver asks the server
// about a statement the first time: not in a transaction that failed.
func TestConflictDescribed(t *testing.T) {
	r := openTest(t, withOption(t, newSchema(t), "default_query_exec_mode", "cache_describe"))
	for range 3 {
		var conflict *native.ConflictError
		err := r.Commit(t.Context(), []native.Condition{{Kind: native.Exists, Key: "a"}}, []native.Change{put("b", "")})
		if !errors.As(err, &conflict) || len(conflict.Failures) != 1 {
			t.Fatalf("error is %v, want a conflict", err)
		}
	}
}
