//! From events to rows: the only place that fills a derived table, whether an event has just come or is read again.
use powerband_record::{Better, BlockDone, Calibration, CloseReason, Event, Finding, SettingVerdict, Started, Verdict};
use rusqlite::{Connection, Result, params};

/// Derived tables with the columns that order them, children before their parents.
pub(crate) const TABLES: [(&str, &str); 7] = [
    ("calibration", "metric"),
    ("metric_value", "trial, metric"),
    ("trial", "trial"),
    ("verdict", "setting, metric"),
    ("level", "setting, metric"),
    ("metric", "place"),
    ("setting", "setting"),
];

/// The derived columns of `experiment`.
pub(crate) const DERIVED: &str = "title, machine, far, load, state, reason, blocks, ended_ns, knee";

/// SQLite's integers are signed; times and counts that do not fit would be older than any machine.
fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Spells a value of `record` as it is spelled in JSON.
fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Forgets everything derived of one experiment.
pub(crate) fn clear(db: &Connection, id: i64) -> Result<()> {
    for (table, _) in TABLES {
        db.execute(&format!("DELETE FROM {table} WHERE experiment = ?1"), [id])?;
    }
    db.execute(
        "UPDATE experiment SET title = NULL, machine = NULL, far = NULL, load = NULL, state = 'running',
         reason = NULL, blocks = 0, ended_ns = NULL, knee = NULL WHERE id = ?1",
        [id],
    )?;
    Ok(())
}

/// Enters what one event says. Events this version does not know change no table.
pub(crate) fn enter(db: &Connection, id: i64, event: &Event) -> Result<()> {
    match event {
        Event::Started(started) => enter_started(db, id, started),
        Event::TrialStarted(t) => {
            let mut insert = db.prepare_cached(
                "INSERT INTO trial (experiment, trial, block, setting, copy, began_ns, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running')
                 ON CONFLICT DO UPDATE SET block = ?3, setting = ?4, copy = ?5, began_ns = ?6, state = 'running',
                 ended_ns = NULL, why = NULL",
            )?;
            insert.execute(params![id, t.trial, t.block, t.setting, t.copy, int(t.at_ns)]).map(drop)
        }
        Event::TrialDone { trial, at_ns, outcome } => {
            end_trial(db, id, *trial, *at_ns, None)?;
            let mut insert = db.prepare_cached(
                "INSERT OR REPLACE INTO metric_value (experiment, trial, metric, value) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (metric, value) in &outcome.metrics {
                insert.execute(params![id, trial, metric, value])?;
            }
            Ok(())
        }
        Event::TrialVoid { trial, at_ns, why } => {
            db.prepare_cached("DELETE FROM metric_value WHERE experiment = ?1 AND trial = ?2")?
                .execute(params![id, trial])?;
            end_trial(db, id, *trial, *at_ns, Some(json(why)?))
        }
        Event::BlockDone(BlockDone { block, verdicts, knee, .. }) => {
            let knee = knee.as_ref().and_then(|k| k.knee);
            db.prepare_cached(
                "UPDATE experiment SET blocks = max(blocks, ?2), knee = coalesce(?3, knee) WHERE id = ?1",
            )?
            .execute(params![id, block, knee])?;
            enter_verdicts(db, id, verdicts)
        }
        Event::SettingLeft { setting, block, why } => db
            .prepare_cached("UPDATE setting SET left_block = ?3, left_why = ?4 WHERE experiment = ?1 AND setting = ?2")?
            .execute(params![id, setting, block, why])
            .map(drop),
        Event::Closed(finding) => enter_finding(db, id, finding),
        _ => Ok(()),
    }
}

fn enter_started(db: &Connection, id: i64, started: &Started) -> Result<()> {
    db.execute(
        "UPDATE experiment SET title = ?2, machine = ?3, far = ?4, load = ?5 WHERE id = ?1",
        params![id, started.title, started.machine, started.others(), json(&started.load)?],
    )?;
    let mut insert = db
        .prepare_cached("INSERT OR REPLACE INTO setting (experiment, setting, label, turns) VALUES (?1, ?2, ?3, ?4)")?;
    for (index, setting) in (0_i64..).zip(&started.settings) {
        insert.execute(params![id, index, setting.label, setting.turns])?;
    }
    let mut insert = db.prepare_cached(
        "INSERT OR REPLACE INTO metric (experiment, metric, place, better, judged, boundary)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (place, metric) in (0_i64..).zip(&started.metrics) {
        let better = match metric.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        insert.execute(params![id, metric.name, place, better, metric.judged, metric.boundary])?;
    }
    Ok(())
}

fn end_trial(db: &Connection, id: i64, trial: u32, at_ns: u64, why: Option<String>) -> Result<()> {
    let state = if why.is_some() { "void" } else { "valid" };
    db.prepare_cached("UPDATE trial SET ended_ns = ?3, state = ?4, why = ?5 WHERE experiment = ?1 AND trial = ?2")?
        .execute(params![id, trial, int(at_ns), state, why])
        .map(drop)
}

fn enter_verdicts(db: &Connection, id: i64, verdicts: &[SettingVerdict]) -> Result<()> {
    let mut insert = db.prepare_cached(
        "INSERT OR REPLACE INTO verdict (experiment, setting, metric, verdict, change, absolute, low, high, blocks,
         decided_at, predicted_low, predicted_high, unstable)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for v in verdicts {
        let verdict = match v.verdict {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
        };
        let (low, high) = v.predicted_blocks.unzip();
        insert.execute(params![
            id,
            v.setting,
            v.metric,
            verdict,
            v.change,
            v.absolute,
            v.low,
            v.high,
            v.blocks,
            v.decided_at,
            low,
            high,
            v.unstable
        ])?;
    }
    Ok(())
}

fn enter_calibrations(db: &Connection, id: i64, calibrations: &[Calibration]) -> Result<()> {
    db.execute("DELETE FROM calibration WHERE experiment = ?1", [id])?;
    // The system is no column of the experiment, as nothing but this asks for it.
    let mut insert = db.prepare_cached(
        "INSERT INTO calibration (experiment, metric, system, relative, trials, level, sigma, sigma_df, default_margin)
         SELECT ?1, ?2, coalesce(json_extract(json, '$.system'), ''), ?3, ?4, ?5, ?6, ?7, ?8
         FROM event WHERE experiment = ?1 AND seq = 0",
    )?;
    for c in calibrations {
        insert.execute(params![id, c.metric, c.relative, c.trials, c.level, c.sigma, c.sigma_df, c.default_margin])?;
    }
    Ok(())
}

fn enter_finding(db: &Connection, id: i64, finding: &Finding) -> Result<()> {
    let state = if finding.reason == CloseReason::Stopped { "stopped" } else { "ended" };
    let knee = finding.knee.as_ref().and_then(|k| k.knee);
    db.execute(
        "UPDATE experiment SET state = ?2, reason = ?3, blocks = ?4, ended_ns = ?5, knee = ?6 WHERE id = ?1",
        params![id, state, json(&finding.reason)?, finding.blocks, int(finding.at_ns), knee],
    )?;
    // A setting whose command failed has lost those that it had.
    db.execute("DELETE FROM verdict WHERE experiment = ?1", [id])?;
    enter_verdicts(db, id, &finding.verdicts)?;
    enter_calibrations(db, id, &finding.calibrations)?;
    db.execute("DELETE FROM level WHERE experiment = ?1", [id])?;
    let mut insert = db.prepare_cached(
        "INSERT OR REPLACE INTO level (experiment, setting, metric, trials, typical, low, high)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for l in &finding.levels {
        insert.execute(params![id, l.setting, l.metric, l.trials, l.typical, l.low, l.high])?;
    }
    Ok(())
}
