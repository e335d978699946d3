package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkColdStart is the time from starting the built binary on a new data directory to
// its first 200, and the memory it then holds. PIEDMONT_BIN names a binary; without it one
// is built.
func BenchmarkColdStart(b *testing.B) {
	bin := os.Getenv("PIEDMONT_BIN")
	if bin == "" {
		bin = filepath.Join(b.TempDir(), "piedmont")
		build := exec.Command("go", "build", "-trimpath", "-o", bin, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(b, err, string(out))
	}
	var took time.Duration
	var kib, runs int
	for b.Loop() {
		t, k := coldStart(b, bin)
		took, kib, runs = took+t, kib+k, runs+1
	}
	b.ReportMetric(float64(took.Microseconds())/1000/float64(runs), "ms-to-first-200")
	b.ReportMetric(float64(kib)/1024/float64(runs), "idle-MiB")
	b.ReportMetric(0, "ns/op")
}

func coldStart(b *testing.B, bin string) (took time.Duration, kib int) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	address := free.Addr().String()
	require.NoError(b, free.Close())
	cmd := exec.Command(bin, "serve", "--listen", address, "--data", filepath.Join(b.TempDir(), strconv.Itoa(b.N), address))
	start := time.Now()
	require.NoError(b, cmd.Start())
	for {
		resp, err := http.Get("http://" + address + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
			require.Equal(b, http.StatusOK, resp.StatusCode)
			break
		}
		require.Less(b, time.Since(start), 30*time.Second, "it doesn't start: %v", err)
	}
	took = time.Since(start)
	kib = resident(b, cmd.Process.Pid)
	require.NoError(b, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(b, cmd.Wait())
	return took, kib
}

// resident is the memory that a process holds, in KiB.
func resident(b *testing.B, pid int) int {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		b.Skip("memory is measured where there is /proc")
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(b, err)
	return kib
}
