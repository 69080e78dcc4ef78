-- Events, word for word; every other table can be emptied and filled again from them.
CREATE TABLE experiment (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    header    TEXT NOT NULL,              -- ExperimentHeader as JSON: what does not repeat from run to run
    -- From here on derived from the events.
    title     TEXT,
    machine   TEXT,
    far       TEXT,
    load      TEXT,                       -- JSON of the load's own shape
    state     TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'ended', 'stopped')),
    reason    TEXT,                       -- CloseReason as JSON
    blocks    INTEGER NOT NULL DEFAULT 0, -- complete ones
    ended_ns  INTEGER,                    -- ns since it began
    knee      INTEGER                     -- setting, once decided
) STRICT;

CREATE TABLE event (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    seq        INTEGER NOT NULL,          -- from 0, without gaps
    json       TEXT NOT NULL,             -- exactly as serialised
    PRIMARY KEY (experiment, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER event_is_never_removed BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TABLE setting (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    setting    INTEGER NOT NULL,          -- 0 is the reference
    label      TEXT NOT NULL,
    turns      TEXT NOT NULL,             -- as it can be typed again
    left_block INTEGER,                   -- after which block it left, if it did
    left_why   TEXT,
    PRIMARY KEY (experiment, setting)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    metric     TEXT NOT NULL,
    place      INTEGER NOT NULL,          -- order of the plan
    better     TEXT NOT NULL CHECK (better IN ('higher', 'lower')),
    judged     INTEGER NOT NULL,
    boundary   TEXT,                      -- what watts or joules cover
    PRIMARY KEY (experiment, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    trial      INTEGER NOT NULL,
    block      INTEGER NOT NULL,          -- 0 = warm-up
    setting    INTEGER NOT NULL,
    copy       INTEGER NOT NULL,
    began_ns   INTEGER NOT NULL,
    ended_ns   INTEGER,
    state      TEXT NOT NULL CHECK (state IN ('running', 'valid', 'void')),
    why        TEXT,                      -- Void as JSON
    PRIMARY KEY (experiment, trial)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric_value (
    experiment INTEGER NOT NULL,
    trial      INTEGER NOT NULL,
    metric     TEXT NOT NULL,
    value      REAL NOT NULL,
    PRIMARY KEY (experiment, trial, metric),
    FOREIGN KEY (experiment, trial) REFERENCES trial (experiment, trial)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (                    -- of the latest look at that setting
    experiment     INTEGER NOT NULL REFERENCES experiment (id),
    setting        INTEGER NOT NULL,
    metric         TEXT NOT NULL,
    verdict        TEXT NOT NULL CHECK (verdict IN ('better', 'worse', 'same', 'undecided')),
    change         REAL NOT NULL,         -- relative to the reference unless absolute
    absolute       INTEGER NOT NULL,
    low            REAL,
    high           REAL,
    blocks         INTEGER NOT NULL,
    decided_at     INTEGER,
    predicted_low  INTEGER,
    predicted_high INTEGER,
    unstable       INTEGER NOT NULL,
    PRIMARY KEY (experiment, setting, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE level (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    setting    INTEGER NOT NULL,
    metric     TEXT NOT NULL,
    trials     INTEGER NOT NULL,
    typical    REAL NOT NULL,
    low        REAL,                      -- 95 % interval
    high       REAL,
    PRIMARY KEY (experiment, setting, metric)
) STRICT, WITHOUT ROWID;
