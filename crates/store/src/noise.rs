//! What calibrations found, looked up for an experiment on the same machine with the same load.
use powerband_record::{Event, Metric, Started};
use rusqlite::{OptionalExtension, params};

use crate::StoreError;
use crate::local::Local;

/// The noise of a metric as the latest fitting calibration found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibratedNoise {
    /// The calibration.
    pub experiment: i64,
    /// Trials it had.
    pub trials: u32,
    /// Typical value then, in the metric's unit.
    pub level: f64,
    /// Standard deviation of one trial relative to its level (of logarithms where all values were positive).
    pub sigma: f64,
    /// Its degrees of freedom.
    pub sigma_df: f64,
    /// The margin of "same" it proposes, relative.
    pub default_margin: f64,
}

const LATEST: &str = "
    SELECT c.experiment, c.trials, c.level, c.sigma, c.sigma_df, c.default_margin, c.relative
    FROM calibration c JOIN experiment e ON e.id = c.experiment
    JOIN metric m ON m.experiment = c.experiment AND m.metric = c.metric
    WHERE c.metric = ?1 AND m.boundary IS ?2 AND e.machine = ?3 AND e.far IS ?4 AND c.system = ?5 AND e.load = ?6
      AND json_extract(e.header, '$.host') = ?7
    ORDER BY c.experiment DESC LIMIT 1";

impl Local {
    /// See [`crate::Store::noise`].
    pub(crate) fn latest_noise(
        &self,
        host: &str,
        started: &Started,
        metric: &Metric,
    ) -> Result<Option<CalibratedNoise>, StoreError> {
        let load = serde_json::to_string(&started.load).unwrap_or_default();
        let key = params![metric.name, metric.boundary, started.machine, started.others(), started.system, load, host];
        let noise = |row: &rusqlite::Row| {
            let (level, sigma): (f64, f64) = (row.get(2)?, row.get(3)?);
            let relative = row.get(6)? || level == 0.0;
            Ok(CalibratedNoise {
                experiment: row.get(0)?,
                trials: row.get(1)?,
                level,
                sigma: if relative { sigma } else { sigma / level.abs() },
                sigma_df: row.get(4)?,
                default_margin: row.get(5)?,
            })
        };
        let found = self.db.prepare_cached(LATEST).and_then(|mut query| query.query_row(key, noise).optional());
        found.map_err(|error| self.sqlite(&error))
    }
}

/// For which experiments the calibrations of one hold that began with this event on `host`: what [`LATEST`] compares but for the
/// metric and what its meter covers.
pub(crate) fn key_of_event(host: &str, event: &str) -> Option<String> {
    match serde_json::from_str(event) {
        Ok(Event::Started(started)) => Some(key(host, &started)),
        _ => None,
    }
}

/// The same from a plan that was resolved.
pub(crate) fn key(host: &str, started: &Started) -> String {
    let words = (host, &started.machine, &started.others(), &started.system, &started.load);
    serde_json::to_string(&words).unwrap_or_default()
}
