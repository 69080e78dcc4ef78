//! The one JSON value of a page: what it says, and what is needed to do it again; written so that nothing in it can end
//! its element, and read back out of a page.
use powerband_record::Started;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::comparison::Comparison;
use crate::fleet::FleetAnswer;
use crate::json::{Header, Report};
use crate::picture::{Dense, Picture};

/// Version of the value.
pub const VERSION: u32 = 1;

/// What stands before the value in a page: then its checksum, `">`, the value, and the end of its element.
const BEFORE: &str = "<script type=\"application/json\" id=\"powerband\" data-fnv1a=\"";
/// Behind the checksum.
const BEGIN: &str = "\">";
/// Behind the value.
const END: &str = "</script>";

/// Why a text is no page of ours.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PageError {
    /// It holds no value of ours.
    #[error("it is not a page that `powerband report` wrote")]
    NotOurs,
    /// The value is not what was written.
    #[error("the page is damaged: {0}; `powerband report ID -o FILE.html` writes it anew where its experiment is kept")]
    Damaged(String),
    /// A newer powerband wrote it.
    #[error(
        "the page has version {0}, this powerband reads version {VERSION}; take the powerband that wrote it, or a newer one"
    )]
    Version(u32),
}

/// A page as data, for the scripts in it and for programs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PageData {
    /// [`VERSION`].
    pub version: u32,
    /// `experiment`, `comparison`, `fleet` or `replication`.
    pub kind: String,
    /// What is reported of an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// Its plan as resolved, with machine and seed: it can be run again from this alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Started>,
    /// What a comparison says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Who, when and where of the experiments compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<Header>,
    /// What a fleet found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetAnswer>,
    /// Articles done again, as `replicate --json` tells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replications: Option<serde_json::Value>,
    /// What each picture shows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PictureData>,
}

/// A picture as a table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PictureData {
    /// Its name on the page.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// Its lines in more detail, which a script draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense: Option<Dense>,
}

impl PageData {
    /// A value of this kind that says nothing yet.
    pub(super) fn new(kind: &str, pictures: &[Picture]) -> PageData {
        let picture = |picture: &Picture| PictureData {
            id: picture.id.clone(),
            title: picture.title.clone(),
            columns: picture.columns.clone(),
            rows: picture.rows.clone(),
            dense: picture.dense.clone(),
        };
        PageData {
            version: VERSION,
            kind: kind.into(),
            report: None,
            plan: None,
            comparison: None,
            compared: Vec::new(),
            fleet: None,
            replications: None,
            pictures: pictures.iter().map(picture).collect(),
        }
    }

    /// The element that holds it.
    ///
    /// # Errors
    /// None with the shapes of this file; serde's signature has one.
    pub(super) fn element(&self) -> Result<String, serde_json::Error> {
        let value = closed_in(&serde_json::to_string(self)?);
        Ok(format!("{BEFORE}{:016x}{BEGIN}{value}{END}\n", fnv1a(value.as_bytes())))
    }
}

/// What a page can be run again from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageOrigin {
    /// The plan of its experiment as resolved; none on a page of several.
    pub plan: Option<Started>,
    /// The host it was measured on.
    pub host: Option<String>,
}

impl PageOrigin {
    /// Reads it out of a page.
    ///
    /// # Errors
    /// [`PageError`] when the page is none of ours, not whole, or of a newer version.
    pub fn read(page: &str) -> Result<PageOrigin, PageError> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        #[derive(Deserialize)]
        struct Page {
            plan: Option<Started>,
            report: Option<Reported>,
        }
        #[derive(Deserialize)]
        struct Reported {
            header: Option<Origin>,
        }
        #[derive(Deserialize)]
        struct Origin {
            host: String,
        }
        let unreadable = |error: serde_json::Error| PageError::Damaged(format!("its data cannot be read ({error})"));
        let value = data_in(page)?;
        match serde_json::from_str::<Versioned>(value).map_err(unreadable)?.version {
            VERSION => {}
            other => return Err(PageError::Version(other)),
        }
        let Page { plan, report } = serde_json::from_str(value).map_err(unreadable)?;
        let host = report.and_then(|report| report.header).map(|origin| origin.host);
        Ok(PageOrigin { plan, host })
    }
}

/// The data of a page, as JSON, whatever its version.
///
/// # Errors
/// [`PageError`] when the page is none of ours or not whole.
pub fn data_in(page: &str) -> Result<&str, PageError> {
    let (_, rest) = page.split_once(BEFORE).ok_or(PageError::NotOurs)?;
    let damaged = |why: &str| PageError::Damaged(why.to_owned());
    let (sum, rest) = rest.split_once(BEGIN).ok_or_else(|| damaged("its data is cut off"))?;
    let (value, _) = rest.split_once(END).ok_or_else(|| damaged("its data is cut off"))?;
    if u64::from_str_radix(sum, 16).ok() != Some(fnv1a(value.as_bytes())) {
        return Err(damaged("its data is not what was written"));
    }
    Ok(value)
}

/// JSON in which no character can end a script element, begin a comment or steer the writing around it: all of them
/// stand in strings only, where their escapes mean the same.
fn closed_in(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<'
            | '>'
            | '&'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): against what transport and editors do to a file, not against who means harm.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
