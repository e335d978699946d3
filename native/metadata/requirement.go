package metadata

import "strings"

// Requirement is one thing that must hold of a table for a commit to be applied.
type Requirement interface {
	// check is nil, or the CommitFailed *mounts.Error that clients expect.
	check(d *Document) error
}

type (
	assertCreate        struct{}
	assertTableUUID     struct{ uuid string }
	assertRefSnapshotID struct {
		ref  string
		id   int64
		none bool // the ref must not exist
	}
	// assertNumber is the five requirements that compare one number.
	assertNumber struct {
		what string // as Java's message has it
		want int
		have func(*Document) int
	}
)

// requirement decodes one requirement of a table, by the names of the REST spec's
// TableRequirement.
func (r *reader) requirement(o *object) Requirement {
	number := func(what, key string, have func(*Document) int) Requirement {
		return assertNumber{what, o.int(key), have}
	}
	switch o.str("type") {
	case "assert-create":
		return assertCreate{}
	case "assert-table-uuid":
		return assertTableUUID{o.str("uuid")}
	case "assert-ref-snapshot-id":
		// The spec asks for a null where the ref must not exist; older PyIceberg leaves
		// the member out.
		id, ok := o.optLong("snapshot-id")
		return assertRefSnapshotID{o.str("ref"), id, !ok}
	case "assert-last-assigned-field-id":
		return number("last assigned field id", "last-assigned-field-id", func(d *Document) int { return d.lastColumn })
	case "assert-current-schema-id":
		return number("current schema", "current-schema-id", func(d *Document) int { return d.currentSchema })
	case "assert-last-assigned-partition-id":
		return number("last assigned partition id", "last-assigned-partition-id", func(d *Document) int { return d.lastPartition })
	case "assert-default-spec-id":
		return number("default partition spec", "default-spec-id", func(d *Document) int { return d.defaultSpec })
	case "assert-default-sort-order-id":
		return number("default sort order", "default-sort-order-id", func(d *Document) int { return d.defaultOrder })
	}
	r.fail(o.at("type"), "unknown requirement type")
	return nil
}

// CheckRequirements holds d against a commit's requirements, in their order. The error
// is a CommitFailed *mounts.Error for the first that doesn't hold, in the words of
// Java's UpdateRequirement, which clients match; assert-create never holds of a table
// that is there.
func (d *Document) CheckRequirements(requirements []Requirement) error {
	for _, q := range requirements {
		if err := q.check(d); err != nil {
			return err
		}
	}
	return nil
}

func failed(what string) error { return commitFailed("Requirement failed: " + what) }

func (assertCreate) check(*Document) error { return failed("table already exists") }

func (q assertTableUUID) check(d *Document) error {
	if strings.EqualFold(q.uuid, d.uuid) {
		return nil
	}
	return failed("UUID does not match: expected " + d.uuid + " != " + q.uuid)
}

func (q assertRefSnapshotID) check(d *Document) error {
	have, ok := d.ref(q.ref)
	kind := "branch"
	if have.tag {
		kind = "tag"
	}
	switch {
	case ok && q.none:
		return failed(kind + " " + q.ref + " was created concurrently")
	case ok && have.id != q.id:
		return failed(kind + " " + q.ref + " has changed: expected id " + ltoa(q.id) + " != " + ltoa(have.id))
	case !ok && !q.none:
		return failed("branch or tag " + q.ref + " is missing, expected " + ltoa(q.id))
	}
	return nil
}

func (q assertNumber) check(d *Document) error {
	if have := q.have(d); have != q.want {
		return failed(q.what + " changed: expected id " + itoa(q.want) + " != " + itoa(have))
	}
	return nil
}
