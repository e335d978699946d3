package glue

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	account = "111122223333"
	partner = "444455556666"
	keyID   = "AKIDEXAMPLE"
	secret  = "wJalrXUtnFEMI-never-shown"
)

// fake is a strict Glue, and an STS. What it is asked wrongly fails the test.
type fake struct {
	t   *testing.T
	url string

	mu        sync.Mutex
	databases map[string]*fakeDatabase // by catalog and name
	follows   bool                     // it follows resource links, as Glue does
	calls     []string
	times     []time.Time
	spoil     func(method string, in request, w http.ResponseWriter) bool // true where it answered
	roles     []url.Values                                                // that were assumed
}

type fakeDatabase struct {
	entry  map[string]any
	tables map[string]map[string]any
	denied string // what Glue says of it and its tables
}

// request is what the four calls have, and nothing else.
type request struct {
	CatalogId, DatabaseName, Name, NextToken string
	MaxResults                               *int
	AttributesToGet                          []string
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, databases: map[string]*fakeDatabase{}, follows: true}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// database makes one in the account's own catalog.
func (f *fake) database(name string, parameters map[string]string) *fakeDatabase {
	return f.databaseIn(account, name, map[string]any{"Parameters": parameters})
}

func (f *fake) databaseIn(catalog, name string, entry map[string]any) *fakeDatabase {
	entry["Name"], entry["CatalogId"], entry["CreateTime"] = strings.ToLower(name), catalog, 1.7e9
	d := &fakeDatabase{entry: entry, tables: map[string]map[string]any{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.databases[catalog+"/"+strings.ToLower(name)] = d
	return d
}

// link is a database that is a resource link.
func (f *fake) link(name, catalog, database, region string) {
	f.databaseIn(account, name, map[string]any{"TargetDatabase": target(catalog, database, "", region)})
}

func target(catalog, database, table, region string) map[string]any {
	to := map[string]any{"CatalogId": catalog, "DatabaseName": database}
	if table != "" {
		to["Name"] = table
	}
	if region != "" {
		to["Region"] = region
	}
	return to
}

// table makes one with those parameters; columns fill it up.
func (d *fakeDatabase) table(name, of string, parameters map[string]string) map[string]any {
	t := map[string]any{
		"Name": strings.ToLower(name), "DatabaseName": d.entry["Name"], "CatalogId": d.entry["CatalogId"], "TableType": of, "Parameters": parameters,
		"CreateTime": 1.7e9, "UpdateTime": 1.75e9, "VersionId": "7", "Owner": "someone", "IsRegisteredWithLakeFormation": false,
		"StorageDescriptor": map[string]any{"Location": "s3://lake/" + name, "Columns": []any{map[string]any{"Name": "id", "Type": "bigint"}}, "Compressed": false},
	}
	d.tables[strings.ToLower(name)] = t
	return t
}

// iceberg makes an Iceberg table.
func (d *fakeDatabase) iceberg(name, metadata string) map[string]any {
	return d.table(name, "EXTERNAL_TABLE", map[string]string{"table_type": "ICEBERG", "metadata_location": metadata, "previous_metadata_location": "s3://lake/before"})
}

// tableLink is a table that is a resource link.
func (d *fakeDatabase) tableLink(name, catalog, database, table, region string) {
	d.tables[name] = map[string]any{
		"Name": name, "DatabaseName": d.entry["Name"], "CatalogId": d.entry["CatalogId"], "CreateTime": 1.7e9, "TargetTable": target(catalog, database, table, region),
	}
}

func (f *fake) setSpoil(spoil func(method string, in request, w http.ResponseWriter) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spoil = spoil
}

// took gives the calls since it was asked last.
func (f *fake) took() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([A-Z0-9]+)/\d{8}/eu-west-1/(glue|sts)/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=[0-9a-f]{64}$`)

// signed checks the shape of a signature and that it covers what it must.
func (f *fake) signed(r *http.Request, service string, headers ...string) (key string) {
	parts := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if len(parts) == 0 || parts[2] != service {
		f.t.Errorf("not signed for %s: %q", service, r.Header.Get("Authorization"))
		return ""
	}
	signed := strings.Split(parts[3], ";")
	for _, h := range append(headers, "host", "x-amz-date") {
		if !slices.Contains(signed, h) {
			f.t.Errorf("%s isn't signed: %v", h, signed)
		}
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > time.Minute {
		f.t.Errorf("signed at %q", r.Header.Get("X-Amz-Date"))
	}
	return parts[1]
}

// ServeHTTP is JSON 1.1, or the query protocol for STS.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // somebody else on this machine tries ports
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/" || r.URL.RawQuery != "" {
		f.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		return
	}
	method, isGlue := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "AWSGlue.")
	if !isGlue {
		f.sts(w, r, body)
		return
	}
	key := f.signed(r, "glue", "x-amz-target", "content-type")
	if got := r.Header.Get("Content-Type"); got != "application/x-amz-json-1.1" {
		f.t.Errorf("Content-Type %q", got)
	}
	if got := r.Header.Get("Accept-Encoding"); strings.Contains(got, "gzip") {
		f.t.Errorf("Accept-Encoding %q", got)
	}
	var in request
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		f.t.Errorf("%s: %v in %s", method, err, body)
	}
	f.mu.Lock()
	f.calls = append(f.calls, method)
	f.times = append(f.times, time.Now())
	spoil := f.spoil
	f.mu.Unlock()
	switch {
	case spoil != nil && spoil(method, in, w):
	case key == "ASIAASSUMED" && r.Header.Get("X-Amz-Security-Token") == "session", key == keyID && r.Header.Get("X-Amz-Security-Token") == "":
		f.answer(w, method, in)
	default:
		refuse(w, 400, "UnrecognizedClientException", "The security token included in the request is invalid.")
	}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "Message": message})
}

func notFound(w http.ResponseWriter, what, name string) {
	refuse(w, 400, "EntityNotFoundException", what+" "+name+" not found at 10.0.0.7")
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_ = json.NewEncoder(w).Encode(value)
}

func (f *fake) answer(w http.ResponseWriter, method string, in request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in.CatalogId == "" {
		in.CatalogId = account
	}
	for _, name := range []string{in.DatabaseName, in.Name} {
		if len(name) > 255 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			refuse(w, 400, "InvalidInputException", "1 validation error detected: "+name)
			return
		}
	}
	if n := in.MaxResults; n != nil && (*n < 1 || *n > 100) {
		f.t.Errorf("%d results", *n)
	}
	switch method {
	case "GetDatabases":
		f.getDatabases(w, in)
	case "GetDatabase":
		f.getDatabase(w, in)
	case "GetTables":
		f.getTables(w, in)
	case "GetTable":
		f.getTable(w, in)
	default:
		f.t.Errorf("asked for %s", method)
	}
}

func (f *fake) getDatabases(w http.ResponseWriter, in request) {
	var names []string
	for _, d := range f.databases {
		if d.entry["CatalogId"] == in.CatalogId && d.denied == "" {
			names = append(names, d.entry["Name"].(string))
		}
	}
	if len(names) == 0 && in.CatalogId != account {
		notFound(w, "Catalog", in.CatalogId)
		return
	}
	page(w, "DatabaseList", names, in, func(name string) any {
		if slices.Equal(in.AttributesToGet, []string{"NAME"}) {
			return map[string]any{"Name": name}
		}
		return f.databases[in.CatalogId+"/"+name].entry
	})
}

// page answers with a page; its token says of what list it is and where it goes on.
func page(w http.ResponseWriter, member string, names []string, in request, entry func(string) any) {
	slices.Sort(names)
	size, from := 100, 0
	if in.MaxResults != nil {
		size = *in.MaxResults
	}
	list := member + in.CatalogId + in.DatabaseName
	if in.NextToken != "" {
		raw, err := base64.StdEncoding.DecodeString(in.NextToken)
		at, sum, _ := bytes.Cut(raw, []byte{':'})
		if err == nil {
			from, err = strconv.Atoi(string(at))
		}
		if err != nil || !bytes.Equal(sum, seal(at, list)) {
			refuse(w, 400, "InvalidInputException", "Invalid token "+in.NextToken)
			return
		}
	}
	until := min(from+size, len(names))
	entries := []any{}
	for _, name := range names[min(from, until):until] {
		entries = append(entries, entry(name))
	}
	out := map[string]any{member: entries}
	if until < len(names) {
		at := []byte(strconv.Itoa(until))
		out["NextToken"] = base64.StdEncoding.EncodeToString(append(append(at, ':'), seal(at, list)...))
	}
	answer(w, out)
}

func seal(at []byte, list string) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s of %s", at, list))
	return sum[:]
}

// resolve finds a database, following links where the fake does, and answers where there is none.
func (f *fake) resolve(w http.ResponseWriter, catalog, name string) *fakeDatabase {
	d := f.databases[catalog+"/"+strings.ToLower(name)]
	if d != nil && d.entry["TargetDatabase"] != nil && f.follows {
		to := d.entry["TargetDatabase"].(map[string]any)
		if t := f.databases[fmt.Sprintf("%s/%s", to["CatalogId"], to["DatabaseName"])]; t != nil && t.denied == "" {
			return t
		}
	}
	switch {
	case d == nil:
		notFound(w, "Database", name)
		return nil
	case d.denied != "":
		refuse(w, 400, "AccessDeniedException", d.denied)
		return nil
	}
	return d
}

func (f *fake) getDatabase(w http.ResponseWriter, in request) {
	if d := f.resolve(w, in.CatalogId, in.Name); d != nil {
		entry := map[string]any{}
		for key, value := range d.entry {
			entry[key] = value
		}
		if link := f.databases[in.CatalogId+"/"+strings.ToLower(in.Name)]; link != d {
			entry["Name"], entry["TargetDatabase"] = link.entry["Name"], link.entry["TargetDatabase"]
		}
		answer(w, map[string]any{"Database": entry})
	}
}

func (f *fake) getTables(w http.ResponseWriter, in request) {
	d := f.resolve(w, in.CatalogId, in.DatabaseName)
	if d == nil {
		return
	}
	var names []string
	for name := range d.tables {
		names = append(names, name)
	}
	page(w, "TableList", names, in, func(name string) any { return f.shown(d.tables[name]) })
}

// shown is a table, or what a link shows of its target.
func (f *fake) shown(t map[string]any) map[string]any {
	to, ok := t["TargetTable"].(map[string]any)
	if !ok || !f.follows {
		return t
	}
	d := f.databases[fmt.Sprintf("%s/%s", to["CatalogId"], to["DatabaseName"])]
	if d == nil || d.denied != "" || d.tables[fmt.Sprint(to["Name"])] == nil {
		return t
	}
	merged := map[string]any{}
	for key, value := range d.tables[fmt.Sprint(to["Name"])] {
		merged[key] = value
	}
	for key, value := range t {
		merged[key] = value
	}
	return merged
}

func (f *fake) getTable(w http.ResponseWriter, in request) {
	d := f.resolve(w, in.CatalogId, in.DatabaseName)
	if d == nil {
		return
	}
	t := d.tables[strings.ToLower(in.Name)]
	if t == nil {
		notFound(w, "Table", in.Name)
		return
	}
	answer(w, map[string]any{"Table": f.shown(t)})
}

func (f *fake) sts(w http.ResponseWriter, r *http.Request, body []byte) {
	key := f.signed(r, "sts")
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("Action") != "AssumeRole" {
		f.t.Errorf("STS was asked for %s", body)
	}
	f.mu.Lock()
	f.roles = append(f.roles, form)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/xml")
	if key != keyID || form.Get("ExternalId") != "ticket:7" {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User 10.0.0.7 may not</Message></Error></ErrorResponse>`)
		return
	}
	_, _ = fmt.Fprintf(w, `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIAASSUMED</AccessKeyId>`+
		`<SecretAccessKey>other</SecretAccessKey><SessionToken>session</SessionToken><Expiration>%s</Expiration></Credentials>`+
		`<AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser></AssumeRoleResult></AssumeRoleResponse>`,
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// source is one over the fake that may ask as often as it likes.
func (f *fake) source(t *testing.T, set ...func(*Options)) *Source {
	t.Helper()
	o := Options{Name: "aws", Region: "eu-west-1", Endpoint: f.url, AccessKeyID: keyID, SecretAccessKey: secret, CallsPerSecond: 100_000}
	for _, f := range set {
		f(&o)
	}
	s, err := NewSource(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
