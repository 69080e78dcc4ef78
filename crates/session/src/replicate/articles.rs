//! The articles and plans this program carries, so that it can do them again anywhere.
use powerband_report::published::Published;

use crate::SessionError;

/// One article.
#[derive(Clone, Copy, Debug)]
pub struct Article {
    /// Name of its file in `published/`.
    pub name: &'static str,
    /// The file.
    pub(super) text: &'static str,
}

impl Article {
    /// Reads the file.
    ///
    /// # Errors
    /// None with the files that are carried.
    pub(super) fn published(&self) -> Result<Published, SessionError> {
        Published::parse(self.text).map_err(|error| SessionError::Failed(format!("{}: {error}", self.name)))
    }
}

macro_rules! article {
    ($name:literal) => {
        Article { name: $name, text: include_str!(concat!("../../published/", $name, ".toml")) }
    };
}

macro_rules! plan {
    ($name:literal) => {
        ($name, include_str!(concat!("../../plans/", $name, ".toml")))
    };
}

/// In the order in which they were published.
const ARTICLES: [Article; 5] = [
    article!("router-omap3530"),
    article!("counter-quadcore"),
    article!("governors-x3650"),
    article!("coalesce-cyclone5"),
    article!("mpi-governors"),
];

const PLANS: &[(&str, &str)] = &[
    plan!("router"),
    plan!("router-idle"),
    plan!("router-busy"),
    plan!("router-clients"),
    plan!("counter"),
    plan!("counter-idle"),
    plan!("wake-background"),
    plan!("ping-background"),
    plan!("governors-ladder"),
    plan!("governors-gathered"),
    plan!("governors-shop-500"),
    plan!("governors-shop-1000"),
    plan!("governors-shop-2000"),
    plan!("coalesce-ping"),
    plan!("coalesce-window"),
    plan!("coalesce-stream"),
    plan!("coalesce-usecs"),
    plan!("coalesce-segment-128"),
    plan!("coalesce-segment-512"),
    plan!("coalesce-write-128"),
    plan!("coalesce-size-64"),
    plan!("coalesce-size-512"),
    plan!("coalesce-size-1448"),
    plan!("mpi-governors"),
    plan!("mpi-idle"),
];

/// The text of a built-in plan.
pub(super) fn plan(name: &str) -> Option<&'static str> {
    PLANS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The article of this name, or of the only name that begins so.
///
/// # Errors
/// A sentence with the names there are.
pub fn named(word: &str) -> Result<Article, SessionError> {
    let exact = ARTICLES.iter().find(|article| article.name == word);
    let mut begun = ARTICLES.iter().filter(|article| article.name.starts_with(word));
    let found = exact.or_else(|| begun.next().filter(|_| begun.next().is_none()));
    let names = || ARTICLES.map(|article| article.name).join(", ");
    found
        .copied()
        .ok_or_else(|| SessionError::Usage(format!("there is no article '{word}' to do again; there are {}", names())))
}

/// All of them.
#[must_use]
pub fn all() -> Vec<Article> {
    ARTICLES.to_vec()
}
