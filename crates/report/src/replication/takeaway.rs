//! What readers of the articles should take away: one sentence that follows from the results of the claims it rests on.
use serde::Serialize;

use super::{ClaimOutcome, Judged, Replication};
use crate::published::Takeaway;
use crate::words::capital;

/// What readers of an article should take away, and whether the claim it rests on holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CheckedTakeaway {
    /// A clause.
    pub text: String,
    /// Name of the claim it rests on.
    pub claim: String,
    /// Whether that claim holds.
    pub holds: ClaimOutcome,
}

impl CheckedTakeaway {
    /// Returns nothing where no claim has that name.
    pub(super) fn new(of: &Takeaway, claims: &[Judged]) -> Option<CheckedTakeaway> {
        let claim = claims.iter().find(|claim| claim.id == of.claim)?;
        Some(CheckedTakeaway { text: of.text.clone(), claim: of.claim.clone(), holds: claim.holds })
    }
}

/// Returns one sentence, without its full stop, on what holds again, what does not and what is open; nothing where no article
/// names anything to take away.
#[must_use]
pub fn takeaway(articles: &[Replication]) -> Option<String> {
    let of = |results: &[ClaimOutcome]| {
        let all = articles.iter().filter_map(|article| article.takeaway.as_ref());
        let clauses = all.filter(|of| results.contains(&of.holds)).map(|of| match of.holds {
            ClaimOutcome::Deviates => format!("{} (with a deviation)", of.text),
            _ => of.text.clone(),
        });
        clauses.collect::<Vec<_>>().join(", ")
    };
    let parts = [
        ("repeated on models of these machines", of(&[ClaimOutcome::Yes, ClaimOutcome::Deviates])),
        ("not confirmed", of(&[ClaimOutcome::No])),
        ("not decided", of(&[ClaimOutcome::Tie, ClaimOutcome::NotTried, ClaimOutcome::Undecidable])),
    ];
    let parts = parts.iter().filter(|(_, clauses)| !clauses.is_empty());
    let sentence = parts.map(|(head, clauses)| format!("{head}: {clauses}")).collect::<Vec<_>>().join("; ");
    (!sentence.is_empty()).then(|| capital(&sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::Published;

    fn article(text: &str, holds: ClaimOutcome) -> Replication {
        Replication {
            name: "n".into(),
            title: "t".into(),
            takeaway: Some(CheckedTakeaway { text: text.into(), claim: "c".into(), holds }),
            ran: vec![],
            points: vec![],
            tables: vec![],
            figures: vec![],
            claims: vec![],
        }
    }

    #[test]
    fn a_takeaway_that_rests_on_no_claim_is_refused() {
        let text = |claim: &str| {
            format!(
                "[source]\ntitle = 't'\nabout = 'a'\nlanguage = 'l'\nfigures = 'text'\n\
                 takeaway = {{ text = 'x', claim = '{claim}' }}\n[machine]\n[experiment]\n\
                 [[claim]]\nid = 'c'\nkind = 'finding'\ntext = 't'\nunchecked = 'why'\n"
            )
        };
        assert!(Published::parse(&text("c")).is_ok());
        let why = Published::parse(&text("d")).unwrap_err().to_string();
        assert!(why.starts_with("claim 'd': the takeaway rests on it"), "{why}");
    }

    #[test]
    fn nothing_is_said_to_hold_that_does_not() {
        let of = |all: &[(&str, ClaimOutcome)]| {
            takeaway(&all.iter().map(|(text, holds)| article(text, *holds)).collect::<Vec<_>>())
        };
        let mixed = [
            ("a", ClaimOutcome::Yes),
            ("b", ClaimOutcome::No),
            ("c", ClaimOutcome::Deviates),
            ("d", ClaimOutcome::Tie),
        ];
        let says = "Repeated on models of these machines: a, c (with a deviation); not confirmed: b; not decided: d";
        assert_eq!(of(&mixed).as_deref(), Some(says));
        assert_eq!(of(&[("b", ClaimOutcome::No)]).as_deref(), Some("Not confirmed: b"));
        assert_eq!(of(&[]), None);
    }
}
