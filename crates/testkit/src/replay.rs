//! Searches played on machines whose truth is known, and what they come to: for tests and benchmarks.

use std::collections::BTreeSet;

use powerband_advice::{
    Ask, Bound, Candidate, Factor, FactorKind, Goal, Observation, Prior, Problem, ProblemError, RunNoise, Search,
    SearchConclusion, SearchStage, Space,
};
use powerband_stats::{Draws, Purpose};

/// A setting counts as found when it keeps the bound and its goal lies within this share of the best one's.
pub const CLOSE: f64 = 0.05;

/// Runs after which a search that does not end is given up.
const MAX_RUNS: usize = 2_000;

/// A machine that is a table: the true level of every setting, and residuals from which the noise of a run is drawn.
/// All values are natural logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayTable {
    /// The settings.
    pub space: Space,
    /// True goal of each.
    pub goal: Vec<f64>,
    /// True bounded metric of each.
    pub tail: Vec<f64>,
    /// Both at the start, which is no point.
    pub start: (f64, f64),
    /// Residuals of goal and bounded metric of one run, drawn together.
    pub residuals: Vec<(f64, f64)>,
    /// The limit.
    pub limit: f64,
    /// Trends of the goal and of the bounded metric.
    pub trends: (Vec<f64>, Vec<f64>),
}

/// What one search came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Different settings tried, the start as the first, until a close one was among them; none if it never was.
    pub tried: Option<usize>,
    /// The same until the provisional answer was a close one.
    pub picked: Option<usize>,
    /// Different settings tried, and runs made, when looking ended for the first time.
    pub stop: Option<(usize, usize)>,
    /// How far the provisional answer then lay above the best setting (logarithm).
    pub stop_regret: f64,
    /// Blocks of confirmation or of the race, over all candidates.
    pub blocks: usize,
    /// Runs until the end.
    pub runs: usize,
    /// Runs of settings that exceed the limit by over 10 %.
    pub far_over: usize,
    /// How it ended; none if it did not.
    pub end: Option<SearchConclusion>,
    /// How far the answer lies above the best setting (logarithm); that of the start where nothing was confirmed.
    pub regret: f64,
    /// Whether the confirmed setting truly breaks the bound.
    pub broken: bool,
}

impl ReplayTable {
    /// The problem as a caller would pose it.
    #[must_use]
    pub fn problem(&self, seed: u64) -> Problem {
        let goal = Goal::Measured { trends: self.trends.0.clone(), prior: Prior::watts() };
        let bound = Bound { limit: self.limit, above_start: None, trends: self.trends.1.clone(), prior: Prior::tail() };
        let (space, noise) = (self.space.clone(), RunNoise::default());
        Problem { space, start: None, goal, bounds: vec![bound], safe: None, seed, noise }
    }

    /// The best true goal that keeps the limit, the start's if it keeps it too.
    #[must_use]
    pub fn best(&self) -> f64 {
        let settings = self.goal.iter().copied().zip(self.tail.iter().copied());
        let all = settings.chain(std::iter::once(self.start));
        all.filter(|(_, tail)| *tail <= self.limit).map(|(goal, _)| goal).fold(f64::INFINITY, f64::min)
    }

    /// Whether a setting truly keeps the bound and is close to the best.
    #[must_use]
    pub fn is_close(&self, point: usize) -> bool {
        self.tail[point] <= self.limit && self.goal[point] <= self.best() + libm::log1p(CLOSE)
    }

    /// Goal and bounded metric of one run, noise times `louder`.
    #[must_use]
    pub fn run(&self, candidate: Candidate, random: &mut Draws, louder: f64) -> (f64, f64) {
        let (goal, tail) = match candidate {
            Candidate::Start => self.start,
            Candidate::Point(point) => (self.goal[point], self.tail[point]),
        };
        let drawn = random.below(self.residuals.len() as u64) as usize;
        let (goal_off, tail_off) = self.residuals.get(drawn).copied().unwrap_or_default();
        (goal + louder * goal_off, tail + louder * tail_off)
    }

    /// The same machine with only a share of its settings, drawn by `seed`, and another limit.
    #[must_use]
    pub fn varied(&self, seed: u64, share: f64, limit: f64) -> Self {
        let mut random = Draws::new(seed, Purpose::Trial, 1, 0);
        let mut order: Vec<usize> = (0..self.goal.len()).collect();
        random.shuffle(&mut order);
        order.truncate((share * order.len() as f64) as usize);
        order.sort_unstable();
        let points = order.iter().map(|point| self.space.points[*point].clone()).collect();
        Self {
            space: Space { factors: self.space.factors.clone(), points },
            goal: order.iter().map(|point| self.goal[*point]).collect(),
            tail: order.iter().map(|point| self.tail[*point]).collect(),
            limit,
            ..self.clone()
        }
    }

    /// Plays one search to its end.
    ///
    /// # Errors
    /// When the problem does not fit together.
    pub fn play(&self, problem: Problem, louder: f64) -> Result<Played, ProblemError> {
        self.play_followed(problem, louder, |_, _| ())
    }

    /// Plays one search to its end; `follow` is handed the search and the number of different settings tried after each
    /// run.
    ///
    /// # Errors
    /// When the problem does not fit together.
    pub fn play_followed(
        &self,
        problem: Problem,
        louder: f64,
        mut follow: impl FnMut(&Search, usize),
    ) -> Result<Played, ProblemError> {
        let mut random = Draws::new(problem.seed, Purpose::Noise, 0, 0);
        let mut search = Search::new(problem)?;
        let mut seen = BTreeSet::new();
        let mut played = Played {
            tried: None,
            picked: None,
            stop: None,
            stop_regret: 0.0,
            blocks: 0,
            runs: 0,
            far_over: 0,
            end: None,
            regret: 0.0,
            broken: false,
        };
        while played.runs < MAX_RUNS {
            let candidate = match search.ask() {
                Ask::Run(candidate) => candidate,
                Ask::End(end) => {
                    self.conclude(&mut played, end);
                    break;
                }
            };
            let (goal, tail) = self.run(candidate, &mut random, louder);
            search.tell(candidate, Observation::Valid { goal, bounds: vec![tail] }, 20.0, 0.0);
            seen.insert(candidate);
            follow(&search, seen.len());
            self.note(&mut played, &search, &seen, candidate);
        }
        Ok(played)
    }

    fn note(&self, played: &mut Played, search: &Search, seen: &BTreeSet<Candidate>, candidate: Candidate) {
        played.runs += 1;
        // Runs of the start end or begin a block: one of them in each.
        let counting =
            matches!(search.phase(), SearchStage::Confirming { .. } | SearchStage::Racing { .. } | SearchStage::Done);
        played.blocks += usize::from(counting && played.stop.is_some() && candidate == Candidate::Start);
        if let Candidate::Point(point) = candidate {
            let close = self.is_close(point);
            played.tried = played.tried.or(close.then_some(seen.len()));
            played.far_over += usize::from(self.tail[point] > self.limit + libm::log1p(0.10));
        }
        let answer = search.incumbent();
        if played.picked.is_none() && answer.is_some_and(|point| self.is_close(point)) {
            played.picked = Some(seen.len());
        }
        if played.stop.is_none() && matches!(search.phase(), SearchStage::Confirming { .. } | SearchStage::Done) {
            played.stop = Some((seen.len(), played.runs));
            played.stop_regret = self.regret(answer);
        }
    }

    /// How far an answer lies above the best setting; none means the start.
    fn regret(&self, answer: Option<usize>) -> f64 {
        (answer.map_or(self.start.0, |point| self.goal[point]) - self.best()).max(0.0)
    }

    fn conclude(&self, played: &mut Played, end: SearchConclusion) {
        let kept = if let SearchConclusion::Confirmed(kept) = &end { Some(kept.point) } else { None };
        played.regret = self.regret(kept);
        played.broken = kept.is_some_and(|point| self.tail[point] > self.limit);
        played.end = Some(end);
    }
}

/// A server of the laws of power and of queueing that spin at a clock and wait for interrupts: settings are frequency
/// (GHz) times interrupt delay (µs), and the values those laws' own parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayServer {
    /// Power at rest, and what grows with the clock, in watts.
    pub rest_w: f64,
    /// Power of the work at 2 GHz.
    pub work_w: f64,
    /// Power of one interrupt for each request.
    pub interrupts_w: f64,
    /// Delay at which half of the interrupts are saved, in µs.
    pub half_us: f64,
    /// Latency of the work at 1 GHz, in µs.
    pub service_us: f64,
    /// Latency by each µs of delay.
    pub delay_share: f64,
    /// Queueing at 1 GHz, in µs.
    pub queue_us: f64,
    /// Load at 1 GHz, without interrupts and by them.
    pub load: (f64, f64),
}

impl ReplayServer {
    /// One drawn at random around a machine of 70 W.
    #[must_use]
    pub fn drawn(random: &mut Draws) -> Self {
        let mut about = |median: f64, sd: f64| median * libm::exp(sd * random.normal());
        Self {
            rest_w: about(20.0, 0.4),
            work_w: about(40.0, 0.4),
            interrupts_w: about(10.0, 0.6),
            half_us: about(50.0, 0.6),
            service_us: about(40.0, 0.5),
            delay_share: about(1.0, 0.2),
            queue_us: about(20.0, 0.6),
            load: (about(0.6, 0.4), about(0.2, 0.6)),
        }
    }

    /// Watts and 99th percentile in µs at a frequency and a delay.
    #[must_use]
    pub fn at(&self, freq_ghz: f64, delay_us: f64) -> (f64, f64) {
        let x = freq_ghz / 2.0;
        let rate = 1.0 / (1.0 + delay_us.max(1.0) / self.half_us);
        let voltage = 0.6 + 0.4 * x;
        let watts = self.rest_w + x * voltage * voltage * (self.work_w + self.interrupts_w * rate);
        let busy = (self.load.0 + self.load.1 * rate) / freq_ghz;
        let free = (libm::log1p(libm::exp(12.0 * (1.0 - busy))) / 12.0).max(0.001);
        let p99 = self.service_us / freq_ghz + self.delay_share * delay_us + self.queue_us / freq_ghz * busy / free;
        (watts, p99)
    }

    /// The table of `freqs_ghz` × `delays_us`, each run with normal noise of these standard deviations, the start at
    /// the highest frequency and the lowest delay; and governors, if any: each its own share of the frequency, so that
    /// a category takes the frequency's place. The limit lies between the lowest and the highest latency, at `strict` of
    /// the settings.
    #[must_use]
    pub fn table(&self, freqs: &FrequencyAxis, delays_us: &[f64], noise: (f64, f64), strict: f64) -> ReplayTable {
        let (kind, freqs_ghz) = match freqs {
            FrequencyAxis::Frequencies(freqs) => (FactorKind::Number(freqs.clone()), freqs),
            FrequencyAxis::Governors(freqs) => (FactorKind::Category(freqs.len()), freqs),
        };
        let trend = if matches!(freqs, FrequencyAxis::Frequencies(_)) { 1.0 } else { 0.0 };
        let factor = |name: &str, kind| Factor { name: name.to_owned(), kind, switch_s: 0.0 };
        let factors = vec![factor("freq", kind), factor("rx-usecs", FactorKind::Number(delays_us.to_vec()))];
        let mut table = ReplayTable {
            space: Space { factors, points: Vec::new() },
            goal: Vec::new(),
            tail: Vec::new(),
            start: (0.0, 0.0),
            residuals: Vec::new(),
            limit: 0.0,
            trends: (vec![trend, -0.3], vec![-trend, 1.0]),
        };
        for (row, freq_ghz) in freqs_ghz.iter().enumerate() {
            for (column, delay_us) in delays_us.iter().enumerate() {
                let (watts, p99) = self.at(*freq_ghz, *delay_us);
                table.space.points.push(vec![Some(row as u16), Some(column as u16)]);
                table.goal.push(libm::log(watts));
                table.tail.push(libm::log(p99));
            }
        }
        let highest = freqs_ghz.iter().copied().fold(0.0, f64::max);
        let (watts, p99) = self.at(highest, delays_us.first().copied().unwrap_or(1.0));
        table.start = (libm::log(watts), libm::log(p99));
        let mut sorted = table.tail.clone();
        sorted.sort_by(f64::total_cmp);
        let at = ((strict * sorted.len() as f64) as usize).min(sorted.len().saturating_sub(1));
        // Between two settings, so that none lies on the limit by construction.
        table.limit = 0.5 * (sorted[at] + sorted[(at + 1).min(sorted.len() - 1)]);
        let mut random = Draws::new(0, Purpose::Trial, 2, 0);
        table.residuals = (0..500).map(|_| (noise.0 * random.normal(), noise.1 * random.normal())).collect();
        table
    }
}

/// What stands for the frequency.
#[derive(Debug, Clone, PartialEq)]
pub enum FrequencyAxis {
    /// Itself, in GHz, ascending.
    Frequencies(Vec<f64>),
    /// Governors without an order, each of which runs at such a frequency in GHz.
    Governors(Vec<f64>),
}
