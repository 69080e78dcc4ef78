//! The frame of every page: head, style, navigation, sections in order, data, script. One file, no request.
use super::data::PageData;
use super::html::text;
use super::policy::policy;

/// The style of all pages.
const STYLE: &str = include_str!("page.css");
/// What moves on them.
const SCRIPTS: [&str; 2] = [include_str!("page.js"), include_str!("zoom.js")];

/// What draws lines of many readings, on pages that have some: uPlot as its makers publish it, with its licence, and how it is used.
const PLOT_STYLE: &str = include_str!("uplot/uPlot.min.css");
const PLOT: [&str; 5] =
    ["/*\n", include_str!("uplot/LICENSE"), "*/\n", include_str!("uplot/uPlot.iife.min.js"), include_str!("dense.js")];

/// A section with its heading.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Its name in addresses.
    pub(super) id: &'static str,
    /// Its heading.
    pub(super) heading: &'static str,
    /// What it says; a section that says nothing is left out.
    pub(super) body: String,
}

impl Section {
    /// A section.
    pub(super) fn new(id: &'static str, heading: &'static str, body: String) -> Section {
        Section { id, heading, body }
    }
}

/// A whole page. `about` stands above the title, both plain text.
pub(super) fn document(
    title: &str,
    about: &str,
    sections: &[Section],
    data: &PageData,
) -> Result<String, serde_json::Error> {
    let sections: Vec<&Section> = sections.iter().filter(|section| !section.body.is_empty()).collect();
    let links: String = sections
        .iter()
        .map(|section| format!("<li><a href=\"#{}\">{}</a></li>", section.id, section.heading))
        .collect();
    let bodies: String = sections.iter().map(|section| told(section)).collect();
    let dense = data.pictures.iter().any(|picture| picture.dense.is_some());
    let (plot_style, plot) = if dense { (PLOT_STYLE, PLOT.concat()) } else { ("", String::new()) };
    let style = format!("\n{STYLE}{plot_style}");
    let scripts = SCRIPTS.into_iter().chain(Some(plot.as_str()).filter(|plot| !plot.is_empty()));
    let scripts: Vec<String> = scripts.map(|script| format!("\n{script}")).collect();
    let policy = policy([style.as_str()].into_iter(), scripts.iter().map(String::as_str));
    let scripts: String = scripts.iter().map(|script| format!("<script>{script}</script>\n")).collect();
    let (title, about, data) = (text(title), text(about), data.element()?);
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"powerband\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <header>\n<p class=\"about\">{about}</p>\n<h1>{title}</h1>\n\
         <nav aria-label=\"On this page\"><ul>{links}</ul></nav>\n</header>\n<main>\n{bodies}</main>\n\
         <footer><p>Written by powerband. This page is one file: it asks for nothing and sends nothing.</p></footer>\n\
         {data}{scripts}</body>\n</html>\n"
    ))
}

fn told(section: &Section) -> String {
    let Section { id, heading, body } = section;
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-heading\">\n<h2 id=\"{id}-heading\">{heading}</h2>\n{body}</section>\n"
    )
}
