//! How long a search of 100,000 settings takes from a run's result to its next question, and how much memory.

use std::time::Instant;

use anyhow::Result;
use powerband_advice::{
    Ask, Bound, Candidate, Factor, FactorKind, Goal, Observation, Prior, Problem, RunNoise, Search, Space,
};
use powerband_stats::{Draws, Purpose};

/// Five knobs of ten levels, and three of about 47.
const SPACES: [&[u16]; 2] = [&[10, 10, 10, 10, 10], &[47, 46, 46]];

/// A line for a search of each space, and one for the memory they took.
pub(crate) fn lines(seed: u64) -> Result<Vec<String>> {
    let line = |sides: &&[u16]| {
        let questions_s = questions_s(sides, seed)?;
        let (count, longest) = (questions_s.len(), questions_s.last().copied().unwrap_or_default());
        let median = questions_s.get(count / 2).copied().unwrap_or_default();
        let name = sides.iter().map(u16::to_string).collect::<Vec<_>>().join(" x ");
        Ok(format!("{name:<24} {count:>3} questions, median {median:.3} s, longest {longest:.3} s"))
    };
    let mut lines = SPACES.iter().map(line).collect::<Result<Vec<String>>>()?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // proc(5): the most memory that was resident.
    lines.extend(
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map(|most| format!("memory {}", most.trim())),
    );
    Ok(lines)
}

/// The time to each question of one search, s, ascending.
fn questions_s(sides: &[u16], seed: u64) -> Result<Vec<f64>> {
    let mut random = Draws::new(seed, Purpose::Noise, 41, 0);
    let problem = problem(sides, seed);
    let points = problem.space.points.clone();
    let (goal, tail) = (drawn(sides, &mut random, 0.4), drawn(sides, &mut random, -0.8));
    let mut search = Search::new(problem)?;
    let mut questions_s = Vec::new();
    while let Ask::Run(candidate) = search.ask() {
        let start = vec![Some(0); sides.len()];
        let levels = if let Candidate::Point(point) = candidate { &points[point] } else { &start };
        let at = |surface: &[Vec<f64>]| -> f64 {
            surface.iter().zip(levels).map(|(of, level)| of[usize::from(level.unwrap_or_default())]).sum()
        };
        let observation = Observation::Valid {
            goal: at(&goal) + 0.01 * random.normal(),
            bounds: vec![at(&tail) + 0.02 * random.normal()],
        };
        let began = Instant::now();
        search.tell(candidate, observation, 20.0, 0.0);
        questions_s.push(began.elapsed().as_secs_f64());
    }
    questions_s.sort_by(f64::total_cmp);
    Ok(questions_s)
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
    let trends = vec![0.0; sides.len()];
    Problem {
        space: Space::crossed(sides.iter().map(factor).collect()),
        start: Some(0),
        goal: Goal::Measured { trends: trends.clone(), prior: Prior::watts() },
        bounds: vec![Bound { limit: -0.2, above_start: Some(-0.2), trends, prior: Prior::tail() }],
        safe: None,
        seed,
        noise: RunNoise::default(),
    }
}
