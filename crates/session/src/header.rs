//! What the store keeps of an experiment besides its events: who measured, where, and at what overhead.
use powerband_record::{ExperimentHeader, FleetTask, JOURNAL_VERSION};
use powerband_store::{Store, without_password};

use crate::SessionError;

/// The header of an experiment that begins now, and of which fleet it is a part.
pub(crate) fn header(command_line: &[String], fleet: Option<FleetTask>) -> ExperimentHeader {
    ExperimentHeader {
        journal_version: JOURNAL_VERSION,
        id: 0,
        run: powerband_host::random_key().ok(),
        fleet,
        started_unix_s: powerband_host::unix_time_s(),
        host: powerband_host::hostname(),
        powerband: env!("CARGO_PKG_VERSION").into(),
        command_line: command_line.iter().map(|word| without_passwords(word)).collect(),
        folder: std::env::current_dir().ok().map(|folder| folder.display().to_string()),
        owner: Some(powerband_host::this_process()),
        resumed: Vec::new(),
        observer_cpu_s: None,
        observer_wakeups: None,
    }
}

/// Writes down the overhead of measuring, added to that of before if the experiment was resumed.
pub(crate) fn finish(store: &mut Store, id: i64) -> Result<(), SessionError> {
    let usage = powerband_host::observer_usage();
    let mut header = store.header(id)?;
    header.observer_cpu_s = Some(usage.cpu_s + header.observer_cpu_s.unwrap_or(0.0));
    header.observer_wakeups = Some(usage.wakeups + header.observer_wakeups.unwrap_or(0));
    Ok(store.update_header(id, &header)?)
}

/// A word of a command line as it is written down: the URL of a store without its password.
#[must_use]
pub fn without_passwords(word: &str) -> String {
    match word.split_once('=') {
        Some(("--store", url)) => format!("--store={}", without_password(url)),
        _ => without_password(word),
    }
}
