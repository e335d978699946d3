//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leastJava is the oldest Java that Trino runs on.
const leastJava = 24

var javaVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="(\d+)`)

// javaForTrino is the java of a new enough JDK, of JAVA25_HOME, JAVA_HOME or the places
// where Linux and its packages put them.
func javaForTrino() (string, error) {
	homes := []string{os.Getenv("JAVA25_HOME"), os.Getenv("JAVA_HOME")}
	for _, pattern := range []string{"/usr/lib/jvm/*", "/opt/*jdk*", "/opt/java/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		homes = append(homes, found...)
	}
	for _, home := range homes {
		if home == "" {
			continue
		}
		release, err := os.ReadFile(filepath.Join(home, "release"))
		if err != nil {
			continue
		}
		if m := javaVersion.FindSubmatch(release); m != nil {
			if major, err := strconv.Atoi(string(m[1])); err == nil && major >= leastJava {
				return filepath.Join(home, "bin", "java"), nil
			}
		}
	}
	return "", fmt.Errorf("Trino needs a JDK %d or newer, and none is in /usr/lib/jvm: install one or set JAVA25_HOME to its directory", leastJava)
}

// trinoServer is a single node, asked by its HTTP protocol.
type trinoServer struct{ uri string }

// startTrino runs a server with one catalog, piedmont, of these properties, until the test
// ends.
func startTrino(t *testing.T, properties string) (session, error) {
	java, err := javaForTrino()
	if err != nil {
		return nil, err
	}
	dir, address := t.TempDir(), freeAddress(t)
	home := filepath.Join(os.Getenv("PIEDMONT_TEST_CACHE"), "trino")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	config := writeFile(t, filepath.Join(dir, "etc", "config.properties"), strings.Join([]string{
		"coordinator=true", "node-scheduler.include-coordinator=true", "http-server.http.port=" + port, "discovery.uri=http://" + address,
		"node.internal-address=127.0.0.1", "query.max-memory=400MB", "query.max-memory-per-node=300MB", "memory.heap-headroom-per-node=200MB",
	}, "\n"))
	levels := writeFile(t, filepath.Join(dir, "etc", "log.properties"), "io.trino=WARN\n")
	writeFile(t, filepath.Join(dir, "etc", "catalog", "piedmont.properties"), properties)

	cmd := exec.Command(java, "-Xmx1G", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djdk.attach.allowAttachSelf=true",
		"-Djdk.nio.maxCachedBufferSize=2000000", "-Dfile.encoding=UTF-8", "--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED",
		"--sun-misc-unsafe-memory-access=allow", "-Dnode.environment=test", "-Dnode.id=one", "-Dnode.data-dir="+filepath.Join(dir, "data"),
		"-Dplugin.dir="+filepath.Join(home, "plugin"), "-Dlog.levels-file="+levels, "-Dconfig="+config, "-cp", filepath.Join(home, "lib", "*"), "io.trino.server.TrinoServer")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
	})
	s := &trinoServer{"http://" + address}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if _, err := s.ask("SELECT schema_name FROM piedmont.information_schema.schemata"); err == nil {
			return s, nil
		}
		select {
		case <-exited:
			return nil, fmt.Errorf("Trino ended at its start:\n%s", out)
		default:
		}
	}
	return nil, fmt.Errorf("Trino isn't ready:\n%s", out)
}

// ask runs a statement. A server that answers may not have found itself as a worker yet.
func (s *trinoServer) ask(sql string) ([][]any, error) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		rows, err := s.run(sql)
		if err == nil || !strings.Contains(err.Error(), "No nodes available") || time.Now().After(deadline) {
			return rows, err
		}
	}
}

// run sends a statement and follows its pages to the end.
func (s *trinoServer) run(sql string) ([][]any, error) {
	var rows [][]any
	method, uri, body := http.MethodPost, s.uri+"/v1/statement", io.Reader(strings.NewReader(sql))
	for deadline := time.Now().Add(askedFor); time.Now().Before(deadline); {
		page, err := s.page(method, uri, body)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page.Data...)
		if page.Error.Message != "" {
			return nil, errors.New(page.Error.Message)
		}
		if page.NextURI == "" {
			return rows, nil
		}
		method, uri, body = http.MethodGet, page.NextURI, nil
	}
	return nil, fmt.Errorf("no answer in %s", askedFor)
}

type trinoPage struct {
	NextURI string
	Data    [][]any
	Error   struct{ Message string }
}

func (s *trinoServer) page(method, uri string, body io.Reader) (trinoPage, error) {
	var page trinoPage
	q, err := http.NewRequest(method, uri, body)
	if err != nil {
		return page, err
	}
	q.Header.Set("X-Trino-User", "test")
	q.Header.Set("X-Trino-Time-Zone", "UTC")
	q.Header.Set("X-Trino-Session", "piedmont.expire_snapshots_min_retention=0s,piedmont.remove_orphan_files_min_retention=0s")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return page, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return page, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&page); err != nil {
		return page, fmt.Errorf("%w: %d %s", err, r.StatusCode, text)
	}
	return page, nil
}
