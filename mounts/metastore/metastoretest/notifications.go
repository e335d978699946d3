package metastoretest

import (
	"context"
	"slices"
	"sync"

	"piedmont/mounts/metastore"
)

// Notifier is a Source that tells what has changed, if the test says that something has.
type Notifier struct {
	*Source

	mu      sync.Mutex
	current int64
	log     []metastore.Notification
}

var _ metastore.Notifier = (*Notifier)(nil)

// NewNotifier is a source without databases, whose latest notification has an id.
func NewNotifier(current int64) *Notifier { return &Notifier{Source: New(), current: current} }

// Notify tells that names have changed.
func (n *Notifier) Notify(names ...metastore.ObjectName) { n.Log(metastore.Notification{Names: names}) }

// Log adds a notification with the next id.
func (n *Notifier) Log(entry metastore.Notification) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current++
	entry.ID = n.current
	n.log = append(n.log, entry)
}

// Jump makes an id the current one. What was logged under later ids is gone; ids that are left
// out were never logged.
func (n *Notifier) Jump(to int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current = to
	n.log = slices.DeleteFunc(n.log, func(entry metastore.Notification) bool { return entry.ID > to })
}

// CurrentNotification implements metastore.Notifier.
func (n *Notifier) CurrentNotification(ctx context.Context) (int64, error) {
	if err := n.called(ctx, Call{Method: "CurrentNotification"}); err != nil {
		return 0, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.current, nil
}

// Notifications implements metastore.Notifier.
func (n *Notifier) Notifications(ctx context.Context, after int64, most int) ([]metastore.Notification, error) {
	if err := n.called(ctx, Call{Method: "Notifications"}); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []metastore.Notification
	for _, entry := range n.log {
		if entry.ID > after && len(list) < most {
			list = append(list, entry)
		}
	}
	return list, nil
}
