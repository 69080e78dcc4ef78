//! What can be wrong with numbers handed in. Nothing here is about files, clocks or machines.

/// Why no answer can be computed. Every variant names what the caller can change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A verdict was asked for before the first look.
    #[error("{have} complete blocks are too few: the first look comes after block {need}")]
    TooFewBlocks {
        /// Blocks that hold the reference and at least one other setting.
        have: usize,
        /// Blocks the first look needs.
        need: usize,
    },
    /// The table holds fewer than two valid trials.
    #[error("{have} valid trials are too few to compare anything")]
    TooFewTrials {
        /// Valid trials found.
        have: usize,
    },
    /// No block holds a valid trial of the reference.
    #[error("no valid trial of the reference: differences are taken inside a block, against it")]
    NoReference,
    /// There is nothing to compare with the reference.
    #[error("a comparison needs at least one setting besides the reference")]
    NoSettings,
    /// A value is NaN or infinite.
    #[error("the value of setting {setting} in block {block} is not a finite number")]
    NotFinite {
        /// The setting, 0 being the reference.
        setting: usize,
        /// The block, counted from 0.
        block: usize,
    },
    /// A value cannot be put on the logarithmic scale.
    #[error("the value {value} of setting {setting} in block {block} is not above zero, so it has no logarithm")]
    NotPositive {
        /// The setting, 0 being the reference.
        setting: usize,
        /// The block, counted from 0.
        block: usize,
        /// The value.
        value: f64,
    },
    /// A slot lies outside the table.
    #[error("the table has no place for setting {setting}, copy {copy}, in block {block}")]
    NoSuchCell {
        /// The setting, 0 being the reference.
        setting: usize,
        /// The copy.
        copy: usize,
        /// The block, counted from 0.
        block: usize,
    },
    /// A rule has a value it cannot have.
    #[error("{rule} cannot be {value}: {allowed}")]
    BadRule {
        /// Name of the rule.
        rule: &'static str,
        /// What was asked.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The rank-based path met two copies of the reference in one block.
    #[error("the rank-based path needs one trial of the reference a block; block {block} has two")]
    RobustNeedsOneReference {
        /// The block, counted from 0.
        block: usize,
    },
    /// The shape of an argument does not fit the table.
    #[error("{what}: {have} given, {need} needed")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        have: usize,
        /// How many there must be.
        need: usize,
    },
}
