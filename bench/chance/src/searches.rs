//! Searches of a best setting: how often an end, an interval or a certificate is wrong, and how soon a search ends; the tables of
//! docs/design/certificates.md.
//!
//! The surfaces that are tables of runs are played if `POWERBAND_SURFACES` names their folder.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::row::{Limit, Row, Table, once, row};
use crate::surfaces::{FAMILIES, Surface, drawn, read, readings};
use powerband_advice::{
    Ask, Candidate, Coordinates, Data, Factor, FactorKind, Observation, Prior, Process, Search,
    SearchConclusion as End, SearchStage, Space,
};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::{FrequencyAxis, Played, ReplayServer, ReplayTable};

const PART: &str = "searches";
/// A setting within this share of the best is as good.
const CLOSE: f64 = 0.05;
const DELAYS_US: [f64; 7] = [2.0, 10.0, 30.0, 60.0, 120.0, 250.0, 400.0];

/// Plays one search on a surface: a number for each column of [`certificates`].
fn certified(surface: &Surface, seed: u64) -> Vec<f64> {
    let mut search = Search::new(surface.problem(seed)).unwrap();
    let mut random = Draws::new(seed, Purpose::Noise, 8, 0);
    let (mut runs, mut tried, mut confirming, mut spent) = (0, BTreeSet::new(), false, vec![0.0; 4]);
    let end = loop {
        match search.ask() {
            Ask::End(end) => break end,
            Ask::Run(candidate) => {
                assert!(runs < 3000, "a search that does not end");
                let (goal, tail) = surface.run(candidate, &mut random);
                confirming |= matches!(search.phase(), SearchStage::Confirming { .. });
                let kind = match candidate {
                    _ if confirming => 3,
                    Candidate::Start => 0,
                    Candidate::Point(_) => 1 + usize::from(!tried.insert(candidate)),
                };
                spent[kind] += 1.0;
                search.tell(candidate, Observation::Valid { goal, bounds: vec![tail] }, 20.0, 0.0);
                runs += 1;
            }
        }
    };
    let answer = match &end {
        End::Confirmed(kept) => surface.goal[kept.point],
        _ if surface.start_keeps() => surface.start.0,
        _ => f64::INFINITY,
    };
    let close = |deviations: f64| answer <= surface.best(deviations) + CLOSE.ln_1p();
    let sure = !search.is_cut_short() && !matches!(end, End::Undecided { .. });
    let (broken, covered) = if let End::Confirmed(kept) = &end {
        let truth = surface.goal[kept.point] - surface.start.0;
        let covered = kept.gain.is_none_or(|gain| gain.low <= truth && truth <= gain.high);
        (once(surface.tail[kept.point] > surface.limit), once(covered))
    } else {
        (f64::NAN, f64::NAN)
    };
    let said = search.standing().certificate.map_or(f64::NAN, |it| 100.0 * it.chance_5_percent);
    let wrong = if sure { once(!close(1.0)) } else { f64::NAN };
    let mut columns = vec![f64::from(runs), once(close(0.0)), wrong, once(sure && !close(1.0)), broken, covered, said];
    columns.extend(spent);
    columns
}

fn certificates() -> Table {
    const RUNS: u32 = 300;
    // 5 %, and one more of the 60 searches that are the fewest; a limit is held over confirmed answers.
    let limits = |false_ones| {
        let mut limits = vec![Limit::Any; 11];
        (limits[3], limits[4]) = (false_ones, Limit::of_rate(1.0, RUNS));
        limits
    };
    let mut rows = Vec::new();
    for (suffix, steepness) in [("", 0.0), (", uneven noise", 0.8)] {
        for name in FAMILIES {
            let play = move |key| certified(&drawn(name, key, steepness), key);
            rows.push(row((&format!("{name}{suffix}"), ""), RUNS, &limits(Limit::binomial(5.0, RUNS)), play));
        }
    }
    if let Some(folder) = std::env::var_os("POWERBAND_SURFACES") {
        for reading in readings() {
            let surface = read(Path::new(&folder), &reading);
            // An isolated spike no search can know of.
            rows.push(row((reading.name, ""), 60, &limits(Limit::Any), move |key| certified(&surface, key)));
        }
    }
    let columns = &[
        "runs",
        "within 5 %, %",
        "false of certain, %",
        "false, %",
        "limit broken, %",
        "interval covers, %",
        "said, %",
        "runs of the start",
        "first runs",
        "repeats",
        "confirming",
    ];
    let from = "5 % false, 1 % broken, with what chance adds in 300";
    Table { part: PART, title: "Certificates", from, columns, rows }
}

/// A server drawn by `seed`, 7 frequencies by 7 delays, with the noise of a quiet machine; a fraction `strict` of the settings
/// keeps the limit.
fn server(seed: u64, strict: f64) -> ReplayTable {
    let frequencies = FrequencyAxis::Frequencies((0..7).map(|step| 1.2 + 0.3 * f64::from(step)).collect());
    let server = ReplayServer::drawn(&mut Draws::new(seed, Purpose::Trial, 9, 0));
    server.table(&frequencies, &DELAYS_US, (0.008, 0.014), strict)
}

/// A server of five governors without an order.
fn governors(seed: u64) -> ReplayTable {
    let governors = FrequencyAxis::Governors(vec![1.9, 1.2, 3.0, 1.5, 2.4]);
    let server = ReplayServer::drawn(&mut Draws::new(seed, Purpose::Trial, 9, 0));
    server.table(&governors, &DELAYS_US, (0.008, 0.014), 0.6)
}

/// A machine on which no knob does anything.
fn idle(seed: u64) -> ReplayTable {
    let mut table = server(seed, 0.9);
    table.goal.fill(table.start.0);
    table.tail.fill(table.start.1);
    table.limit = table.start.1 + 0.2;
    table
}

/// Every setting that saves lies half a percent above the limit: none of them may be kept.
fn above(seed: u64) -> ReplayTable {
    let whole = server(seed, 0.5);
    let mut table = whole.varied(seed, 0.4, whole.limit);
    for (goal, tail) in table.goal.iter().zip(&mut table.tail) {
        if *goal < table.start.0 - 0.01 {
            *tail = table.limit + 0.005;
        }
    }
    table
}

fn ten(seed: u64) -> ReplayTable {
    let table = server(seed, 0.6);
    table.varied(seed, 10.5 / table.goal.len() as f64, table.limit)
}

fn columns_of(played: &Played) -> Vec<f64> {
    let tried = played.tried.map_or(50.0, |count| count as f64);
    let confirmed = matches!(played.end, Some(End::Confirmed(_)));
    vec![
        once(tried > 8.0),
        once(tried > 14.0),
        once(played.broken),
        once(confirmed),
        100.0 * played.regret,
        once(played.regret > 0.01),
        played.runs as f64,
    ]
}

fn servers() -> Table {
    let any = Limit::Any;
    let rate = Limit::binomial;
    let most = Limit::Most;
    type Drawn = fn(u64) -> ReplayTable;
    let strict: Drawn = |seed| server(seed, 0.3 + 0.6 * (seed % 7) as f64 / 6.0);
    let cases: [(&str, Drawn, u32, [Limit; 7]); 5] = [
        ("a server", strict, 300, [most(50.0), most(5.0), rate(1.0, 300), Limit::Least(80.0), most(3.0), any, any]),
        ("governors", governors, 200, [most(50.0), most(5.0), rate(1.0, 200), any, any, any, any]),
        ("nothing better", idle, 300, [any, any, any, rate(5.0, 300), any, any, most(100.0)]),
        ("just above the limit", above, 300, [any, any, rate(5.0, 300), any, any, any, any]),
        (
            "a race of ten, ten repeats being 110 runs",
            ten,
            2000,
            [any, any, rate(1.0, 2000), any, any, rate(8.0, 2000), most(55.0)],
        ),
    ];
    let case = |(label, drawn, runs, limits): (&str, Drawn, u32, [Limit; 7])| {
        let play = move |key| {
            let table = drawn(key);
            columns_of(&table.play(table.problem(key), 1.0).unwrap())
        };
        row((label, ""), runs, &limits, play)
    };
    let columns = &[
        "over 8 settings tried, %",
        "over 14, %",
        "limit broken, %",
        "confirmed, %",
        "regret, %",
        "regret over 1 %, %",
        "runs",
    ];
    let from = "medians of 8 settings and 95th percentiles of 14; 1 %, 5 % and 8 % with what chance adds";
    Table { part: PART, title: "Searches of servers", from, columns, rows: cases.map(case).into() }
}

/// Runs far over the limit of a careless search and of a safe one, in percent of the runs of all.
fn safe() -> Table {
    let play = |key| {
        let table = server(key, 0.2);
        let mut problem = table.problem(key);
        let careless = table.play(problem.clone(), 1.0).unwrap();
        problem.safe = Some(0.10);
        let careful = table.play(problem, 1.0).unwrap();
        let (careless, careful, runs) = (careless.far_over as f64, careful.far_over as f64, careful.runs as f64);
        vec![careful - 0.10 * runs, careful - 2.0 / 3.0 * careless]
    };
    let rows = vec![row(("a strict limit", ""), 150, &[Limit::Most(0.35), Limit::Most(0.0)], play)];
    let columns = &["over by 10 %, less a tenth of the runs", "less two thirds of the careless ones"];
    Table {
        part: PART,
        title: "A safe search",
        from: "10 % of runs and what chance adds in 150 searches",
        columns,
        rows,
    }
}

/// Settings of which the first is cheaper than the start and all others by `gain`, at a noise of `sd`.
fn race(settings: usize, gain: f64, sd: f64, seed: u64) -> ReplayTable {
    let mut random = Draws::new(seed, Purpose::Trial, 31, 0);
    let mut goal = vec![4.0; settings];
    goal[0] -= gain;
    let factors = vec![Factor { name: "a".into(), kind: FactorKind::Category(settings), switch_s: 0.0 }];
    ReplayTable {
        space: Space { factors, points: (0..settings).map(|level| vec![Some(level as u16)]).collect() },
        tail: vec![0.0; settings],
        start: (4.0, 0.0),
        residuals: (0..4000).map(|_| (sd * random.normal(), 0.0)).collect(),
        limit: 1.0,
        trends: (vec![0.0], vec![0.0]),
        goal,
    }
}

/// Whether a race that has no runs left after `runs` confirms anything.
fn stopped(table: &ReplayTable, seed: u64, runs: u64) -> bool {
    let mut search = Search::new(table.problem(seed)).unwrap();
    let mut random = Draws::new(seed, Purpose::Trial, 32, 0);
    for _ in 0..runs {
        let Ask::Run(candidate) = search.ask() else { break };
        let (goal, tail) = table.run(candidate, &mut random, 1.0);
        search.tell(candidate, Observation::Valid { goal, bounds: vec![tail] }, 1.0, 0.0);
    }
    search.set_runs_left(0);
    let Ask::End(end) = search.ask() else { panic!("it goes on without runs: {:?}", search.ask()) };
    matches!(end, End::Confirmed(_))
}

fn races() -> Table {
    const RUNS: u32 = 1000;
    let mut rows = Vec::new();
    for (settings, sd) in [1, 2, 5, 12].iter().flat_map(|settings| [0.003, 0.01, 0.02, 0.05].map(|sd| (*settings, sd)))
    {
        let play = move |key| {
            let played = |gain| {
                let table = race(settings, gain, sd, key);
                table.play(table.problem(key), 1.0).unwrap().end
            };
            let (found, missed) = match played(2.0 * sd) {
                Some(End::Confirmed(it)) => {
                    let gain = it.gain.unwrap();
                    (once(it.point == 0), once(gain.low > -2.0 * sd || gain.high < -2.0 * sd))
                }
                _ => (0.0, f64::NAN),
            };
            let wrong = once(matches!(played(0.0), Some(End::Confirmed(_))));
            let block = settings as u64 + 1;
            let runs = 3 * block + Draws::new(key, Purpose::Order, 33, 0).below(9 * block);
            let at_stop = [0.0, 3.0 * sd].map(|gain| once(stopped(&race(settings, gain, sd, key), key, runs)));
            vec![100.0 - found, missed, wrong, at_stop[0], at_stop[1]]
        };
        let five = Limit::binomial(5.0, RUNS);
        let limits = [five, Limit::binomial(7.0, RUNS), five, five, Limit::Least(50.0)];
        rows.push(row((&format!("{settings} settings, noise {sd}"), ""), RUNS, &limits, play));
    }
    let columns = &[
        "gain of 2 s.d. not found, %",
        "interval misses it, %",
        "alike called better, %",
        "the same when stopped, %",
        "gain of 3 s.d. found when stopped, %",
    ];
    let from = "5 % and 7 % with what chance adds in 1,000";
    Table { part: PART, title: "Races of few settings", from, columns, rows }
}

/// Whether the model's 90 % intervals cover, on surfaces of laws and not draws from its prior: narrow ones are the failure, wide
/// ones cost trials.
fn coverage() -> Table {
    let case = |label: &str, metric: usize| {
        let play = move |key| {
            let table = server(key, 0.5);
            let coordinates = Arc::new(Coordinates::new(&table.space));
            let mut random = Draws::new(key, Purpose::Trial, 11, 0);
            let mut order: Vec<usize> = (0..table.goal.len()).collect();
            random.shuffle(&mut order);
            let (seen, rest) = order.split_at(12);
            let (prior, truth, trends, start) = if metric == 0 {
                (Prior::watts(), &table.goal, &table.trends.0, table.start.0)
            } else {
                (Prior::tail(), &table.tail, &table.trends.1, table.start.1)
            };
            let mut data = Data::default();
            seen.iter().for_each(|point| data.add(Some(*point), &[truth[*point] + 0.01 * random.normal()]));
            let process = Process::fit(&coordinates, &prior, &prior.mean(start, trends), &data);
            let inside = rest.iter().filter(|point| {
                let prediction = process.predict(**point);
                (prediction.mean() - truth[**point]).abs() <= 1.645 * prediction.variance().sqrt()
            });
            vec![100.0 * inside.count() as f64 / rest.len() as f64]
        };
        row((label, ""), 200, &[Limit::Within(80.0, 99.5)], play)
    };
    let rows: Vec<Row> = vec![case("goal", 0), case("limited metric", 1)];
    Table {
        part: PART,
        title: "Intervals of the model",
        from: "90 %, as measured on laws",
        columns: &["covered, %"],
        rows,
    }
}

/// A hundred thousand settings of five knobs, of which two change the goal and two what is limited.
fn large() -> Table {
    const SIDES: [u16; 5] = [20, 20, 10, 5, 5];
    let play = |key| {
        let number = |side: &u16| FactorKind::Number((0..*side).map(f64::from).collect());
        let factor = |side| Factor { name: "knob".into(), kind: number(side), switch_s: 0.0 };
        let space = Space::crossed(SIDES.iter().map(factor).collect());
        let part = |point: &Vec<Option<u16>>, axis: usize| f64::from(point[axis].unwrap()) / f64::from(SIDES[axis] - 1);
        let goal = space.points.iter().map(|at| 4.0 + 0.3 * part(at, 0) + 0.1 * part(at, 2)).collect();
        let tail = space.points.iter().map(|at| 6.0 - part(at, 0) + 0.8 * part(at, 1)).collect();
        let mut random = Draws::new(key, Purpose::Trial, 22, 0);
        let residuals = (0..500).map(|_| (0.004 * random.normal(), 0.01 * random.normal())).collect();
        let trends = (vec![0.0; 5], vec![0.0; 5]);
        let table = ReplayTable { space, goal, tail, start: (4.45, 5.0), residuals, limit: 5.6, trends };
        let played = table.play(table.problem(key), 1.0).unwrap();
        let Some(End::Confirmed(kept)) = played.end else { return vec![0.0, played.runs as f64] };
        vec![once(!played.broken && table.goal[kept.point] < 4.17), played.runs as f64]
    };
    let rows = vec![row(("100,000 settings", ""), 3, &[Limit::Least(100.0), Limit::Most(70.0)], play)];
    Table { part: PART, title: "A large space", from: "measured", columns: &["found, %", "runs"], rows }
}

pub(crate) fn tables() -> Vec<Table> {
    vec![certificates(), servers(), safe(), races(), coverage(), large()]
}
