package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piedmont/vend/ambient"
)

// signer signs requests with AWS Signature Version 4. All of them have empty bodies.
type signer struct {
	region, service string
	now             func() time.Time
	signer          *v4.Signer
	emptyHash       string

	mu       sync.Mutex
	provider aws.CredentialsProvider // nil until the process's own are first needed
}

func newSigner(o *SigV4, now func() time.Time) *signer {
	empty := sha256.Sum256(nil)
	s := &signer{region: o.Region, service: o.Service, now: now, signer: v4.NewSigner(), emptyHash: hex.EncodeToString(empty[:])}
	if o.AccessKeyID != "" {
		s.provider = credentials.NewStaticCredentialsProvider(o.AccessKeyID, o.SecretAccessKey, "")
	}
	return s
}

func (s *signer) authorize(ctx context.Context, r *http.Request) error {
	provider, err := s.credentials(ctx)
	if err != nil {
		return unavailableCredential(err)
	}
	c, err := provider.Retrieve(ctx)
	if err != nil {
		return unavailableCredential(fmt.Errorf("get AWS credentials: %w", err))
	}
	r.Header.Set("X-Amz-Content-Sha256", s.emptyHash)
	if err := s.signer.SignHTTP(ctx, c, r, s.emptyHash, s.service, s.region, s.now()); err != nil {
		return unavailableCredential(fmt.Errorf("sign a request: %w", err))
	}
	return nil
}

// credentials finds the process's own when first asked, not at the start: finding them
// may read files, and a mount must not stop the start.
func (s *signer) credentials(ctx context.Context) (aws.CredentialsProvider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider != nil {
		return s.provider, nil
	}
	found, err := ambient.Credentials(ctx, s.region)
	if err != nil {
		return nil, err
	}
	s.provider = found
	return s.provider, nil
}

// refused: signing again would sign the same.
func (*signer) refused(*http.Request) bool { return false }
