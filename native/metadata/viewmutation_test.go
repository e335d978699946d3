package metadata

import (
	"strings"
	"sync"
	"testing"

	"piedmont/mounts"
)

func viewClientsFault(t *testing.T, err error, text string) {
	t.Helper()
	if err != nil && !mounts.Is(err, mounts.InvalidArgument) {
		clientsFault(t, err, text)
	}
}

// everyViewUpdate is commits that together have every action.
func everyViewUpdate() [][]string {
	version := strings.Replace(versionOf(3, -1, query("select 3", "spark"), `{"type":"plan","x":[{}]}`), `"summary"`, `"default-catalog":"c","x":1,"summary"`, 1)
	return [][]string{
		append([]string{addSchemaOf(baseID, fieldText("9", "m", `{"type":"list","element-id":12,"element":"decimal(9,2)","element-required":true}`))}, replaceBy(version)...),
		{upgradeTo("1"), setProps("a", "b", versionHistorySize, "1"), `{"action":"remove-properties","removals":["comment"]}`, `{"action":"set-location","location":"s3://x/"}`, `{"action":"assign-uuid","uuid":"` + testUUID + `"}`},
		{setProps(dropDialectAllowed, "true"), setVersion(1)},
	}
}

// TestAnyBrokenViewCommitIsRefusedOrLeavesAValidView breaks each value of each update.
func TestAnyBrokenViewCommitIsRefusedOrLeavesAValidView(t *testing.T) {
	d := mustParseView(t, viewV1)
	for _, list := range everyViewUpdate() {
		mutations(t, `{"requirements":[{"type":"assert-view-uuid","uuid":"`+testUUID+`"}],"updates":[`+strings.Join(list, ",")+`]}`, func(body string) {
			c, err := ParseViewCommit([]byte(body))
			viewClientsFault(t, err, body)
			if err != nil {
				return
			}
			viewClientsFault(t, d.CheckRequirements(c.Requirements), body)
			next, changed, err := d.Apply(c.Updates, ViewOptions{Now: at(5000)})
			viewClientsFault(t, err, body)
			if changed {
				checkView(t, next)
			}
		})
	}
}

// TestAnyBrokenViewIsRefusedOrStaysReadable breaks each value of a view and applies
// every update to it. What Validate accepts must stay valid.
func TestAnyBrokenViewIsRefusedOrStaysReadable(t *testing.T) {
	var commits [][]ViewUpdate
	for _, list := range everyViewUpdate() {
		commits = append(commits, viewUpdates(t, list...))
	}
	mutations(t, viewV1, func(broken string) {
		d, err := ParseView([]byte(broken))
		viewClientsFault(t, err, broken)
		if err != nil {
			return
		}
		err = d.Validate()
		viewClientsFault(t, err, broken)
		for _, u := range commits {
			next, changed, applyErr := d.Apply(u, ViewOptions{Now: at(5000)})
			viewClientsFault(t, applyErr, broken)
			switch {
			case changed && err == nil:
				checkView(t, next)
			case changed:
				if _, err := ParseView(next.Bytes()); err != nil {
					t.Fatalf("own text doesn't parse: %v\n%s", err, next.Bytes())
				}
			}
		}
	})
}

// TestAnyBrokenCreateViewIsRefusedOrMakesAValidView breaks each value of a create.
func TestAnyBrokenCreateViewIsRefusedOrMakesAValidView(t *testing.T) {
	mutations(t, javaCreateView, func(body string) {
		c, err := ParseCreateView([]byte(body))
		viewClientsFault(t, err, body)
		if err != nil {
			return
		}
		d, err := NewView(c, viewOptions())
		viewClientsFault(t, err, body)
		if err == nil {
			checkView(t, d)
		}
	})
}

func TestAViewAndACommitCanBeShared(t *testing.T) {
	d := mustParseView(t, viewV1)
	u := viewUpdates(t, everyViewUpdate()[0]...)
	var all sync.WaitGroup
	results := make([]string, 8)
	for i := range results {
		all.Go(func() {
			next, _, err := d.Apply(u, ViewOptions{Now: at(5000)})
			if err == nil {
				results[i] = string(next.Bytes())
			}
		})
	}
	all.Wait()
	for _, r := range results {
		if r == "" || r != results[0] {
			t.Fatal("goroutines that share a view come to different results")
		}
	}
}
