//! The table of CPUs: one line each, its columns as many as fit.
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::View;
use super::cell::{bars, clock, fit};
use crate::CpuNow;

/// Least columns a line's picture takes.
const MIN: usize = 14;

/// Which columns there is room for.
pub(super) struct Columns {
    wakeups: bool,
    /// Names of the idle states shown, the lightest first.
    states: Vec<String>,
    /// Columns of the clock's picture.
    pub(super) clock: usize,
    /// Columns of utilisation's picture; 0 for none.
    busy: usize,
}

const CPU: usize = 6;
const CLOCK: usize = 10;
const BUSY: usize = 7;
const RATE: usize = 9;
const STATE: usize = 7;

impl Columns {
    pub(super) fn of(view: &View, width: usize) -> Self {
        let mut names: Vec<String> = Vec::new();
        for state in view.scene.cpus.iter().flat_map(|(_, states)| states) {
            if !names.contains(state) {
                names.push(state.clone());
            }
        }
        let room = width.saturating_sub(CPU + CLOCK + BUSY + RATE + MIN + 1);
        // Deep states tell more than light ones.
        let states = names.split_off(names.len().saturating_sub(room / STATE));
        let room = room - states.len() * STATE;
        let wakeups = !states.is_empty() && room >= RATE;
        let room = room - if wakeups { RATE } else { 0 };
        let pictures = MIN + room;
        let busy = match (view.clocks(), pictures >= 48) {
            (false, _) => pictures,
            (true, true) => pictures / 3,
            (true, false) => 0,
        };
        Columns { wakeups, states, clock: pictures - busy, busy }
    }

    /// What stands above them.
    pub(super) fn head(&self) -> String {
        let mut head = format!("{:>CPU$}{:>CLOCK$} {:<clock$}{:>BUSY$}", "cpu", "freq", "", "busy", clock = self.clock);
        if self.busy > 0 {
            head += &format!("{:<1$}", "", self.busy);
        }
        head += &format!("{:>RATE$}", "irq/s");
        if self.wakeups {
            head += &format!("{:>RATE$}", "wake/s");
        }
        head.extend(self.states.iter().map(|state| format!("{:>STATE$}", fit(state, STATE - 1))));
        head
    }

    /// One CPU.
    pub(super) fn line(&self, view: &View, line: usize) -> Line<'static> {
        let (cpu, states) = &view.scene.cpus[line];
        let unknown = CpuNow::default();
        let now = view.samples.back().and_then(|sample| sample.cpus.get(line)).unwrap_or(&unknown);
        let mark = if view.picked.contains(&line) { '*' } else { ' ' };
        let style = if line == view.cursor { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        let history = |of: &dyn Fn(&CpuNow) -> Option<f64>, width: usize| {
            let seen = view.samples.len();
            let values = view.samples.iter().skip(seen.saturating_sub(width));
            let values: Vec<Option<f64>> = values.map(|sample| sample.cpus.get(line).and_then(of)).collect();
            bars(&values, width)
        };
        let range = view.range_khz(line).unwrap_or((0, 1));
        let height = |khz: u32| {
            let span = f64::from(range.1 - range.0);
            if span > 0.0 { f64::from(khz.saturating_sub(range.0)) / span } else { 1.0 }
        };
        let mut spans = vec![
            Span::styled(format!("{mark}{cpu:>width$}", width = CPU - 1), style),
            Span::raw(format!("{:>CLOCK$} ", clock(now.clock_khz))),
            Span::styled(history(&|now| now.clock_khz.map(height), self.clock), view.tint(ratatui::style::Color::Cyan)),
            Span::raw(format!("{:>BUSY$}", percent(now.busy))),
        ];
        if self.busy > 0 {
            let picture = format!(" {}", history(&|now| now.busy, self.busy - 1));
            spans.push(Span::styled(picture, view.tint(ratatui::style::Color::Green)));
        }
        spans.push(Span::raw(format!("{:>RATE$}", rate(now.interrupts_per_s))));
        if self.wakeups {
            spans.push(Span::raw(format!("{:>RATE$}", rate(now.wakeups_per_s))));
        }
        for name in &self.states {
            let share = states.iter().position(|state| state == name).and_then(|place| now.idle.get(place).copied());
            spans.push(Span::raw(format!("{:>STATE$}", percent(share.flatten()))));
        }
        Line::from(spans)
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".into(), |share| format!("{:.0} %", 100.0 * share))
}

fn rate(per_s: Option<f64>) -> String {
    match per_s {
        None => "–".into(),
        Some(rate) if rate > 0.0 && rate < 10.0 => format!("{rate:.1}"),
        Some(rate) if rate < 1e5 => format!("{rate:.0}"),
        Some(rate) => format!("{:.0}k", rate / 1e3),
    }
}
