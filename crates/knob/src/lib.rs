//! Something you can turn: the catalogue, landing, order, snapshot and restore.
