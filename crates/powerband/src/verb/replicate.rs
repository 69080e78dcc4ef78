//! `replicate`: the published articles, done again on simulated machines.
use powerband_report::picture::{Picture, replication_pictures};
use powerband_report::replication::{Replication, Replications, brief, enough, render, takeaway};
use powerband_session::replicate::{self, Article};

use crate::cli::{Replicate, Shared};
use crate::exit::{Answer, Exit, Failure};
use crate::replication_progress::Progress;
use crate::{output, page, rig};

pub(crate) fn run(shared: &Shared, args: &Replicate) -> Answer {
    let articles = articles(&args.articles)?;
    // Before minutes of work rather than after them.
    args.output.as_ref().map_or(Ok(()), |path| page::is_free(path, args.force))?;
    let alone = args.output.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if alone {
        page::refuse_json(shared)?;
    }
    let mut done = Vec::new();
    for article in &articles {
        let progress = Progress::new(article.name, replicate::plans_of(article)?);
        let replication = replicate::again(article, args.blocks, &rig::options(shared), &progress)?;
        drop(progress);
        if !shared.json && !alone && shared.verbose {
            output::print(&(render(&replication, output::width()) + "\n"));
        }
        done.push(replication);
    }
    let counts = done.iter().map(Replication::sizes);
    if let Some(path) = &args.output {
        let pictures: Vec<_> = done.iter().map(pictures).collect();
        let text = powerband_report::page::replication(&done, &pictures);
        page::write(path, &text.map_err(|error| Failure::new(Exit::Failed, error))?, args.force)?;
    }
    let sizes = counts.fold((0, 0), |(all, within), (more, more_within)| (all + more, within + more_within));
    let mut fails: Vec<String> =
        done.iter().flat_map(|one| one.failures().into_iter().map(|what| format!("{} ({})", what, one.name))).collect();
    if !enough(sizes.0, sizes.1) {
        fails.push(format!("{} of {} sizes are within their factor, fewer than two thirds", sizes.1, sizes.0));
    }
    let not_tried = done.iter().map(Replication::untried).sum();
    if shared.json && !alone {
        output::print_json(&Replications {
            version: powerband_report::json::VERSION,
            kind: "replication",
            takeaway: takeaway(&done),
            articles: &done,
            sizes,
            fails: fails.clone(),
            not_tried,
        })?;
    } else if !alone {
        let summary = summary(&done, sizes, not_tried);
        output::print(&match shared.verbose {
            true => summary,
            false => brief(&done, &summary, &output::again_with("-v"), output::width()),
        });
    }
    if fails.is_empty() {
        return Ok(Exit::Fine as u8);
    }
    Err(Failure::new(Exit::Failed, format!("not everything that was published comes out again: {}", fails.join(", "))))
}

/// The articles that were named, each once; all without a name.
fn articles(words: &[String]) -> Result<Vec<Article>, Failure> {
    if words.is_empty() {
        return Ok(replicate::all());
    }
    let mut articles: Vec<Article> = Vec::new();
    for word in words {
        let article = replicate::named(word)?;
        match articles.iter().any(|known| known.name == article.name) {
            true => output::note(format!("{} is named twice; it is repeated and counted once", article.name)),
            false => articles.push(article),
        }
    }
    Ok(articles)
}

/// The pictures of an article, whose names tell them from those of the others on one page.
fn pictures(article: &Replication) -> Vec<Picture> {
    let named = |picture: Picture| Picture { id: format!("{}-{}", article.name, picture.id), ..picture };
    replication_pictures(article).into_iter().map(named).collect()
}

fn summary(done: &[Replication], (sizes, within): (usize, usize), not_tried: usize) -> String {
    let claims: usize = done.iter().map(|one| one.claims.len()).sum();
    let hold = done.iter().flat_map(|one| &one.claims);
    let hold = hold.filter(|claim| claim.holds == powerband_report::replication::ClaimOutcome::Yes).count();
    let points = || done.iter().flat_map(|one| &one.points).filter_map(powerband_report::replication::Point::holds);
    // Not every article published numbers that are to be met.
    let met = match points().count() {
        0 => String::new(),
        of => format!("; {} of {of} points within their tolerance", points().filter(|holds| *holds).count()),
    };
    let tried = match not_tried {
        1 => "1 was not tried".to_owned(),
        more => format!("{more} were not tried"),
    };
    let sizes = if sizes == 0 { String::new() } else { format!(", {within} of {sizes} sizes within their factor") };
    format!("{hold} of {claims} claims hold, {tried}{met}{sizes}.")
}
