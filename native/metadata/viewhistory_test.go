package metadata

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"piedmont/mounts"
)

// sql is a version with a query of its own.
func sql(n int) string { return versionOf(1, 0, query(fmt.Sprint("select ", n), "spark")) }

// replaced replaces a view's version n times, once a commit.
func replaced(t testing.TB, d *ViewDocument, n int) *ViewDocument {
	t.Helper()
	for i := range n {
		d = change(t, d, replaceBy(sql(100+i))...)
	}
	return d
}

func TestAViewKeepsTenVersions(t *testing.T) {
	d := replaced(t, mustParseView(t, viewV1), 9)
	if versionIDs(t, d) != "2 3 4 5 6 7 8 9 10 11" || logIDs(t, d) != "2 3 4 5 6 7 8 9 10 11" {
		t.Error(versionIDs(t, d), logIDs(t, d))
	}
}

func TestTheVersionHistorySizeIsAProperty(t *testing.T) {
	d := replaced(t, change(t, mustParseView(t, viewV1), setProps(versionHistorySize, "3")), 3)
	if versionIDs(t, d) != "3 4 5" || logIDs(t, d) != "3 4 5" {
		t.Error(versionIDs(t, d), logIDs(t, d))
	}
	one := change(t, d, setProps(versionHistorySize, "1"))
	if versionIDs(t, one) != "5" || logIDs(t, one) != "5" {
		t.Error(versionIDs(t, one), logIDs(t, one))
	}
	for value, detail := range map[string]string{
		"0": "version.history.num-entries must be positive but was 0", "-1": "must be positive but was -1",
		"many": "version.history.num-entries must be a number", "": "must be a number", "2147483648": "must be a number",
	} {
		refusedView(t, d, mounts.BadRequest, detail, setProps(versionHistorySize, value))
	}
	// A view that came with such a value can be mended, and only that.
	bad := mustParseView(t, with(t, viewV1, "properties", `{"version.history.num-entries":7}`))
	refusedView(t, bad, mounts.BadRequest, "must be a number", setProps("a", "b"))
	change(t, bad, setProps("version.history.num-entries", "7"))
}

func TestTheCurrentVersionIsNeverExpired(t *testing.T) {
	d := change(t, replaced(t, mustParseView(t, viewV1), 3), setVersion(1))
	d = change(t, d, setProps(versionHistorySize, "2"))
	if versionIDs(t, d) != "1 5" || d.CurrentVersionID() != 1 {
		t.Error(versionIDs(t, d), d.CurrentVersionID())
	}
	// Its last entry is all that follows the gap.
	wantView(t, d, "version-log", `[{"timestamp-ms":3000,"version-id":5},{"timestamp-ms":5000,"version-id":1}]`)
}

func TestVersionsAddedInACommitAreNotExpiredByIt(t *testing.T) {
	all := []string{setProps(versionHistorySize, "2")}
	for i := range 5 {
		all = append(all, addVersion(sql(i)))
	}
	d := change(t, mustParseView(t, viewV1), all...)
	if versionIDs(t, d) != "2 3 4 5 6 7" || logIDs(t, d) != "2" {
		t.Error(versionIDs(t, d), logIDs(t, d))
	}
	d = change(t, mustParseView(t, viewV1), append(all, setVersion(-1))...)
	if versionIDs(t, d) != "3 4 5 6 7" || logIDs(t, d) != "7" {
		t.Error(versionIDs(t, d), logIDs(t, d))
	}
}

func TestARollbackIsLogged(t *testing.T) {
	d := change(t, mustParseView(t, viewV1), setVersion(1))
	wantView(t, d, "version-log", `[{"timestamp-ms":1000,"version-id":1,"x-log":1},{"timestamp-ms":2000,"version-id":2},{"timestamp-ms":5000,"version-id":1}]`)
	wantView(t, d, "versions", viewMember(t, mustParseView(t, viewV1), "versions"))
	// Replacing it by what was there before leads back to that version's id, now.
	back := strings.Replace(versionOf(9, 1, query("select 2", "Spark")), `{"engine-name":"e"}`, `{},"default-catalog":"c"`, 1)
	if again := change(t, d, replaceBy(back)...); again.CurrentVersionID() != 2 || logIDs(t, again) != "1 2 1 2" {
		t.Error(again.CurrentVersionID(), logIDs(t, again))
	}
}

func TestTheLogDropsWhatCameBeforeAGap(t *testing.T) {
	log := `[{"timestamp-ms":1,"version-id":2},{"timestamp-ms":2,"version-id":7},{"timestamp-ms":3,"version-id":2}]`
	d := mustParseView(t, with(t, viewV1, "version-log", log))
	// Without an expiry the log is left as it came, as in Java.
	wantView(t, change(t, d, setProps("a", "b")), "version-log", log)
	wantView(t, change(t, d, setProps(versionHistorySize, "1")), "version-log", `[{"timestamp-ms":3,"version-id":2}]`)
}

func TestTimesInTheVersionLogDontGoBack(t *testing.T) {
	d := mustParseView(t, viewV1)
	for timestamp, want := range map[int64]int64{
		3000: 3000, 100: 2000, -1: 2000, 5000: 5000,
		math.MaxInt64: 5000, // from the future: the time of the commit counts
	} {
		version := strings.Replace(sql(1), "3000", fmt.Sprint(timestamp), 1)
		next := change(t, d, replaceBy(version)...)
		if !strings.HasSuffix(viewMember(t, next, "version-log"), fmt.Sprintf(`{"timestamp-ms":%d,"version-id":3}]`, want)) {
			t.Errorf("%d: %s", timestamp, viewMember(t, next, "version-log"))
		}
		if !strings.Contains(viewMember(t, next, "versions"), fmt.Sprintf(`"timestamp-ms":%d`, timestamp)) {
			t.Error("the version's own time changed")
		}
	}
	ahead := mustParseView(t, with(t, viewV1, "version-log", `[{"timestamp-ms":9000,"version-id":2}]`))
	wantView(t, change(t, ahead, setVersion(1)), "version-log", `[{"timestamp-ms":9000,"version-id":2},{"timestamp-ms":9000,"version-id":1}]`)
}

func TestAVersionThatIsBrokenDoesntBecomeCurrent(t *testing.T) {
	d := mustParseView(t, strings.Replace(viewV1, `"schema-id":0,"summary"`, `"schema-id":9,"summary"`, 1))
	refusedView(t, d, mounts.BadRequest, "versions.schema-id: no such schema", setVersion(1))
	// Nor does one that is current already stand in the way of others.
	broken := mustParseView(t, strings.Replace(viewV1, `"dialect":"Spark"`, `"dialect":7`, 1))
	if next, _, err := broken.Apply(viewUpdates(t, setProps("replace", "d"), setVersion(1)), ViewOptions{Now: at(5000)}); err != nil || next.CurrentVersionID() != 1 {
		t.Error(err)
	}
}
