//! The sections of a page of articles done again: how many claims hold, then each article's claims, pictures, figures.
use super::figure::figures;
use super::frame::Section;
use super::html::{Cell, Row, Table, facts, list, paragraph, text};
use super::verdict::{finding, led};
use crate::picture::Picture;
use crate::replication::decide::number;
use crate::replication::text::{summed, word};
use crate::replication::{ClaimOutcome, Judged, MeasuredMeans, Point, Replication, takeaway};
use crate::words::counted;

pub(super) fn sections(articles: &[Replication], summary: Option<&Picture>, pictures: &[Vec<Picture>]) -> Vec<Section> {
    let bodies: String = articles
        .iter()
        .enumerate()
        .map(|(at, article)| article_of(article, pictures.get(at).map_or(&[], Vec::as_slice)))
        .collect();
    vec![Section::new("verdict", "Verdict", verdict(articles, summary)), Section::new("articles", "Articles", bodies)]
}

fn verdict(articles: &[Replication], summary: Option<&Picture>) -> String {
    let points = || articles.iter().flat_map(|article| &article.points).filter_map(Point::holds);
    let within = points().filter(|holds| *holds).count();
    let sizes: (usize, usize) =
        articles.iter().map(Replication::sizes).fold((0, 0), |all, of| (all.0 + of.0, all.1 + of.1));
    let of = |(all, within): (usize, usize)| if all == 0 { String::new() } else { format!("{within} of {all}") };
    let sure = facts(&[
        // Not every article published numbers that are to be met.
        ("Numbers within tolerance", of((points().count(), within))),
        ("Sizes within their factor", of(sizes)),
    ]);
    let kinds = [
        &[ClaimOutcome::Yes][..],
        &[ClaimOutcome::Deviates],
        &[ClaimOutcome::No],
        &[ClaimOutcome::NotTried],
        &[ClaimOutcome::Tie, ClaimOutcome::Undecidable],
    ];
    let head = ["article", "holds", "holds with deviation", "does not follow", "not tried", "not decidable"];
    let row = |article: &Replication| {
        let of = |holds: &[ClaimOutcome]| {
            article.claims.iter().filter(|claim| holds.contains(&claim.holds)).count().to_string()
        };
        std::iter::once(article.name.clone()).chain(kinds.map(of)).collect()
    };
    let table = Table::of_words("Claims by result", &head, articles.iter().map(row).collect()).render();
    let counts = summed(articles);
    let words = match takeaway(articles) {
        Some(takeaway) => finding(&takeaway) + &paragraph(&format!("{counts}.")),
        None => finding(&counts),
    };
    led(&(words + &sure + &table), summary)
}

fn article_of(article: &Replication, pictures: &[Picture]) -> String {
    let mut body = format!("<section>\n<h3>{}: {}</h3>\n", text(&article.name), text(&article.title));
    let ran = article.ran.iter().map(|ran| {
        let (blocks, trials) = (counted(ran.blocks, "block"), counted(ran.trials, "trial"));
        format!("{} on {}: {blocks}, {trials}, {} void", ran.plan, ran.machines.join(" with "), ran.voids)
    });
    body += &list(&ran.collect::<Vec<_>>());
    if let Some(why) = article.put_off() {
        let count = counted(u32::try_from(article.claims.len()).unwrap_or(u32::MAX), "claim");
        return body + &paragraph(&format!("Of its {count} none was tried: {why}")) + "</section>\n";
    }
    let head = ["claim", "result", "it says", "measured"].map(String::from).to_vec();
    let rows = article.claims.iter().map(claim).collect();
    body += &Table { caption: format!("Claims of {}", article.name), head, rows, picks: false }.render();
    body += &figures(pictures).replace("<h3>", "<h4>").replace("</h3>", "</h4>");
    let tables: String = article.tables.iter().map(|found| table(found).render()).collect();
    let numbers = points(article).render() + &tables;
    if !numbers.is_empty() {
        body += &format!("<details>\n<summary>Data of {}</summary>\n{numbers}</details>\n", text(&article.name));
    }
    body + "</section>\n"
}

fn claim(claim: &Judged) -> Row {
    let class = match claim.holds {
        ClaimOutcome::Yes => "better",
        ClaimOutcome::No | ClaimOutcome::Tie => "worse",
        ClaimOutcome::Deviates | ClaimOutcome::NotTried | ClaimOutcome::Undecidable => "undecided",
    };
    let found: Vec<&str> = claim.checks.iter().map(|check| check.found.as_str()).collect();
    let found = [
        Some(found.join("; ")).filter(|found| !found.is_empty()),
        claim.why.clone(),
        claim.why_off.as_ref().map(|why| format!("why: {why}")),
        claim.does_not_follow.as_ref().map(|why| format!("why not: {why}")),
        claim.built_in.as_ref().map(|what| format!("built in: {what}")),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    let cells = vec![
        Cell::marked(word(claim.holds), class),
        Cell::marked(&claim.text, "prose"),
        Cell::marked(&found.join("; "), "prose"),
    ];
    Row { name: claim.id.clone(), beside: "", setting: None, cells }
}

fn points(article: &Replication) -> Table {
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let row = |point: &Point| {
        vec![
            if point.held_out { format!("{} (held out)", point.setting) } else { point.setting.clone() },
            point.metric.clone(),
            number(point.published),
            point.found.map_or("-".into(), number),
            point.off().filter(|off| off.is_finite()).map_or("-".into(), percent),
            point.tolerance.map_or("shown only".into(), |tolerance| format!("{:.0} %", tolerance * 100.0)),
            point.holds().map_or("", |holds| if holds { "holds" } else { "fails" }).into(),
        ]
    };
    let head = ["setting", "metric", "published", "measured", "deviation", "tolerance", "result"];
    let caption = format!("Published and measured numbers of {}", article.name);
    Table::of_words(&caption, &head, article.points.iter().map(row).collect())
}

fn table(found: &MeasuredMeans) -> Table {
    let head: Vec<&str> = std::iter::once("what").chain(found.settings.iter().map(String::as_str)).collect();
    let cell = |mean: &Option<f64>| mean.map_or_else(|| "-".to_owned(), number);
    let row = |(name, means): &(String, Vec<Option<f64>>)| {
        std::iter::once(name.clone()).chain(means.iter().map(cell)).collect()
    };
    Table::of_words(&found.title, &head, found.rows.iter().map(row).collect())
}
