//! What is shown and what the keys do; how it is drawn is in `screen/`.
mod cell;
mod chart;
mod draw;
mod table;

use std::collections::{BTreeSet, VecDeque};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::{Cost, MachineSample, Scene};

/// The pauses between samples that `+` and `-` choose from, ns: at most ten samples a second.
pub const INTERVALS_NS: [u64; 7] =
    [100_000_000, 200_000_000, 500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000, 10_000_000_000];

/// Samples that are kept: the widest screen there is sense in shows fewer.
const KEPT: usize = 480;

/// What a key asks of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRequest {
    /// Nothing, but the screen may look different now.
    Nothing,
    /// To end.
    Quit,
    /// To end, by Ctrl-C.
    Stop,
}

/// A screen of one machine.
#[derive(Debug)]
pub struct View {
    scene: Scene,
    samples: VecDeque<MachineSample>,
    interval_ns: u64,
    paused: bool,
    help: bool,
    /// The line of the table that is marked.
    cursor: usize,
    /// Lines of the table that were picked to be drawn large.
    picked: BTreeSet<usize>,
    /// The first line shown, when not all fit.
    first: usize,
    /// What the observer cost, and over how long, ns.
    cost: Option<(Cost, u64)>,
    /// What is said next to the machine's name in place of the pace.
    remark: Option<String>,
    colour: bool,
}

impl View {
    /// A screen without samples yet. `remark` is shown in place of the
    /// pace (`a recording: it stands still`).
    #[must_use]
    pub fn new(scene: Scene, interval_ns: u64, remark: Option<String>, colour: bool) -> Self {
        View {
            scene,
            samples: VecDeque::new(),
            interval_ns,
            paused: false,
            help: false,
            cursor: 0,
            picked: BTreeSet::new(),
            first: 0,
            cost: None,
            remark,
            colour,
        }
    }

    /// Shows a sample.
    pub fn push(&mut self, sample: MachineSample) {
        while self.samples.len() >= KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Shows what the observer has cost in `over_ns`.
    pub fn set_cost(&mut self, cost: Cost, over_ns: u64) {
        self.cost = Some((cost, over_ns));
    }

    /// The pause between samples, ns.
    #[must_use]
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Whether no samples are wanted now.
    #[must_use]
    pub fn paused(&self) -> bool {
        self.paused
    }

    /// Does what a key means.
    pub fn key(&mut self, key: KeyEvent) -> KeyRequest {
        if key.kind == KeyEventKind::Release {
            return KeyRequest::Nothing;
        }
        let last = self.scene.cpus.len().saturating_sub(1);
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return KeyRequest::Stop,
            KeyCode::Char('q') => return KeyRequest::Quit,
            KeyCode::Esc if !self.help => return KeyRequest::Quit,
            KeyCode::Esc => self.help = false,
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('+' | '=') => self.turn_interval(true),
            KeyCode::Char('-') => self.turn_interval(false),
            KeyCode::Up | KeyCode::Char('k') => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.cursor = (self.cursor + 1).min(last),
            KeyCode::PageUp => self.cursor = self.cursor.saturating_sub(10),
            KeyCode::PageDown => self.cursor = (self.cursor + 10).min(last),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = last,
            KeyCode::Enter => self.pick(),
            _ => {}
        }
        KeyRequest::Nothing
    }

    /// Picks the marked line, or lets it go.
    fn pick(&mut self) {
        if !self.picked.remove(&self.cursor) {
            self.picked.insert(self.cursor);
        }
    }

    fn turn_interval(&mut self, faster: bool) {
        let next = match faster {
            true => INTERVALS_NS.into_iter().rev().find(|&ns| ns < self.interval_ns),
            false => INTERVALS_NS.into_iter().find(|&ns| ns > self.interval_ns),
        };
        self.interval_ns = next.unwrap_or(self.interval_ns);
    }

    /// The lines of the table that are drawn large: those picked, else the marked one.
    fn large(&self) -> Vec<usize> {
        if self.picked.is_empty() { vec![self.cursor] } else { self.picked.iter().copied().collect() }
    }

    /// Whether there are clocks to draw; where not, utilisation takes their place.
    fn clocks(&self) -> bool {
        self.samples.iter().any(|sample| sample.cpus.iter().any(|cpu| cpu.clock_khz.is_some()))
    }

    /// The slowest and the fastest clock of one CPU, kHz: of the hardware, or else of what was seen.
    fn range_khz(&self, line: usize) -> Option<(u32, u32)> {
        let cpu = self.scene.cpus.get(line)?.0;
        let policy = self.scene.policies.iter().find(|policy| policy.cpus.contains(cpu))?;
        let seen = || self.samples.iter().filter_map(|sample| sample.cpus.get(line)?.clock_khz);
        let low = policy.lowest_khz.or_else(|| seen().min())?;
        // A boost may go beyond what the hardware promises.
        let high = policy.highest_khz.into_iter().chain(seen().max()).max()?;
        Some((low.min(high), high))
    }
}
