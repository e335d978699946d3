package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"piedmont/authz"
)

func keysCommand() *cobra.Command {
	keys := &cobra.Command{Use: "keys", Short: "Make API keys", Args: cobra.NoArgs, RunE: help}
	keys.AddCommand(newKeyCommand())
	return keys
}

func newKeyCommand() *cobra.Command {
	var id, principal string
	var groups []string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make an API key: print it once, and the entry for auth.keys",
		Long: "Make an API key. The key is printed once and stored nowhere: hand it to whoever will use it,\n" +
			"as credential=, as a bearer token or as X-Api-Key. The entry for the configuration holds\n" +
			"only the SHA-256 of its secret part.",
		Example: "  piedmont keys new --id etl --principal etl --group writers",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := authz.CheckKeyID(id); err != nil {
				return fmt.Errorf("--id: %w", err)
			}
			if principal == "" {
				principal = id
			}
			secret := authz.NewSecret()
			entry, err := keyEntry(id, secret, principal, groups)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s:%s\n\n# the entry for auth.keys:\n%s", id, secret, entry)
			return err
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the part before the colon: letters, digits, - and _")
	cmd.Flags().StringVar(&principal, "principal", "", "whom policies know the holder as (default: the id)")
	cmd.Flags().StringArrayVar(&groups, "group", nil, "a group of the principal; may be repeated")
	_ = cmd.MarkFlagRequired("id") // fails only for a flag that doesn't exist
	return cmd
}

// keyEntry is the entry as it stands below "auth:" and "keys:".
func keyEntry(id, secret, principal string, groups []string) (string, error) {
	type key struct {
		ID        string   `yaml:"id"`
		SHA256    string   `yaml:"sha256"`
		Principal string   `yaml:"principal"`
		Groups    []string `yaml:"groups,omitempty,flow"`
	}
	b, err := yaml.Marshal([]key{{ID: id, SHA256: authz.HashSecret(secret), Principal: principal, Groups: groups}})
	if err != nil {
		return "", fmt.Errorf("write the entry: %w", err)
	}
	return "    " + strings.ReplaceAll(strings.TrimSuffix(string(b), "\n"), "\n", "\n    ") + "\n", nil
}

const (
	adminKeyFile   = "admin.key"
	adminPrincipal = "admin"
	adminKeyID     = "admin"
)

// adminKey reads the generated admin key, making it where there is none. It refuses a file
// that others than its owner may read: whoever reads it is an admin.
func adminKey(data string) (key authz.Key, credential string, err error) {
	path := filepath.Join(data, adminKeyFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := writeAdminKey(path); err != nil {
			return key, "", err
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return key, "", fmt.Errorf("read the admin key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return key, "", fmt.Errorf("read the admin key: %s may be read by others (mode %04o): run chmod 600 on it, and remove it if somebody may have seen it", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return key, "", fmt.Errorf("read the admin key: %w", err)
	}
	credential = strings.TrimSpace(string(text))
	id, secret, ok := strings.Cut(credential, ":")
	if !ok || authz.CheckKeyID(id) != nil || len(secret) < 32 || strings.ContainsFunc(secret, unicode.IsSpace) {
		return key, "", fmt.Errorf("read the admin key: %s doesn't hold one line id:secret; remove it to get a new one", path)
	}
	sum, err := authz.ParseHash(authz.HashSecret(secret))
	return authz.Key{ID: id, SHA256: sum, Principal: adminPrincipal}, credential, err
}

// writeAdminKey makes the file whole or not at all, and so that a crash can't take it back.
// What an earlier start left half done is removed first: others may be able to read that.
func writeAdminKey(path string) error {
	err := os.Remove(path + ".new")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the admin key: %w", err)
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the admin key: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s:%s\n", adminKeyID, authz.NewSecret())
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write the admin key: %w", err)
	}
	return nil
}

// syncDir makes the names in a directory survive a crash of the machine.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
