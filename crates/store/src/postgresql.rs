//! The shared store: a local SQLite file that is written first, and a PostgreSQL database that it is delivered to.
mod address;
mod connection;
mod database;
mod password;
mod shared;
mod tables;
mod tls;

pub(crate) use shared::Shared;
