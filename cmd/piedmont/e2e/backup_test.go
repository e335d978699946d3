//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piedmont/native"
	"piedmont/native/bolt"
)

const backupWriters = 8

// diskConfig is a configuration of one catalog on the local disk, whatever the data directory
// is, with a key. more is the registry.
func diskConfig(t *testing.T, dir, more string) (config, key string) {
	t.Helper()
	key, entry := newKey(t, "ops")
	if err := os.MkdirAll(filepath.Join(dir, "wh"), 0o755); err != nil {
		t.Fatal(err)
	}
	return writeFile(t, filepath.Join(dir, "piedmont.yaml"), more+`
storage: [{name: wh, location: "file://`+dir+`/wh/", local: {}}]
mounts: [{at: "", native: {id: main, warehouse: "file://`+dir+`/wh/"}, storage: [wh]}]
auth:
  admins: [ops]
  keys:
`+entry), key
}

// pair is what a transaction does to two tables at once.
func pair(w, n int) map[string]any {
	var changes []any
	for _, half := range []string{"a", "b"} {
		change := setProperty("n", strconv.Itoa(n))
		change["identifier"] = map[string]any{"namespace": []string{"db"}, "name": fmt.Sprint("pair", w, half)}
		changes = append(changes, change)
	}
	return map[string]any{"table-changes": changes}
}

// TestBackupUnderLoad takes backups of a server that eight writers keep busy, and serves each.
// What was acknowledged before is there, no transaction is there by half, and every table loads.
func TestBackupUnderLoad(t *testing.T) {
	dir := t.TempDir()
	config, key := diskConfig(t, dir, "")
	p := start(t, config, filepath.Join(dir, "data"))
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	for w := range backupWriters {
		for _, half := range []string{"a", "b"} {
			p.must("POST", "/v1/namespaces/db/tables", key, simpleTable(fmt.Sprint("pair", w, half)))
		}
	}
	var created, changed [backupWriters]atomic.Int64
	var done atomic.Bool
	var writers sync.WaitGroup
	for w := range backupWriters {
		writers.Go(func() {
			for n := 1; !done.Load(); n++ {
				if r, err := try("POST", p.URI+"/v1/transactions/commit", key, pair(w, n)); err != nil || r.status/100 != 2 {
					t.Errorf("transaction: %v, %d %s", err, r.status, r.body)
					return
				}
				changed[w].Store(int64(n))
				if r, err := try("POST", p.URI+"/v1/namespaces/db/tables", key, simpleTable(fmt.Sprint("t", w, "-", n))); err != nil || r.status != http.StatusOK {
					t.Errorf("create: %v, %d %s", err, r.status, r.body)
					return
				}
				created[w].Store(int64(n))
			}
		})
	}
	const backups = 4
	var before [backups]struct{ created, changed [backupWriters]int64 }
	for i := range backups {
		time.Sleep(300 * time.Millisecond)
		for w := range backupWriters {
			before[i].created[w], before[i].changed[w] = created[w].Load(), changed[w].Load()
		}
		t.Log(strings.TrimSpace(command(t, "backup", "--config", config, "--data", p.data, "--output", filepath.Join(dir, fmt.Sprint("backup", i)))))
	}
	done.Store(true)
	writers.Wait()
	p.stop()
	for i := range backups {
		data := filepath.Join(dir, fmt.Sprint("restored", i))
		command(t, "restore", "--config", config, "--data", data, "--input", filepath.Join(dir, fmt.Sprint("backup", i)))
		restored := start(t, config, data)
		tables := restored.tables(key)
		for w := range backupWriters {
			for n := int64(1); n <= before[i].created[w]; n++ {
				if tables[fmt.Sprint("t", w, "-", n)] == nil {
					t.Errorf("backup %d lacks table %d of writer %d, which was acknowledged before", i, n, w)
				}
			}
			a, b := tables[fmt.Sprint("pair", w, "a")]["n"], tables[fmt.Sprint("pair", w, "b")]["n"]
			n, _ := strconv.ParseInt(a, 10, 64)
			if a != b || n < before[i].changed[w] {
				t.Errorf("backup %d has %q and %q of a transaction's halves, at least %d was acknowledged", i, a, b, before[i].changed[w])
			}
		}
		t.Logf("backup %d: %d tables", i, len(tables))
		restored.stop()
	}
}

// tables loads every table of db and returns their properties.
func (p *process) tables(key string) map[string]map[string]string {
	p.t.Helper()
	found := map[string]map[string]string{}
	for token := ""; ; {
		var page struct {
			Identifiers []struct{ Name string }
			Next        string `json:"next-page-token"`
		}
		if err := json.Unmarshal(p.must("GET", "/v1/namespaces/db/tables?pageToken="+token, key, nil).body, &page); err != nil {
			p.t.Fatal(err)
		}
		for _, i := range page.Identifiers {
			var table struct {
				Metadata struct{ Properties map[string]string }
			}
			if err := json.Unmarshal(p.must("GET", "/v1/namespaces/db/tables/"+i.Name, key, nil).body, &table); err != nil {
				p.t.Fatal(err)
			}
			found[i.Name] = table.Metadata.Properties
			if found[i.Name] == nil {
				found[i.Name] = map[string]string{}
			}
		}
		if token = page.Next; token == "" {
			return found
		}
	}
}

// TestMoveBetweenRegistries goes from a file to a database and back, each by a backup of the
// server that runs.
func TestMoveBetweenRegistries(t *testing.T) {
	dir := t.TempDir()
	config, key := diskConfig(t, dir, "")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	database := writeFile(t, filepath.Join(dir, "database.yaml"), `registry: {postgres: {url: "`+postgresURL(t)+`"}}`+string(text))
	p := start(t, config, filepath.Join(dir, "data"))
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	for i := range 20 {
		p.must("POST", "/v1/namespaces/db/tables", key, simpleTable(fmt.Sprint("t", i)))
		p.must("POST", fmt.Sprint("/v1/namespaces/db/tables/t", i), key, setProperty("n", strconv.Itoa(i)))
	}
	for i, to := range []string{database, config} {
		from := []string{config, database}[i]
		file, data := filepath.Join(dir, fmt.Sprint("backup", i)), filepath.Join(dir, fmt.Sprint("moved", i))
		command(t, "backup", "--config", from, "--data", p.data, "--output", file)
		p.stop()
		command(t, "restore", "--config", to, "--data", data, "--input", file)
		if out, err := runCommand(t, "restore", "--config", to, "--data", data, "--input", file); err == nil || !strings.Contains(out, "the registry isn't empty") {
			t.Fatalf("restored twice: %v\n%s", err, out)
		}
		p = start(t, to, data)
		tables := p.tables(key)
		for n := range 20 {
			if got := tables[fmt.Sprint("t", n)]["n"]; got != strconv.Itoa(n) {
				t.Errorf("move %d: table %d has %q", i, n, got)
			}
		}
		p.must("POST", "/v1/namespaces/db/tables/t3", key, setProperty("moved", strconv.Itoa(i)))
	}
}

// largeBackup makes the backup of a catalog with that many namespaces, each a record.
func largeBackup(t *testing.T, config, dir string, namespaces int) string {
	t.Helper()
	data := filepath.Join(dir, "large")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := bolt.Open(filepath.Join(data, "registry.db"), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	value := []byte(`{"properties":{"comment":"` + strings.Repeat("a namespace with something to say ", 8) + `"}}`)
	for n := 0; n < namespaces; n += 10_000 {
		var changes []native.Change
		for i := n; i < min(n+10_000, namespaces); i++ {
			changes = append(changes, native.Change{Key: native.Key(fmt.Sprintf("nmain\x00\x00ns%07d", i)), Value: value, Version: native.NewVersion()})
		}
		if err := r.Commit(t.Context(), nil, changes); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "large.backup")
	t.Log(strings.TrimSpace(command(t, "backup", "--config", config, "--data", data, "--output", file)))
	return file
}

// killRestore kills a restore when it has read a part of its backup, but for what lies in
// buffers: much smaller than the part, which is many commits.
func killRestore(t *testing.T, config, data string, part []byte) {
	t.Helper()
	cmd, _ := newCommand(t, "restore", "--config", config, "--data", data, "--input", "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = in.Write(part)
	_ = cmd.Process.Kill()
	if ended := cmd.Wait(); err != nil || ended == nil {
		t.Fatalf("a restore ended before its backup did: %v, %v", err, ended)
	}
}

// TestRestoreKilled kills restores of both kinds in their midst: no server starts on what they
// left, and the next restore makes good.
func TestRestoreKilled(t *testing.T) {
	const namespaces = 60_000
	dir := t.TempDir()
	config, key := diskConfig(t, dir, "")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	database := writeFile(t, filepath.Join(dir, "database.yaml"), `registry: {postgres: {url: "`+postgresURL(t)+`"}}`+string(text))
	file := largeBackup(t, config, dir, namespaces)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for kind, config := range map[string]string{"file": config, "database": database} {
		t.Run(kind, func(t *testing.T) {
			data := filepath.Join(dir, "restored-"+kind)
			for _, part := range []int{len(whole) / 2, len(whole) * 3 / 4, len(whole) / 2} {
				killRestore(t, config, data, whole[:part])
				if out, err := runCommand(t, "check", "--config", config, "--data", data); err == nil || !strings.Contains(out, "hasn't ended") {
					t.Fatalf("%d bytes of a backup were read, and the registry isn't refused: %v\n%s", part, err, out)
				}
			}
			out, err := runCommand(t, "serve", "--config", config, "--data", data, "--listen", freeAddress(t))
			if err == nil || !strings.Contains(out, "a restore of this registry was begun and hasn't ended") {
				t.Fatalf("a server starts on a part of a backup: %v\n%s", err, out)
			}
			t.Log(strings.TrimSpace(command(t, "restore", "--config", config, "--data", data, "--input", file)))
			p := start(t, config, data)
			for _, n := range []int{0, 1, namespaces / 2, namespaces - 1} {
				p.must("HEAD", fmt.Sprintf("/v1/namespaces/ns%07d", n), key, nil)
			}
			again := filepath.Join(dir, "again-"+kind)
			if out := command(t, "backup", "--config", config, "--data", data, "--output", again); !strings.Contains(out, fmt.Sprintf(" %d records", namespaces)) {
				t.Errorf("what was restored isn't what was backed up: %s", out)
			}
		})
	}
}

// TestBackupToAFullDisk: the command says so, by its exit code too.
func TestBackupToAFullDisk(t *testing.T) {
	dir := t.TempDir()
	config, _ := diskConfig(t, dir, "")
	p := start(t, config, filepath.Join(dir, "data"))
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd, said := newCommand(t, "backup", "--config", config, "--data", p.data, "--output", "-")
	cmd.Stdout = full
	if err := cmd.Run(); err == nil || !strings.Contains(said.out.String(), "no space left") {
		t.Errorf("backup to a full disk: %v, %s", err, said.out)
	}
}

// TestReadmeBackup does what the README says, from one data directory to another.
func TestReadmeBackup(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Backup\n")
	if !found {
		t.Fatal("the README has no section Backup")
	}
	dir := t.TempDir()
	config, key := diskConfig(t, dir, "data: "+filepath.Join(dir, "data"))
	fresh := diskConfigAt(t, config, filepath.Join(dir, "new.yaml"), filepath.Join(dir, "data"), filepath.Join(dir, "new"))
	p := start(t, config, filepath.Join(dir, "data"))
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	if err := os.Symlink(binary(t), filepath.Join(dir, "piedmont")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-e", "-c", block(t, []byte(section), "sh"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out := watch(t, "the README's backup", config, "").out
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.stop()
	start(t, fresh, filepath.Join(dir, "new")).must("HEAD", "/v1/namespaces/db", key, nil)
}

// diskConfigAt is a copy of a configuration with another data directory.
func diskConfigAt(t *testing.T, config, path, from, to string) string {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, path, strings.Replace(string(text), "data: "+from, "data: "+to, 1))
}
