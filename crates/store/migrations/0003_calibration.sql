-- What calibrations found of each metric's noise, so that experiments on the same machine and load can begin from it.
CREATE TABLE calibration (
    experiment     INTEGER NOT NULL REFERENCES experiment (id),
    metric         TEXT NOT NULL,
    system         TEXT NOT NULL,         -- what ran on the machine
    relative       INTEGER NOT NULL,      -- deviations are of logarithms
    trials         INTEGER NOT NULL,
    level          REAL NOT NULL,         -- typical value
    sigma          REAL NOT NULL,         -- standard deviation of one trial
    sigma_df       REAL NOT NULL,
    default_margin REAL NOT NULL,
    PRIMARY KEY (experiment, metric)
) STRICT, WITHOUT ROWID;
