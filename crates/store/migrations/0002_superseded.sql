-- Events of an experiment that was gone on with which do not stand: a trial without its end, and how it had ended. Kept
-- for ever, read by no report.
CREATE TABLE superseded (
    experiment INTEGER NOT NULL REFERENCES experiment (id),
    resumption INTEGER NOT NULL,          -- which one set them aside, from 1
    seq        INTEGER NOT NULL,          -- their place then
    json       TEXT NOT NULL,             -- exactly as serialised
    PRIMARY KEY (experiment, resumption, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER superseded_is_never_changed BEFORE UPDATE ON superseded
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER superseded_is_never_removed BEFORE DELETE ON superseded
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

-- An event may leave its table only once it stands in this one.
DROP TRIGGER event_is_never_removed;

CREATE TRIGGER event_is_never_removed BEFORE DELETE ON event
WHEN NOT EXISTS (
    SELECT 1 FROM superseded s WHERE s.experiment = OLD.experiment AND s.seq = OLD.seq AND s.json = OLD.json
)
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
