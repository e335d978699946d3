-- What a database of schema version 1 holds.
CREATE TABLE piedmont_schema (one smallint PRIMARY KEY CHECK (one = 1), version integer NOT NULL);
INSERT INTO piedmont_schema VALUES (1, 1);
CREATE TABLE piedmont_records (
    key     bytea PRIMARY KEY CHECK (octet_length(key) > 0),
    version bytea NOT NULL CHECK (octet_length(version) = 16),
    value   bytea NOT NULL
) WITH (fillfactor = 85);
CREATE TABLE piedmont_receipts (
    minute timestamptz NOT NULL,
    id     bytea NOT NULL,
    fenced boolean NOT NULL,
    PRIMARY KEY (minute, id)
);
CREATE TABLE piedmont_guard (
    class smallint NOT NULL,
    shard smallint NOT NULL,
    PRIMARY KEY (class, shard)
);
INSERT INTO piedmont_guard SELECT c, s FROM generate_series(0, 31) AS c CROSS JOIN generate_series(0, 15) AS s;
INSERT INTO piedmont_records VALUES
    ('\x61', '\x000102030405060708090a0b0c0d0e0f', '\x6f6e65'),
    ('\x62ff00', '\xf00102030405060708090a0b0c0d0e0f', '');
