-- Every record of the registry. Keys are bytes and sort as bytes. Neither version nor
-- value is indexed, so that an update touches no index where its page has room.
CREATE TABLE piedmont_records (
    key     bytea PRIMARY KEY CHECK (octet_length(key) > 0),
    version bytea NOT NULL CHECK (octet_length(version) = 16),
    value   bytea NOT NULL
) WITH (fillfactor = 85);

-- One row for each commit of the last minutes, by which a commit whose answer was lost is
-- found out. fenced: put there by whoever asked, so the commit will never happen.
CREATE TABLE piedmont_receipts (
    minute timestamptz NOT NULL,
    id     bytea NOT NULL,
    fenced boolean NOT NULL,
    PRIMARY KEY (minute, id)
);

-- Rows to lock: one of a class's rows before a key of it is inserted, all of them before
-- it is relied on that keys of it don't exist.
CREATE TABLE piedmont_guard (
    class smallint NOT NULL,
    shard smallint NOT NULL,
    PRIMARY KEY (class, shard)
);

INSERT INTO piedmont_guard (class, shard)
SELECT c, s FROM generate_series(0, 31) AS c CROSS JOIN generate_series(0, 15) AS s;
