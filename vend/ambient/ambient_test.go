package ambient

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"
)

// bare takes away whatever the surroundings have of AWS.
func bare(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			require.NoError(t, os.Unsetenv(name))
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "credentials"))
	return home
}

// service stands for what knows credentials: a container's endpoint, an instance's metadata or STS.
type service struct {
	*httptest.Server
	hangs atomic.Pointer[func(http.ResponseWriter, *http.Request)] // nil where it is well
}

func newService(t *testing.T) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hang := s.hangs.Load(); hang != nil {
			(*hang)(w, r)
			return
		}
		switch {
		case r.Method == http.MethodPut:
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
			_, _ = io.WriteString(w, "token")
		case strings.HasSuffix(r.URL.Path, "/security-credentials/") || strings.HasSuffix(r.URL.Path, "/security-credentials-extended/"):
			_, _ = io.WriteString(w, "role")
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>`+
				`<AccessKeyId>key</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>`+
				`</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)
		default:
			_, _ = io.WriteString(w, `{"Code":"Success","AccessKeyId":"key","SecretAccessKey":"secret","Token":"t","Expiration":"2099-01-01T00:00:00Z"}`)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// silent accepts and answers nothing; switching ends HTTP, so that no timeout of HTTP's reaches.
func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else nothing tells of who hung up
	<-r.Context().Done()
}

func switching(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	_, _ = conn.Read(make([]byte, 1)) // until it is closed
}

// dripping begins to answer and never ends.
func dripping(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

// Whatever a service does, who asks it hears in time; and nobody who comes when it is well again
// waits for the question that hung.
func TestServiceThatHangs(t *testing.T) {
	const bound = 300 * time.Millisecond
	for from, set := range map[string]func(t *testing.T, home, url string){
		"container": func(t *testing.T, _, url string) { t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url+"/creds") },
		"instance":  func(t *testing.T, _, url string) { t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url) },
		"web identity": func(t *testing.T, home, url string) {
			require.NoError(t, os.WriteFile(filepath.Join(home, "token"), []byte("token"), 0o600))
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(home, "token"))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod")
			t.Setenv("AWS_ENDPOINT_URL_STS", url)
		},
	} {
		for how, hang := range map[string]func(http.ResponseWriter, *http.Request){"silent": silent, "switching": switching, "dripping": dripping} {
			t.Run(from+" "+how, func(t *testing.T) {
				s := newService(t)
				set(t, bare(t), s.URL)
				s.hangs.Store(&hang)
				p, err := within(t.Context(), "eu-west-1", bound)
				require.NoError(t, err)
				_, err = p.Retrieve(t.Context())
				require.ErrorIs(t, err, ErrNone)
				s.hangs.Store(nil)
				require.Eventually(t, func() bool {
					c, err := p.Retrieve(t.Context())
					return err == nil && c.AccessKeyID == "key"
				}, time.Minute, 10*time.Millisecond)
			})
		}
	}
}

// Whoever gives up hears of that, and not of credentials.
func TestCallerWhoGivesUp(t *testing.T) {
	s := newService(t)
	bare(t)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL)
	hang := silent
	s.hangs.Store(&hang)
	p, err := within(t.Context(), "eu-west-1", time.Second)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Retrieve(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrNone)
}

// Where credentials come from is known; a profile that isn't there is refused at once.
func TestSources(t *testing.T) {
	bare(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	p, err := Credentials(t.Context(), "eu-west-1")
	require.NoError(t, err)
	c, err := p.Retrieve(t.Context())
	require.NoError(t, err)
	require.Equal(t, "key", c.AccessKeyID)
	require.Equal(t, []aws.CredentialSource{aws.CredentialSourceEnvVars}, p.(aws.CredentialProviderSource).ProviderSources())
	t.Setenv("AWS_PROFILE", "nobody")
	require.NoError(t, os.Unsetenv("AWS_ACCESS_KEY_ID"))
	_, err = Credentials(t.Context(), "eu-west-1")
	require.ErrorContains(t, err, "find AWS credentials")
}
