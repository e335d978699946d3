package glue

import (
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

const (
	// defaultCallsPerSecond is low on purpose: AWS doesn't publish Glue's quotas, which are
	// the account's in a Region and so shared with Athena, EMR, crawlers and everybody else.
	defaultCallsPerSecond = 20
	defaultSessionName    = "piedmont"
)

// Options are what a Source needs. Region is required.
type Options struct {
	// Name is the mount point's path as messages show it; empty for the root.
	Name string
	// Region is the Data Catalog's, like eu-west-1.
	Region string
	// CatalogID is the account that the Data Catalog is of, or "account:catalog/child" for a
	// catalog inside; empty for the credential's own account.
	CatalogID string
	// Endpoint is Glue's URL; empty for AWS's in the Region. STSEndpoint is the same for STS,
	// which is only asked where RoleARN is set. They hold no user and no query.
	Endpoint, STSEndpoint string

	// AccessKeyID and SecretAccessKey are static credentials. Without them the process's own
	// are used: environment, shared files, web identity, container or instance role. Only
	// credentials come from there, never an endpoint or a Region.
	AccessKeyID, SecretAccessKey string
	// RoleARN is a role to assume by those credentials; empty for none. ExternalID is what its
	// owner may ask for, SessionName what CloudTrail shows: empty means "piedmont".
	RoleARN, ExternalID, SessionName string

	// CallsPerSecond bounds the calls to Glue; as many may be made at once after a pause. 0
	// means 20.
	CallsPerSecond int
	// Logger hears where credentials come from, and of throttling; nil for none.
	Logger *slog.Logger
}

// What AWS accepts. A Region becomes a part of a host's name.
var (
	regions      = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	catalogIDs   = regexp.MustCompile(`^[0-9A-Za-z][\w:/.@+-]{0,254}$`)
	sessionNames = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)
	externalIDs  = regexp.MustCompile(`^[\w+=,.@:/-]{2,}$`)
)

// check names what is wrong, and fills in what was left out. Its errors hold no secret.
func (o *Options) check() error {
	switch {
	case o.Region == "":
		return errors.New("region: it is required")
	case !regions.MatchString(o.Region):
		return errors.New("region: want one like eu-west-1")
	case o.CatalogID != "" && !catalogIDs.MatchString(o.CatalogID):
		return errors.New("catalog_id: want an account's number, or account:catalog")
	case (o.AccessKeyID == "") != (o.SecretAccessKey == ""):
		return errors.New("access_key_id and secret_access_key need each other")
	case o.CallsPerSecond < 0:
		return errors.New("calls_per_second: can't be negative")
	case !plainURL(o.Endpoint):
		return errors.New("endpoint: want http://host or https://host, without user and query")
	case !plainURL(o.STSEndpoint):
		return errors.New("sts_endpoint: want http://host or https://host, without user and query")
	}
	if o.CallsPerSecond == 0 {
		o.CallsPerSecond = defaultCallsPerSecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o.checkRole()
}

func (o *Options) checkRole() error {
	if o.RoleARN == "" {
		if o.ExternalID != "" || o.SessionName != "" || o.STSEndpoint != "" {
			return errors.New("external_id, session_name and sts_endpoint are for a role_arn, which is missing")
		}
		return nil
	}
	if o.SessionName == "" {
		o.SessionName = defaultSessionName
	}
	role, err := arn.Parse(o.RoleARN)
	switch {
	case err != nil || role.Service != "iam" || !strings.HasPrefix(role.Resource, "role/"):
		return errors.New("role_arn: want arn:aws:iam::ACCOUNT:role/NAME")
	case !sessionNames.MatchString(o.SessionName):
		return errors.New("session_name: want 2 to 64 letters, digits and +=,.@-_")
	case o.ExternalID != "" && !externalIDs.MatchString(o.ExternalID):
		return errors.New("external_id: want 2 letters, digits and +=,.@:/-_ or more")
	}
	return nil
}

// plainURL says whether s is a URL that an endpoint can be, or empty.
func plainURL(s string) bool {
	u, err := url.Parse(s)
	return s == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
