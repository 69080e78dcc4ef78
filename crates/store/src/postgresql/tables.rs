//! The tables of the shared store: made where there are none, recognised where there are.
use super::connection::Connection;
use crate::StoreError;
use crate::schema::VERSION;

const TABLES: &str = include_str!("../../migrations/postgresql.sql");

/// What our schema says of itself.
const APPLICATION: &str = "powerband";

/// Two that make the tables at once take turns by this number: "PwBd".
const MAKING: i64 = 0x5077_4264;

/// Whether our tables are there.
///
/// # Errors
/// [`StoreError::NotOurs`], [`StoreError::NewerVersion`], or what the database says.
pub(super) fn are_there(connection: &Connection) -> Result<bool, StoreError> {
    // A lock is waited for as long as an answer: an experiment may wait too. A client that vanished loses its transaction.
    let seconds = connection.patience().as_secs();
    connection.batch(&format!("SET lock_timeout = '{seconds}s'; SET idle_in_transaction_session_timeout = '60s'"))?;
    recognise(connection)
}

/// Makes the tables where there are none.
///
/// # Errors
/// As [`are_there`].
pub(super) fn make(connection: &Connection) -> Result<(), StoreError> {
    if are_there(connection)? {
        return Ok(());
    }
    connection.transact(|| {
        connection.rows("SELECT 1 FROM pg_advisory_xact_lock($1)", &[&MAKING])?;
        if recognise(connection)? {
            return Ok(());
        }
        connection.batch(TABLES)?;
        let version = i32::try_from(VERSION).unwrap_or(i32::MAX);
        let stamp = "INSERT INTO powerband.store (application, version) VALUES ($1, $2)";
        connection.execute(stamp, &[&APPLICATION, &version]).map(drop)
    })
}

fn recognise(connection: &Connection) -> Result<bool, StoreError> {
    let there = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'powerband'),
                        (SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('powerband.store')
                         AND attname IN ('application', 'version') AND NOT attisdropped),
                        current_setting('server_encoding')";
    let row = connection.row(there, &[])?;
    let Some(row) = row else { return Ok(false) };
    let (schema, columns): (bool, i64) = (connection.column(&row, 0)?, connection.column(&row, 1)?);
    let encoding: String = connection.column(&row, 2)?;
    if !matches!(encoding.as_str(), "UTF8" | "SQL_ASCII") {
        let why = format!("its encoding is {encoding}, and text here is UTF8");
        return Err(StoreError::Server { place: connection.place().to_owned(), why });
    }
    if !schema {
        return Ok(false);
    }
    let not_ours = || StoreError::NotOurs { path: connection.place().into() };
    if columns != 2 {
        return Err(not_ours());
    }
    let row =
        connection.row("SELECT application::text, version::bigint FROM powerband.store", &[])?.ok_or_else(not_ours)?;
    let (application, version): (String, i64) = (connection.column(&row, 0)?, connection.column(&row, 1)?);
    if application != APPLICATION {
        return Err(not_ours());
    }
    match u32::try_from(version) {
        Ok(version) if version <= VERSION => Ok(true),
        found => Err(StoreError::NewerVersion {
            path: connection.place().into(),
            found: found.unwrap_or(u32::MAX),
            known: VERSION,
        }),
    }
}
