//! What values a knob that is one plain file takes, how they are listed, and when what reads there is what was asked.
use powerband_machine::Look;

use crate::knob::release;
use crate::value::parse_number;
use crate::{About, KnobError, Site, Value};

/// The values of a plain file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// 0 and 1; `on` and `off` are understood.
    Flag,
    /// A whole number between two bounds, both allowed.
    Number {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A whole number between two bounds, which changed with a kernel.
    Since {
        /// The least and the most before that kernel.
        before: (u64, u64),
        /// The kernel.
        since: (u32, u32, u32),
        /// The least and the most from then on.
        then: (u64, u64),
    },
    /// A whole number between two bounds, raised to what a file of the same folder shows by this kernel and later ones.
    Raised {
        /// The least that is not refused.
        least: u64,
        /// The most.
        most: u64,
        /// Name of the file.
        to: &'static str,
        /// The kernel.
        since: (u32, u32, u32),
    },
    /// A whole number up to a bound, or a word.
    NumberOr {
        /// The word.
        word: &'static str,
        /// The most.
        most: u64,
    },
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, each for a number, or a number up to the last of them; the kernel shows the number.
    Named(&'static [(&'static str, u64)]),
    /// One of the words that a file of the same folder lists, or a number where the driver takes raw ones up to this.
    Listed {
        /// Name of the file.
        file: &'static str,
        /// The highest raw number; `None` for words alone.
        raw: Option<u64>,
    },
    /// Any line of text.
    Line,
}

/// Beyond this, listing every number helps nobody.
const LISTED: u64 = 10_000;

impl Takes {
    pub(super) fn parse(
        self,
        about: &About,
        name: &str,
        text: &str,
        machine: &mut dyn Look,
        site: &Site,
    ) -> Result<Value, KnobError> {
        let text = text.trim();
        let wrong = |why: String| KnobError::value(name, why);
        let number = |least, most| parse_number(text, least, most, about.unit).map(Value::Number).map_err(wrong);
        match self {
            Takes::Flag => match text.to_lowercase().as_str() {
                "on" => Ok(Value::Number(1)),
                "off" => Ok(Value::Number(0)),
                _ => number(0, 1),
            },
            Takes::Number { least, most } | Takes::Raised { least, most, .. } => number(least, most),
            Takes::Since { .. } => self.here(machine).parse(about, name, text, machine, site),
            Takes::NumberOr { word, .. } if text.eq_ignore_ascii_case(word) => Ok(Value::Word(word.to_owned())),
            Takes::NumberOr { most, .. } => number(0, most),
            Takes::Words(words) => one_of(words.iter().copied(), text).map(Value::Word).map_err(wrong),
            Takes::Named(names) => match names.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
                Some(&(_, number)) => Ok(Value::Number(number)),
                None if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() => {
                    number(0, names.last().map_or(0, |&(_, most)| most))
                }
                None => one_of(names.iter().map(|&(word, _)| word), text).map(Value::Word).map_err(wrong),
            },
            Takes::Listed { file, raw } => {
                let raw = raw.filter(|_| text.parse::<u64>().is_ok());
                if let Some(most) = raw {
                    return number(0, most);
                }
                let listed = listed(file, machine, site);
                if listed.is_empty() {
                    return Ok(Value::Word(text.to_owned()));
                }
                one_of(listed.iter().map(String::as_str), text).map(Value::Word).map_err(wrong)
            }
            Takes::Line if text.is_empty() || text.contains('\n') => Err(wrong("it takes one line of text".into())),
            Takes::Line => Ok(Value::Text(text.to_owned())),
        }
    }

    /// The same with the bounds of this machine's kernel.
    fn here(self, machine: &dyn Look) -> Takes {
        let Takes::Since { before, since, then } = self else { return self };
        // A kernel that does not say its release is taken for a new one.
        let is_old = ((0, 0, 1)..since).contains(&release(machine));
        let (least, most) = if is_old { before } else { then };
        Takes::Number { least, most }
    }

    pub(super) fn choices(self, machine: &mut dyn Look, site: &Site) -> Vec<Value> {
        match self {
            Takes::Flag => vec![Value::Number(0), Value::Number(1)],
            Takes::Number { least, most } if most - least < LISTED => (least..=most).map(Value::Number).collect(),
            Takes::Since { .. } => self.here(machine).choices(machine, site),
            Takes::Words(words) => words.iter().map(|&word| Value::Word(word.to_owned())).collect(),
            Takes::Named(names) => names.iter().map(|&(_, number)| Value::Number(number)).collect(),
            Takes::Listed { file, .. } => listed(file, machine, site).into_iter().map(Value::Word).collect(),
            Takes::Number { .. } | Takes::Raised { .. } | Takes::NumberOr { .. } | Takes::Line => Vec::new(),
        }
    }

    pub(super) fn becomes(self, value: &Value, machine: &mut dyn Look, site: &Site) -> Option<Value> {
        let (Takes::Raised { to, since, .. }, Value::Number(asked)) = (self, value) else { return None };
        let least = neighbour(to, machine, site)?.trim().parse().ok()?;
        (*asked < least && release(machine) >= since).then_some(Value::Number(least))
    }

    pub(super) fn same(self, asked: &Value, reads: &str) -> bool {
        let reads = reads.trim();
        match (self, asked) {
            // Where the kernel shows a word, it is one of those the number has.
            (Takes::Named(names), Value::Number(asked)) => {
                let shown = names.iter().find(|(word, _)| *word == reads).map(|&(_, number)| number);
                shown.or_else(|| reads.parse().ok()) == Some(*asked)
            }
            (_, Value::Number(asked)) => reads.parse() == Ok(*asked),
            (Takes::Line, asked) => asked.typed().split_whitespace().eq(reads.split_whitespace()),
            (_, asked) => asked.typed().eq_ignore_ascii_case(reads),
        }
    }
}

/// The word of a list that was typed, in the list's own spelling.
fn one_of<'w>(words: impl Iterator<Item = &'w str> + Clone, text: &str) -> Result<String, String> {
    match words.clone().find(|word| word.eq_ignore_ascii_case(text)) {
        Some(word) => Ok(word.to_owned()),
        None => Err(format!("'{text}' is none of its values here: {}", words.collect::<Vec<_>>().join(", "))),
    }
}

fn listed(file: &str, machine: &mut dyn Look, site: &Site) -> Vec<String> {
    neighbour(file, machine, site).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Another file of the site's folder.
fn neighbour(file: &str, machine: &mut dyn Look, site: &Site) -> Option<String> {
    let (folder, _) = site.path.as_deref()?.rsplit_once('/')?;
    machine.read(&format!("{folder}/{file}")).ok()
}

/// The methods of a knob that has the values of a [`Takes`], and need not be written where it reads what is asked.
macro_rules! valued_by {
    ($knob:ident => $takes:expr) => {
        fn parse(&$knob, name: &str, text: &str, machine: &mut dyn Look, site: &Site) -> Result<Value, KnobError> {
            $takes.parse($knob.about(), name, text, machine, site)
        }

        fn choices(&$knob, machine: &mut dyn Look, site: &Site) -> Vec<Value> {
            $takes.choices(machine, site)
        }

        fn becomes(&$knob, value: &Value, machine: &mut dyn Look, site: &Site) -> Option<Value> {
            $takes.becomes(value, machine, site)
        }

        fn skips_when_equal(&$knob) -> bool {
            true
        }

        fn same(&$knob, asked: &Value, reads: &str) -> bool {
            $takes.same(asked, reads)
        }
    };
}

pub(super) use valued_by;
