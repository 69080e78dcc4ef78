//! How long a search of 100,000 settings thinks about its next question, and how much memory it takes.

use std::time::Instant;

use powerband_advice::{Ask, Bound, Factor, FactorKind, Goal, Noise, Prior, Problem, Search, Space, Told, Who};
use powerband_stats::{Draws, Purpose};

/// What one search came to.
pub(crate) struct Thinking {
    /// How it was called.
    pub(crate) name: String,
    /// From a run's end to the next question, s, ascending.
    pub(crate) questions_s: Vec<f64>,
}

impl Thinking {
    /// As a line of the table.
    pub(crate) fn words(&self) -> String {
        let (count, longest) = (self.questions_s.len(), self.questions_s.last().copied().unwrap_or_default());
        let median = self.questions_s.get(count / 2).copied().unwrap_or_default();
        format!("{:<24} {count:>3} questions, median {median:.3} s, longest {longest:.3} s", self.name)
    }
}

/// Searches among five knobs of ten levels, and among three of about 47.
pub(crate) fn all(seed: u64) -> Vec<Thinking> {
    [&[10_u16, 10, 10, 10, 10][..], &[47, 46, 46]].map(|sides| think(sides, seed)).into()
}

fn think(sides: &[u16], seed: u64) -> Thinking {
    let name = sides.iter().map(u16::to_string).collect::<Vec<_>>().join(" x ");
    let mut random = Draws::new(seed, Purpose::Noise, 41, 0);
    let problem = problem(sides, seed);
    let points = problem.space.points.clone();
    let (goal, tail) = (drawn(sides, &mut random, 0.4), drawn(sides, &mut random, -0.8));
    let Ok(mut search) = Search::new(problem) else { return Thinking { name, questions_s: Vec::new() } };
    let mut questions_s = Vec::new();
    while let Ask::Run(who) = search.ask() {
        let start = vec![Some(0); sides.len()];
        let levels = if let Who::Point(point) = who { &points[point] } else { &start };
        let at = |surface: &[Vec<f64>]| -> f64 {
            surface.iter().zip(levels).map(|(of, level)| of[usize::from(level.unwrap_or_default())]).sum()
        };
        let told =
            Told::Valid { goal: at(&goal) + 0.01 * random.normal(), bounds: vec![at(&tail) + 0.02 * random.normal()] };
        let began = Instant::now();
        search.tell(who, told, 20.0, 0.0);
        questions_s.push(began.elapsed().as_secs_f64());
    }
    questions_s.sort_by(f64::total_cmp);
    Thinking { name, questions_s }
}

/// What each level of each knob adds to a metric's logarithm: a slope and a bend, so that the best lies inside.
fn drawn(sides: &[u16], random: &mut Draws, slope: f64) -> Vec<Vec<f64>> {
    let mut knob = |side: &u16| {
        let (slope, bend, middle) = (slope * random.uniform(), 0.5 * random.uniform(), random.uniform());
        let level = |level: u16| {
            let at = f64::from(level) / f64::from(side - 1);
            slope * at + bend * (at - middle) * (at - middle)
        };
        (0..*side).map(level).collect()
    };
    sides.iter().map(&mut knob).collect()
}

fn problem(sides: &[u16], seed: u64) -> Problem {
    let factor = |side: &u16| Factor {
        name: format!("of {side}"),
        kind: FactorKind::Number((1..=*side).map(|level| f64::from(level) * f64::from(level)).collect()),
        switch_s: 0.0,
    };
    let mut points = vec![Vec::new()];
    for side in sides {
        let longer = |point: &Vec<Option<u16>>| {
            let point = point.clone();
            (0..*side).map(move |level| [point.as_slice(), &[Some(level)]].concat())
        };
        points = points.iter().flat_map(longer).collect();
    }
    let trends = vec![0.0; sides.len()];
    Problem {
        space: Space { factors: sides.iter().map(factor).collect(), points },
        start: Some(0),
        goal: Goal::Measured { trends: trends.clone(), prior: Prior::watts() },
        bounds: vec![Bound { limit: -0.2, above_start: Some(-0.2), trends, prior: Prior::tail() }],
        safe: None,
        seed,
        noise: Noise::default(),
    }
}
