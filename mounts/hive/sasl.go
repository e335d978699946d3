package hive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// mechanism is a SASL mechanism without a security layer of its own: what is written
// after the negotiation goes out as it is. Kerberos with the quality of protection "auth"
// is another.
type mechanism interface {
	// name as the metastore knows it.
	name() string
	// start is the first response. done says that the mechanism expects no challenge.
	start() (response []byte, done bool, err error)
	// step answers a challenge.
	step(challenge []byte) (response []byte, done bool, err error)
}

// name is PLAIN.
func (p *Plain) name() string { return "PLAIN" }

// start is all that PLAIN has to say (RFC 4616), with no user to act for.
func (p *Plain) start() ([]byte, bool, error) {
	return []byte("\x00" + p.User + "\x00" + p.Password), true, nil
}

// step is never asked for by a metastore that knows PLAIN.
func (p *Plain) step([]byte) ([]byte, bool, error) {
	return nil, false, errors.New("PLAIN has no challenges")
}

// The states of Thrift's negotiation: one byte before the length of each message.
const (
	saslStart    = 1
	saslOK       = 2
	saslBad      = 3
	saslError    = 4
	saslComplete = 5
)

// maxSASL bounds a message of the negotiation.
const maxSASL = 64 << 10

// negotiate authenticates a new connection, whose messages are framed from then on.
func negotiate(conn io.ReadWriter, m mechanism) error {
	response, done, err := m.start()
	if err != nil {
		return fmt.Errorf("start SASL %s: %w", m.name(), err)
	}
	first := append(saslMessage(saslStart, []byte(m.name())), saslMessage(saslState(done), response)...)
	if _, err := conn.Write(first); err != nil {
		return fmt.Errorf("negotiate SASL: %w", err)
	}
	for {
		state, body, err := readSASL(conn)
		if err != nil {
			return fmt.Errorf("negotiate SASL: %w", err)
		}
		switch state {
		case saslComplete:
			if !done {
				return guard.Broken("ended the authentication before its time", nil)
			}
			return nil
		case saslBad:
			return &guard.Fault{Kind: mounts.Unavailable, Text: "does not accept the mount's credential", Err: fmt.Errorf("SASL: %q", clip(body))}
		case saslError:
			return &guard.Fault{Kind: mounts.Unavailable, Text: "does not authenticate in the way that the mount does", Err: fmt.Errorf("SASL: %q", clip(body))}
		case saslOK:
		default:
			return guard.Broken("gave an answer that no metastore gives", fmt.Errorf("SASL state %d", state))
		}
		if response, done, err = m.step(body); err != nil {
			return fmt.Errorf("negotiate SASL: %w", err)
		}
		if _, err := conn.Write(saslMessage(saslState(done), response)); err != nil {
			return fmt.Errorf("negotiate SASL: %w", err)
		}
	}
}

func saslState(done bool) byte {
	if done {
		return saslComplete
	}
	return saslOK
}

func saslMessage(state byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{state}, uint32(len(body))), body...)
}

func readSASL(r io.Reader) (state byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, unexpected(err)
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxSASL {
		return 0, nil, guard.Broken("gave an answer that no metastore gives", errTooLarge)
	}
	body = make([]byte, size)
	_, err = io.ReadFull(r, body)
	return head[0], body, unexpected(err)
}

func clip(b []byte) []byte { return b[:min(len(b), 300)] }
