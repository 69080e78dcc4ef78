//! Knobs on a machine made of a map of files.
mod fake;
mod landing;
mod names_and_values;
mod restoring;
