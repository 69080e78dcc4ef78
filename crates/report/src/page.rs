//! A page of HTML in one file: what an experiment found, or a comparison, a fleet, or articles done again. It opens offline,
//! asks for nothing, and an experiment's page can be run again from itself.
//!
//! Written by a small writer of our own (`html`): what comes from outside passes one function that makes it text, and
//! the pages are few and short; a template engine would bring a language and a build step and no more safety.
use powerband_record::Event;

use crate::comparison::Comparison;
use crate::fleet::FleetAnswer;
use crate::json::Report;
use crate::load;
use crate::picture::{Picture, claims_picture};
use crate::replication::Replication;
use crate::{Model, sentence};

mod account;
mod compared;
mod data;
mod figure;
mod fleets;
mod frame;
mod html;
mod policy;
mod replicated;
mod settings;
mod verdict;

pub use account::Account;
use data::PageData;
pub use data::{PageError, PageOrigin, VERSION, data_in};

use frame::{Section, document};

/// The page of one experiment: a model with its header, the events it was gathered from, pictures of them.
///
/// # Errors
/// None with the shapes of this crate; serde's signature has one.
pub fn experiment(model: &Model, events: &[Event], pictures: &[Picture]) -> Result<String, serde_json::Error> {
    let account = Account::from_events(events);
    let mut data = PageData::new("experiment", pictures);
    data.report = Some(Report::new(model));
    data.plan = Some(model.started.clone());
    let (lead, others) = figure::parted(model, pictures);
    let sections = [
        Section::new("verdict", "Verdict", verdict::section(model, lead)),
        Section::new("notes", "Caveats", html::list(&sentence::notes(model))),
        Section::new("settings", "Settings", settings::section(model)),
        Section::new("pictures", "Charts", figure::figures(others)),
        Section::new("measured", "Metrics", account::measured(model)),
        Section::new("plan", "Plan", account::plan(model)),
        Section::new("machine", "Machine", account::machine(model, &account)),
        Section::new("trials", "Void trials", account::trials(model, &account)),
        Section::new("cost", "Overhead", account::cost(model)),
        Section::new("origin", "Provenance", account::origin(model)),
    ];
    document(&title(model), &about(model), &sections, &data)
}

/// The page of two experiments, or measurements made elsewhere, side by side.
///
/// # Errors
/// As [`experiment`].
pub fn comparison(of: &Comparison, models: &[Model], pictures: &[Picture]) -> Result<String, serde_json::Error> {
    let mut data = PageData::new("comparison", pictures);
    data.comparison = Some(of.clone());
    data.compared = models.iter().filter_map(|model| Report::new(model).header).collect();
    document("Comparison", "powerband compare", &compared::sections(of, models, pictures), &data)
}

/// The page of a fleet: one plan on many nodes.
///
/// # Errors
/// As [`experiment`].
pub fn fleet(of: &FleetAnswer, pictures: &[Picture]) -> Result<String, serde_json::Error> {
    let mut data = PageData::new("fleet", pictures);
    data.fleet = Some(of.clone());
    let title = of.title.clone().unwrap_or_else(|| "One plan on many nodes".to_owned());
    document(&title, "powerband fleet report", &fleets::sections(of, pictures), &data)
}

/// The page of published articles done again.
///
/// # Errors
/// As [`experiment`].
pub fn replication(articles: &[Replication], pictures: &[Vec<Picture>]) -> Result<String, serde_json::Error> {
    let summary = claims_picture(articles);
    let all: Vec<Picture> = summary.iter().chain(pictures.iter().flatten()).cloned().collect();
    let mut data = PageData::new("replication", &all);
    data.replications = Some(serde_json::to_value(articles)?);
    let title = match articles {
        [one] => one.title.clone(),
        _ => "Published experiments, repeated".to_owned(),
    };
    document(&title, "powerband replicate", &replicated::sections(articles, summary.as_ref(), pictures), &data)
}

/// What an experiment is called.
fn title(model: &Model) -> String {
    match (&model.started.title, &model.header) {
        (Some(title), _) => title.clone(),
        (None, Some(header)) => format!("Experiment {} on {}", header.id, model.started.machine),
        (None, None) => format!("An experiment on {}", model.started.machine),
    }
}

fn about(model: &Model) -> String {
    let id = model.header.as_ref().map(|header| format!(" · experiment {}", header.id)).unwrap_or_default();
    let machine = &model.started.machine;
    let simulated = if model.is_simulated() { ", a simulated machine" } else { "" };
    format!("powerband{id} · {machine}{simulated} · {}", load::load_of(model))
}
