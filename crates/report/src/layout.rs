//! Text in lines for a terminal: made safe, folded, cut, and in tables with borders and without.
mod bordered;
mod fold;
mod plain;

pub(crate) use bordered::{LABELS, fit, frame};
pub(crate) use fold::{clean, columns, cut, cut_before, fold};
pub(crate) use plain::aligned;
