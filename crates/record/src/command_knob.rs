//! A knob that a plan declares by the commands that read and set it.
use serde::{Deserialize, Deserializer, Serialize};

/// What stands for the value in a command.
pub const VALUE: &str = "{value}";

/// The commands of one knob, each a line for `sh`, run in the folder `/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = extensible)]
pub struct CommandKnob {
    /// Prints the value in force, one line.
    pub get: String,
    /// Sets it to [`VALUE`].
    pub set: String,
    /// Sets it back, to the old value where it has [`VALUE`]; `set` with the old value when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// The values it takes; any when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "words")]
    pub values: Vec<String>,
    /// Under sudo its commands run as root, not as the user who called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_root: bool,
}

/// What is written may have more fields than it has today, although what is read may not.
pub(crate) fn extensible(schema: &mut schemars::Schema) {
    schema.remove("additionalProperties");
}

/// Texts, or whole numbers without quotes.
fn words<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a value is a text or a whole number")]
    enum Word {
        Number(i64),
        Text(String),
    }
    let words: Vec<Word> = Deserialize::deserialize(deserializer)?;
    let text = |word| match word {
        Word::Number(number) => number.to_string(),
        Word::Text(text) => text,
    };
    Ok(words.into_iter().map(text).collect())
}
