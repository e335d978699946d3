package glue

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
)

// asks are all questions that a source has.
func asks(t *testing.T, s *Source) map[string]error {
	t.Helper()
	errs := map[string]error{"Health": s.Health(t.Context())}
	_, _, errs["Databases"] = s.Databases(t.Context(), "", 0)
	_, errs["Database"] = s.Database(t.Context(), "db")
	_, _, errs["Objects"] = s.Objects(t.Context(), "db", metastore.Table, "", 0)
	_, errs["Object"] = s.Object(t.Context(), "db", "t")
	return errs
}

// withTable is a fake with the table db.t.
func withTable(t *testing.T) *fake {
	f := newFake(t)
	f.database("db", nil).iceberg("t", "s3://b/m")
	return f
}

// What Glue refuses, by all its codes, at any status: never an absence.
func TestRefusals(t *testing.T) {
	const lakeFormation = "Insufficient Lake Formation permission(s): Required Describe on t at 10.0.0.7"
	throttled := func(code string, status int) refusalCase {
		return refusalCase{status, code, "Rate exceeded", mounts.Unavailable, "takes no more requests right now", time.Second}
	}
	for _, c := range []refusalCase{
		throttled("ThrottlingException", 400), throttled("ThrottlingException", 429), throttled("Throttling", 503),
		throttled("RequestLimitExceeded", 400), throttled("ProvisionedThroughputExceededException", 400), throttled("TooManyRequestsException", 429),
		throttled("ConcurrentRunsExceededException", 400), throttled("SlowDown", 503), throttled("com.amazonaws.glue#ThrottlingException", 400),
		throttled("SomethingNew", 400),
		{429, "SomethingNew", "m", mounts.Unavailable, "takes no more requests right now", time.Second},
		{400, "AccessDeniedException", "User: arn:aws:iam::1:user/x is not authorized to perform", mounts.Forbidden, "does not let the mount's credential", 0},
		{403, "AccessDeniedException", "m", mounts.Forbidden, "does not let the mount's credential", 0},
		{400, "AccessDeniedException", lakeFormation, mounts.Forbidden, "does not let the mount's credential", 0},
		{400, "ExpiredTokenException", "m", mounts.Unavailable, "does not accept the mount's credential", 0},
		{403, "ExpiredToken", "m", mounts.Unavailable, "does not accept the mount's credential", 0},
		{400, "UnrecognizedClientException", "m", mounts.Unavailable, "does not accept the mount's credential", 0},
		{403, "InvalidSignatureException", "m", mounts.Unavailable, "does not accept the mount's credential", 0},
		{403, "IncompleteSignatureException", "m", mounts.Unavailable, "does not accept the mount's credential", 0},
		{400, "MissingAuthenticationTokenException", "m", mounts.Unavailable, "does not accept the mount's credential", 0},
		{403, "SomethingNew", "m", mounts.Unavailable, "does not accept the mount's credential", 0},
		{400, "InvalidInputException", "m", mounts.BadRequest, "does not accept the name or the page token", 0},
		{400, "ValidationException", "m", mounts.BadRequest, "does not accept the name or the page token", 0},
		{400, "OperationTimeoutException", "m", mounts.Timeout, "did not answer in time", 0},
		{500, "InternalServiceException", "m", mounts.Unavailable, "failed", 0},
		{400, "InternalServiceException", "m", mounts.Unavailable, "failed", 0},
		{503, "ServiceUnavailableException", "m", mounts.Unavailable, "failed", 0},
		{400, "ResourceNotReadyException", "m", mounts.Unavailable, "failed", 0},
		{500, "EntityNotFoundException", "m", mounts.Unavailable, "failed", 0},
		{302, "EntityNotFoundException", "m", mounts.BadGateway, "answered with a redirect", 0},
		{400, "FederationSourceException", "m", mounts.Unavailable, "from another source, which failed", 0},
		{400, "FederationSourceRetryableException", "m", mounts.Unavailable, "from another source, which failed", 0},
		{400, "GlueEncryptionException", "m", mounts.Unavailable, "can't decrypt its entries", 0},
		{400, "UnknownOperationException", "m", mounts.BadGateway, "an answer that Glue does not give", 0},
		{404, "SomethingNew", "m", mounts.BadGateway, "an answer that Glue does not give", 0},
	} {
		f := withTable(t)
		s := f.source(t, func(o *Options) { o.CatalogID = account })
		f.setSpoil(func(_ string, _ request, w http.ResponseWriter) bool {
			w.Header().Set("Location", "http://10.0.0.7/")
			refuse(w, c.status, c.code, c.message)
			return true
		})
		for name, err := range asks(t, s) {
			e := requireKind(t, err, c.kind, c.text)
			require.Equal(t, c.retryAfter, e.RetryAfter, "%s of %v", name, c)
			require.Contains(t, e.Message(), "The catalog behind mount 'aws'")
		}
	}
}

type refusalCase struct {
	status        int
	code, message string
	kind          mounts.Kind
	text          string
	retryAfter    time.Duration
}

func TestRefusalNamesWhoAndWhat(t *testing.T) {
	f := withTable(t)
	s := f.source(t)
	message := ""
	f.setSpoil(func(_ string, _ request, w http.ResponseWriter) bool {
		refuse(w, 400, "AccessDeniedException", message)
		return true
	})
	for said, want := range map[string]string{
		"Insufficient Lake Formation permission(s) on t": "is governed by Lake Formation, which does not let the mount's credential read db.t, or has nothing of that name",
		"User: x is not authorized":                      "does not let the mount's credential read db.t, or has nothing of that name",
	} {
		message = said
		_, err := s.Object(t.Context(), "db", "t")
		requireKind(t, err, mounts.Forbidden, want)
		_, _, err = s.Databases(t.Context(), "", 0)
		requireKind(t, err, mounts.Forbidden, "list its databases")
	}
}

// Every failure of a mount names what was asked for, once; what isn't about an object names none.
func TestFailuresNameTheObject(t *testing.T) {
	f := withTable(t)
	_, set := storage(t)
	c, err := metastore.New(metastore.Options{
		Name: "aws", Kind: "glue", Source: f.source(t), Storage: set, Documents: vend.NewDocuments(64 << 20), Now: time.Now,
		Guard: guard.Options{Failures: 1000},
	})
	require.NoError(t, err)
	db := mounts.Namespace{"db"}
	for code, texts := range map[string]struct{ about, alone string }{
		"InternalServiceException":  {"failed (asked for %s)", "failed"},
		"UnknownOperationException": {notGlue + " (asked for %s)", notGlue},
		"FederationSourceException": {"federates %s from another source, which failed", "federates from another source, which failed"},
	} {
		f.setSpoil(func(_ string, _ request, w http.ResponseWriter) bool {
			refuse(w, 400, code, "m")
			return true
		})
		errs := map[string]error{"": c.Health(t.Context()), "db.t": c.TableExists(t.Context(), mounttest.Caller, db.Table("t"))}
		_, errs["db"] = c.LoadNamespace(t.Context(), mounttest.Caller, db)
		for object, err := range errs {
			want := texts.alone
			if object != "" {
				want = fmt.Sprintf(texts.about, object)
			}
			var e *mounts.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "The catalog behind mount 'aws' "+want, e.Message(), "%s of %s", code, object)
		}
	}
}

func TestRetryAfterHeader(t *testing.T) {
	f := withTable(t)
	s := f.source(t)
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "0": time.Second, "soon": time.Second, "-1": time.Second} {
		f.setSpoil(func(_ string, _ request, w http.ResponseWriter) bool {
			w.Header().Set("Retry-After", header)
			refuse(w, 429, "ThrottlingException", "Rate exceeded")
			return true
		})
		_, err := s.Object(t.Context(), "db", "t")
		require.Equal(t, want, requireKind(t, err, mounts.Unavailable, "").RetryAfter, header)
	}
}

// A database that GetTables doesn't know and GetDatabase does isn't empty.
func TestContradiction(t *testing.T) {
	f := withTable(t)
	f.setSpoil(func(method string, _ request, w http.ResponseWriter) bool {
		if method == "GetTables" {
			notFound(w, "Database", "db")
		}
		return method == "GetTables"
	})
	_, _, err := f.source(t).Objects(t.Context(), "db", metastore.Table, "", 0)
	requireKind(t, err, mounts.Unavailable, "has db, but not its tables")
}
