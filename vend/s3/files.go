package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"piedmont/mounts"
	"piedmont/vend"
)

// maxKeyBytes is the longest key that S3 allows.
const maxKeyBytes = 1024

// begin checks the location and gives the operation its time.
func (f *Files) begin(ctx context.Context, op string, l vend.Location) (context.Context, context.CancelFunc, error) {
	if err := vend.CheckFile(f.prefix, l); err != nil {
		return nil, nil, err
	}
	if len(l.Key()) > maxKeyBytes {
		return nil, nil, &mounts.Error{
			Kind: mounts.BadRequest, Op: op,
			Detail: fmt.Sprintf("Invalid location: longer than the %d bytes an S3 key may have", maxKeyBytes),
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, vend.Unavailable(op, f.profile, "wasn't asked in time", err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	return ctx, cancel, nil
}

// Read implements vend.Files.
func (f *Files) Read(ctx context.Context, l vend.Location, limit int64) ([]byte, error) {
	ctx, cancel, err := f.begin(ctx, "read file", l)
	if err != nil {
		return nil, err
	}
	defer cancel()
	data, err := f.read(ctx, l, limit)
	switch {
	case errors.Is(err, vend.ErrTooLarge):
		return nil, vend.TooLarge(l, limit)
	case codeOf(err) == "NoSuchKey":
		return nil, vend.NotFound(l, err)
	case err != nil:
		return nil, f.fault("read file", err)
	}
	return data, nil
}

// read tries again when a body breaks off: the SDK retries only until headers are there.
func (f *Files) read(ctx context.Context, l vend.Location, limit int64) ([]byte, error) {
	for attempt := 1; ; attempt++ {
		answer, err := f.client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(l.Bucket()), Key: aws.String(l.Key())})
		if err != nil {
			return nil, err
		}
		data, err := body(answer, limit)
		if err == nil || errors.Is(err, vend.ErrTooLarge) || ctx.Err() != nil || attempt == maxAttempts {
			return data, err
		}
	}
}

func body(answer *s3.GetObjectOutput, limit int64) ([]byte, error) {
	defer func() { _ = answer.Body.Close() }() // read to its end, or given up
	size := aws.ToInt64(answer.ContentLength)
	if size > limit {
		return nil, vend.ErrTooLarge
	}
	b := bytes.NewBuffer(make([]byte, 0, max(size, 0)+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(answer.Body, limit+1)); err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	if int64(b.Len()) > limit {
		return nil, vend.ErrTooLarge
	}
	return b.Bytes(), nil
}

// Create implements vend.Files by a put on the condition that the key is absent. Where a
// request perhaps arrived but its answer didn't, the file's content tells whose it is: a
// name that is taken may then be our own doing.
func (f *Files) Create(ctx context.Context, l vend.Location, data []byte) error {
	ctx, cancel, err := f.begin(ctx, "create file", l)
	if err != nil {
		return vend.Outcome(vend.ErrNotWritten, err)
	}
	defer cancel()
	ctx, sent := counted(ctx)
	_, err = f.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(l.Bucket()), Key: aws.String(l.Key()),
		Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		IfNoneMatch: aws.String("*"),
	})
	if err == nil {
		return nil
	}
	outcome := vend.ErrNotWritten
	if sent.perhaps.Load() > 0 {
		outcome = f.settle(ctx, l, data)
	} else if statusOf(err) == http.StatusPreconditionFailed {
		outcome = vend.ErrExists
	}
	switch {
	case outcome == nil:
		return nil
	case errors.Is(outcome, vend.ErrExists):
		return vend.Exists(l, err)
	}
	return vend.Outcome(outcome, f.fault("create file", err))
}

// settle finds out what became of a put without a clear answer: nil where our file is
// there, ErrExists where another is. That there is none proves nothing, since the request
// may still be on its way.
func (f *Files) settle(ctx context.Context, l vend.Location, data []byte) error {
	there, err := f.read(ctx, l, int64(len(data)))
	switch {
	case err == nil && bytes.Equal(there, data):
		return nil
	case err == nil, errors.Is(err, vend.ErrTooLarge):
		return vend.ErrExists
	}
	return vend.ErrUnknown
}

// Delete implements vend.Files.
func (f *Files) Delete(ctx context.Context, l vend.Location) error {
	ctx, cancel, err := f.begin(ctx, "delete file", l)
	if err != nil {
		return err
	}
	defer cancel()
	_, err = f.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(l.Bucket()), Key: aws.String(l.Key())})
	if err != nil && codeOf(err) != "NoSuchKey" { // S3 itself answers 204, some servers 404
		return f.fault("delete file", err)
	}
	return nil
}
