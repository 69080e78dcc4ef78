//! `compare`: settings of stored experiments, or of measurements made elsewhere, by rules that say what cannot be said.
use std::collections::BTreeSet;
use std::path::Path;

use powerband_load::MetricSpec;
use powerband_record::{Better, Metric, direction_of, parse_percent};
use powerband_report::comparison::{CompareError, Comparison, ComparisonRequest, Csv, Measured, several, within};
use powerband_report::picture::comparison_pictures;
use powerband_rig::{MAX_MEASURED_BYTES, read_text};
use powerband_store::Store;
use serde_json::Value;

use crate::cli::{Compare, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::failure::not_found;
use crate::stored::{model, need_store};
use crate::{output, page};

pub(crate) fn run(shared: &Shared, args: &Compare) -> Answer {
    let ask = ComparisonRequest {
        metrics: args.metrics.iter().map(|text| metric(text)).collect::<Result<_, _>>()?,
        margin: share("margin", args.margin.as_deref())?,
        alpha: share("alpha", args.alpha.as_deref())?,
        mean: args.judge.as_deref().map(|what| what == "mean"),
    };
    if let Some(path) = &args.output {
        page::refuse_json(shared)?;
        page::is_free(path, args.force)?;
    }
    let found = match args.from_csv.as_slice() {
        [] => stored(shared, args, &ask)?,
        [one] => table(one, args, ask)?,
        [first, second] if args.sides.is_empty() => tables(first, second, args, ask)?,
        [_, _] => return Err(usage("two files are two sides; leave the names of settings out")),
        _ => return Err(usage("--from-csv is given once, or twice for one file a side")),
    };
    if let Some(path) = &args.output {
        let answer = page::write(path, &sides_page(shared, args, &found)?, args.force)?;
        if path.as_os_str() != "-" {
            output::print(&format!("wrote {}", path.display()));
        }
        return Ok(answer);
    }
    if shared.json {
        return output::print_document(&found);
    }
    let width = output::width();
    output::print(&if shared.verbose { found.render(width) } else { found.brief(width, &output::again_with("-v")) });
    Ok(Exit::Fine as u8)
}

/// A metric of stored experiments as it was asked for.
fn metric(text: &str) -> Result<Metric, Failure> {
    match MetricSpec::parse(text) {
        Ok(spec) => Ok(spec.metric),
        Err(error) if text.is_empty() => Err(usage(error)),
        Err(_) => Ok(column(text).0),
    }
}

/// A column of a table, called as it is called there, and what is to be known of its direction where that is guessed.
fn column(text: &str) -> (Metric, Option<String>) {
    let (name, stated) = match text.rsplit_once(':') {
        Some((name, "higher")) => (name, Some(Better::Higher)),
        Some((name, "lower")) => (name, Some(Better::Lower)),
        _ => (text, None),
    };
    let known = stated.or_else(|| direction_of(name));
    let better = known.unwrap_or(Better::Lower);
    let note = known.is_none().then(|| {
        format!(
            "no word of the name {name} shows which way is better: lower counts as better; if higher is, use --metric '{name}:higher'"
        )
    });
    (Metric { name: name.into(), better, judged: true, boundary: None }, note)
}

fn share(option: &str, text: Option<&str>) -> Result<Option<f64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let value = parse_percent(text).map_err(|error| usage(format!("--{option}: {error}")))?;
    let most = if option == "alpha" { 0.5 } else { 10.0 };
    if value > 0.0 && value <= most {
        return Ok(Some(value));
    }
    Err(usage(format!(
        "--{option}: '{text}' is out of range; write a percentage above 0 and at most {} %",
        most * 100.0
    )))
}

/// One side as it was typed: experiments and a setting.
struct Side {
    sessions: Vec<Measured>,
    setting: Option<String>,
}

fn stored(shared: &Shared, args: &Compare, ask: &ComparisonRequest) -> Result<Comparison, Failure> {
    if args.sides.len() < 2 {
        return Err(usage(
            "compare takes two or more of the experiments that `powerband list` shows, e.g. `powerband compare 3 4` or `powerband compare 3:a 3:b`; or --from-csv FILE",
        ));
    }
    let store = need_store(shared)?;
    let sides: Vec<Side> = args.sides.iter().map(|text| side(&store, text)).collect::<Result<_, _>>()?;
    let ask = &measured_ways(&sides, &args.metrics, ask.clone());
    independent(&sides)?;
    let sides: Vec<_> = sides.iter().map(|side| (side.sessions.as_slice(), side.setting.as_deref())).collect();
    several(&sides, ask).map_err(failure)
}

/// Metrics whose direction nobody states count the way they did when they were measured.
fn measured_ways(sides: &[Side], texts: &[String], mut ask: ComparisonRequest) -> ComparisonRequest {
    let all = || sides.iter().flat_map(|side| &side.sessions).flat_map(|measured| &measured.metrics);
    for (asked, text) in ask.metrics.iter_mut().zip(texts) {
        let is_stated = text.ends_with(":higher") || text.ends_with(":lower");
        if let Some(known) = all().find(|metric| metric.name == asked.name && !is_stated) {
            asked.better = known.better;
        }
    }
    ask
}

/// Sessions count as so many independent ones: each once on a side, and two sides of several have all of them in common or none.
fn independent(sides: &[Side]) -> Result<(), Failure> {
    let ids = |side: &Side| side.sessions.iter().filter_map(|it| Some(it.origin.as_ref()?.id)).collect::<Vec<_>>();
    let sides: Vec<(usize, BTreeSet<i64>)> =
        sides.iter().map(ids).map(|it| (it.len(), it.into_iter().collect())).collect();
    for (number, (named, ids)) in sides.iter().enumerate() {
        if ids.len() < *named {
            return Err(usage(
                "an experiment is named twice on one side, and counts once; name each of its sessions once",
            ));
        }
        let differ = |(_, other): &&(usize, BTreeSet<i64>)| other.len().max(ids.len()) > 1 && other != ids;
        if let Some(both) = sides[..number].iter().filter(differ).find_map(|(_, other)| other.intersection(ids).next())
        {
            return Err(usage(format!(
                "experiment {both} is on two sides that have other experiments besides, which are not independent then; \
                 name the same experiments on both, or none twice"
            )));
        }
    }
    Ok(())
}

fn side(store: &Store, text: &str) -> Result<Side, Failure> {
    let (ids, setting) = match text.split_once(':') {
        Some((ids, setting)) => (ids, Some(setting.to_owned())),
        None => (text, None),
    };
    let session = |id: &str| {
        let id = store.resolve(id).map_err(not_found)?;
        let (header, events) = (store.header(id)?, store.events(id)?);
        Measured::of_events(id, &header.host, &events)
            .map_err(|error| Failure::new(Exit::Failed, format!("experiment {id}: {error}")))
    };
    Ok(Side { sessions: ids.split(',').map(session).collect::<Result<_, _>>()?, setting })
}

/// The page of a comparison of stored experiments, each once.
fn sides_page(shared: &Shared, args: &Compare, found: &Comparison) -> Result<String, Failure> {
    let store = need_store(shared)?;
    let ids = args.sides.iter().flat_map(|side| side.split(':').next().unwrap_or_default().split(','));
    let ids: BTreeSet<i64> = ids.map(|id| store.resolve(id).map_err(not_found)).collect::<Result<_, _>>()?;
    let models = ids.into_iter().map(|id| model(shared, &store, id)).collect::<Result<Vec<_>, _>>()?;
    let pictures = comparison_pictures(found, &models);
    powerband_report::page::comparison(found, &models, &pictures).map_err(|error| Failure::new(Exit::Failed, error))
}

/// A file of measurements, and what is to be known of it.
fn read(path: &Path) -> Result<(Csv, Vec<String>), Failure> {
    let text = read_text(path, "", MAX_MEASURED_BYTES)?;
    let (text, notes) = of_hyperfine(&text).unwrap_or((text, Vec::new()));
    let csv = Csv::parse(&path.display().to_string(), &text).map_err(failure)?;
    let of_units =
        csv.metrics().find(|name| name.to_lowercase().split('_').any(|word| matches!(word, "unit" | "units")));
    match of_units {
        Some(column) => Err(usage(format!(
            "the column {column} of {} gives each row a unit; convert the values to one, take that column out, and put the unit last \
             into the metric's name (time_us)",
            path.display()
        ))),
        None => Ok((csv, notes)),
    }
}

/// hyperfine's own JSON as a table: a line for each run that ended with 0, in its order. How many did not is to be known.
fn of_hyperfine(text: &str) -> Option<(String, Vec<String>)> {
    let document: Value = serde_json::from_str(text).ok()?;
    let (mut table, mut notes) = ("setting,real_s\n".to_owned(), Vec::new());
    for result in document.get("results")?.as_array()? {
        let command = result.get("command")?.as_str()?.replace('"', "\"\"").replace('\n', " ");
        let statuses = result.get("exit_codes").and_then(Value::as_array);
        let times = result.get("times")?.as_array()?;
        let mut failed = 0;
        for (place, time_s) in times.iter().enumerate() {
            // Null is a signal's.
            if statuses.and_then(|all| all.get(place)).is_none_or(|status| status.as_i64() == Some(0)) {
                table += &format!("\"{command}\",{}\n", time_s.as_f64()?);
            } else {
                failed += 1;
            }
        }
        if failed > 0 {
            notes.push(format!("'{command}' failed in {failed} of {} runs, which are left out", times.len()));
        }
    }
    Some((table, notes))
}

/// The columns to read, those asked for or all; what is to be known of them.
fn columns(csv: &Csv, texts: &[String], ask: &mut ComparisonRequest) -> Vec<String> {
    let all = || csv.metrics().map(str::to_owned).collect();
    let texts: Vec<String> = if texts.is_empty() { all() } else { texts.to_vec() };
    let (metrics, notes): (_, Vec<Option<String>>) = texts.iter().map(|text| column(text)).unzip();
    ask.metrics = metrics;
    notes.into_iter().flatten().collect()
}

/// One table: two settings named, or all against the first.
fn table(path: &Path, args: &Compare, mut ask: ComparisonRequest) -> Result<Comparison, Failure> {
    let (csv, mut notes) = read(path)?;
    notes.extend(columns(&csv, &args.metrics, &mut ask));
    let measured = csv.measured(&ask.metrics).map_err(failure)?;
    let (reference, others) = match args.sides.as_slice() {
        [] => (0, (1..measured.settings.len()).collect()),
        [reference, other] => {
            (measured.setting(reference).map_err(failure)?, vec![measured.setting(other).map_err(failure)?])
        }
        _ => return Err(usage("with --from-csv, name two settings to compare, or none to compare all with the first")),
    };
    if others.is_empty() || others.contains(&reference) {
        return Err(usage(format!(
            "{} has one setting ({}); there is nothing to compare it with{}",
            path.display(),
            measured.labels(),
            notes.iter().map(|note| format!("; {note}")).collect::<String>()
        )));
    }
    within(&measured, reference, &others, &ask).map(|found| found.with_notes(notes)).map_err(failure)
}

/// One file a side, each a setting called as its file.
fn tables(first: &Path, second: &Path, args: &Compare, mut ask: ComparisonRequest) -> Result<Comparison, Failure> {
    let stem = |path: &Path| {
        path.file_stem().map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
    };
    let (names, ((first, more), (second, other))) = ([stem(first), stem(second)], (read(first)?, read(second)?));
    if names[0] == names[1] {
        return Err(usage("the two files have one name, which is that of their setting; rename one"));
    }
    let both = Csv::joined([(&first, &names[0]), (&second, &names[1])]).map_err(failure)?;
    let notes = [more, other, columns(&both, &args.metrics, &mut ask)].concat();
    let measured = both.measured(&ask.metrics).map_err(failure)?;
    within(&measured, 0, &[1], &ask).map(|found| found.with_notes(notes)).map_err(failure)
}

fn failure(error: CompareError) -> Failure {
    usage(error)
}
