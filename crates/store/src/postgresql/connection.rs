//! One connection to a database, with a time limit on every answer.
//!
//! The client is asynchronous, as only such a one can stop waiting. What drives it runs on the calling thread while a call waits,
//! and at no other time.
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use super::address::{Address, CONNECT, words};
use super::tls::Tls;
use crate::StoreError;

/// Values of a statement's parameters.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

pub(super) struct Connection {
    runtime: Runtime,
    client: Client,
    statements: RefCell<BTreeMap<String, Statement>>,
    place: String,
    patience: Duration,
    /// When no answer is waited for any more, where there is such a time.
    deadline: Cell<Option<Instant>>,
}

impl Connection {
    /// Connects; no answer may take longer than `patience`.
    pub(super) fn open(address: &Address, patience: Duration) -> Result<Connection, StoreError> {
        let place = address.place.clone();
        let cannot = |why: String| StoreError::Server { place: place.clone(), why };
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| cannot(words(&error)))?;
        let tls = Tls::new(&address.trust).map_err(cannot)?;
        let connected = runtime.block_on(async { timeout(CONNECT, address.config.connect(tls)).await });
        let (client, driver) = match connected {
            Ok(connected) => connected.map_err(|error| sorted(&place, &error))?,
            Err(_) => return Err(silent(&place, CONNECT)),
        };
        // Its end is seen by the next statement.
        runtime.spawn(async move { driver.await.ok() });
        Ok(Connection { runtime, client, statements: RefCell::default(), place, patience, deadline: Cell::new(None) })
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Waits for answers until then; without a time, each as long as patience lasts.
    pub(super) fn wait_until(&self, deadline: Option<Instant>) {
        self.deadline.set(deadline);
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        let left = self.deadline.get().map(|at| at.saturating_duration_since(Instant::now()));
        let patience = left.map_or(self.patience, |left| left.min(self.patience));
        match self.runtime.block_on(async { timeout(patience, answer).await }) {
            Ok(answered) => answered.map_err(|error| sorted(&self.place, &error)),
            Err(_) => Err(silent(&self.place, self.patience)),
        }
    }

    fn prepared(&self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.wait(self.client.prepare(sql))?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(super) fn rows(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepared(sql)?;
        self.wait(self.client.query(&statement, values))
    }

    pub(super) fn row(&self, sql: &str, values: Values<'_>) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    pub(super) fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64, StoreError> {
        let statement = self.prepared(sql)?;
        self.wait(self.client.execute(&statement, values))
    }

    /// Appends rows to a table, `into` as in `table (column, …)`; a key that is there already is refused as by INSERT.
    pub(super) fn copy<'v, const N: usize>(
        &self,
        into: &str,
        types: [Type; N],
        rows: impl Iterator<Item = [&'v (dyn ToSql + Sync); N]>,
    ) -> Result<(), StoreError> {
        let statement = self.prepared(&format!("COPY {into} FROM STDIN BINARY"))?;
        self.wait(async {
            let mut writer = pin!(BinaryCopyInWriter::new(self.client.copy_in(&statement).await?, &types));
            for row in rows {
                writer.as_mut().write(&row).await?;
            }
            writer.finish().await.map(drop)
        })
    }

    /// Runs statements without parameters.
    pub(super) fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Does something in one transaction, which is rolled back when it fails.
    pub(super) fn transact<T>(&self, act: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.batch("BEGIN")?;
        match act() {
            Ok(done) => self.batch("COMMIT").map(|()| done),
            Err(error) => {
                // A server that is away rolls back alone.
                if !matches!(error, StoreError::Unreachable { .. }) {
                    self.batch("ROLLBACK")?;
                }
                Err(error)
            }
        }
    }

    /// The value of a column, which is one of ours.
    pub(super) fn column<'r, T: tokio_postgres::types::FromSql<'r>>(
        &self,
        row: &'r Row,
        column: usize,
    ) -> Result<T, StoreError> {
        row.try_get(column).map_err(|error| StoreError::Server { place: self.place.clone(), why: words(&error) })
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("place", &self.place).finish_non_exhaustive()
    }
}

fn silent(place: &str, patience: Duration) -> StoreError {
    StoreError::Unreachable { place: place.to_owned(), why: format!("no answer within {} s", patience.as_secs()) }
}

/// SQLSTATE classes after which the same may work later: connection lost, rolled back for others, out of something, busy, shut down.
const LATER: [&str; 6] = ["08", "40", "53", "55P03", "57P0", "58"];

/// SQLSTATE class of a user or password that is not known, and the code of a right that is missing.
const DENIED: [&str; 2] = ["28", "42501"];

/// An error by what can be done about it.
fn sorted(place: &str, error: &Error) -> StoreError {
    let place = place.to_owned();
    if let Some(said) = error.as_db_error() {
        let why = said.message().to_owned();
        let is_of = |classes: &[&str]| classes.iter().any(|class| said.code().code().starts_with(class));
        return match () {
            () if is_of(&LATER) => StoreError::Unreachable { place, why },
            () if is_of(&DENIED) => StoreError::Denied { place, why },
            () => StoreError::Server { place, why },
        };
    }
    let why = words(error);
    let later = error.is_closed() || is_of_the_system(error) && !why.contains("TLS");
    if later { StoreError::Unreachable { place, why } } else { StoreError::Server { place, why } }
}

fn is_of_the_system(error: &Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.is::<io::Error>() {
            return true;
        }
        source = cause.source();
    }
    // A limit on connecting is an error without a cause.
    error.to_string().contains("timed out")
}
