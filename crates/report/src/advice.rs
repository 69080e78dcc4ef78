//! What a reader may do about a finding: the setting it speaks for, and what to type to have it.
use powerband_record::{CloseReason, SearchEnd, Standing, Verdict};

use crate::model::missing;
use crate::{End, Model, Search, sentence};

/// What a reader may do about the finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Index of the setting.
    pub setting: u32,
    /// Why this one, in a sentence.
    pub why: String,
    /// What to type; absent where nothing can be turned, or it turns nothing.
    pub typed: Option<String>,
}

/// The setting the finding speaks for; absent when it speaks for none.
#[must_use]
pub fn advice(model: &Model) -> Option<Advice> {
    let (setting, why) = chosen(model)?;
    Some(Advice { setting, why, typed: sentence::typed_for(model, setting) })
}

fn chosen(model: &Model) -> Option<(u32, String)> {
    if model.started.search.is_some() {
        let Some(Search::Found(found)) = &model.search else { return None };
        let confirmed = found.setting.filter(|_| found.end == SearchEnd::Confirmed)?;
        return Some((confirmed, "the search confirmed it in trials of its own".into()));
    }
    if let Some(found) = &model.knee {
        return Some((found.knee?, "it is the cheapest setting that loses nothing in what was judged".into()));
    }
    let better: Vec<u32> =
        (1..).zip(model.settings.iter().skip(1)).filter(|(at, _)| is_better(model, *at)).map(|(at, _)| at).collect();
    let (first, _) = model.judged().next()?;
    let gain = |at: &u32| {
        let verdict = model.settings.get(usize::try_from(*at).ok()?)?.verdicts.get(first)?.as_ref()?;
        Some(verdict.change.abs())
    };
    let best = better.iter().copied().max_by(|a, b| gain(a).unwrap_or(0.0).total_cmp(&gain(b).unwrap_or(0.0)))?;
    Some((
        best,
        match better.len() {
            1 => "it is better than the reference and worse in nothing that was judged".into(),
            several => format!(
                "of {several} settings that are better than the reference and worse in nothing that was judged it has the largest estimated gain; \
             they were compared with the reference, not with one another"
            ),
        },
    ))
}

/// Better in something, worse and open in nothing, within all that is required.
fn is_better(model: &Model, at: u32) -> bool {
    let Some(setting) = usize::try_from(at).ok().and_then(|at| model.settings.get(at)) else { return false };
    let verdicts = || setting.verdicts.iter().flatten().map(|verdict| verdict.verdict);
    verdicts().any(|verdict| verdict == Verdict::Better)
        && verdicts().all(|verdict| matches!(verdict, Verdict::Better | Verdict::Same))
        && model.requirements.iter().filter(|it| it.setting == at).all(|it| it.standing == Standing::Holds)
}

/// Most blocks that are advised: above it another way is wanted, longer trials or a larger margin.
const BEARABLE: u32 = 1_000;

/// Options that say how many blocks there are.
const COUNTS: [&str; 7] = ["--blocks", "--runs", "-r", "--min-runs", "-m", "--max-runs", "-M"];

/// The words it was called with and as many blocks as would decide what is undecided; where it ended for its most blocks only.
#[must_use]
pub fn deciding(model: &Model) -> Option<String> {
    let header = model.header.as_ref()?;
    let ended = matches!(model.end, End::Closed(CloseReason::Blocks)) && model.started.search.is_none();
    let verdicts = model.settings.iter().flat_map(|setting| &setting.verdicts).flatten();
    let open = verdicts.filter(|verdict| verdict.verdict == Verdict::Undecided);
    let most = open.filter_map(missing).map(|(_, high)| high).max()?;
    let blocks = model.blocks.saturating_add(most);
    if !ended || blocks > BEARABLE {
        return None;
    }
    let (ours, load) = match header.command_line.iter().position(|word| word == "--") {
        Some(at) => header.command_line.split_at(at),
        None => (header.command_line.as_slice(), [].as_slice()),
    };
    let mut words: Vec<String> = Vec::new();
    let mut skipped = false;
    for word in ours {
        let value = std::mem::take(&mut skipped);
        skipped = COUNTS.contains(&word.as_str());
        let joined = COUNTS.iter().any(|option| word.starts_with(&format!("{option}=")));
        if !value && !skipped && !joined {
            words.push(sentence::quoted(word));
        }
    }
    words.extend(["--blocks".to_owned(), blocks.to_string()]);
    words.extend(load.iter().map(|word| sentence::quoted(word)));
    Some(words.join(" "))
}
