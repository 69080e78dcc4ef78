//! Results: an append-only event table in SQLite, from which the rest is derived.
