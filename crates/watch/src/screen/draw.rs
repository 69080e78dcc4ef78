//! Where everything is on the screen.
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use powerband_record::{CpuList, format_khz};

use super::cell::{bars, fit, time};
use super::table::Columns;
use super::{View, chart};

/// The least there is sense in.
const MIN: (u16, u16) = (48, 10);

/// Least lines of the large picture.
const CHART: usize = 6;

/// Lines of policies, of meters and of what is missing that are shown at most.
const NOTES: usize = 4;

const HELP: [&str; 12] = [
    "q, Esc, Ctrl-C   end",
    "space            pause, go on",
    "+  -             sample more often, less often",
    "up, down         mark a CPU (also k, j, page up, page down, home, end)",
    "enter            pick the marked CPU or let it go; picked ones are large",
    "?                this page, and back",
    "",
    "freq    as the kernel reports it, from the hardware's lowest to its highest",
    "busy    share of the time neither idle nor waiting for a disk",
    "irq/s   interrupts a second; wake/s: idle states entered a second",
    "C1 …    share of the time in each idle state; a sleep shows when it ends",
    "W       what a meter reads of what it covers; meters are never added up",
];

impl View {
    /// Draws it.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < MIN.0 || area.height < MIN.1 {
            let text = format!("too small: needs {} × {} or more", MIN.0, MIN.1);
            frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }), area);
            return;
        }
        let width = usize::from(area.width);
        let notes = self.notes(width);
        let [title, body, below, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(u16::try_from(notes.len()).unwrap_or(0)),
            Constraint::Length(1),
        ])
        .areas(area);
        frame.render_widget(self.title(width), title);
        if self.help {
            let lines: Vec<Line<'_>> =
                HELP.iter().map(|line| Line::from(format!("  {}", fit(line, width - 2)))).collect();
            frame.render_widget(Paragraph::new(lines), body);
        } else {
            self.body(frame, body);
        }
        frame.render_widget(Paragraph::new(notes), below);
        let words = " q quit   space pause   + - rate   ↑ ↓ enter pick CPUs   ? help";
        frame.render_widget(Paragraph::new(fit(words, width)).style(dim()), keys);
    }

    /// A style of one colour, where there are colours.
    pub(super) fn tint(&self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn title(&self, width: usize) -> Line<'static> {
        let stands = match (&self.remark, self.paused) {
            (Some(remark), _) => remark.clone(),
            (None, true) => "paused, space goes on".to_owned(),
            (None, false) => format!("every {}", time(self.interval_ns as f64 * 1e-9)),
        };
        let right = self.cost.map_or_else(String::new, |(cost, over_ns)| {
            let seconds = (over_ns as f64 * 1e-9).max(1e-9);
            let percent = 100.0 * cost.cpu_s / seconds;
            format!("itself {percent:.2} % of a CPU, {:.1} wake-ups/s ", cost.wakeups as f64 / seconds)
        });
        // A long name gives way.
        let room = width.saturating_sub(right.width() + stands.width() + 5);
        let left =
            fit(&format!(" {} · {stands}", fit(&self.scene.machine, room)), width.saturating_sub(right.width() + 1));
        let gap = width.saturating_sub(left.width() + right.width());
        Line::from(vec![
            Span::styled(left, Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(" ".repeat(gap)),
            Span::styled(right, dim()),
        ])
    }

    /// The table of CPUs, and below it the large picture.
    fn body(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let (width, height, cpus) = (usize::from(area.width), usize::from(area.height), self.scene.cpus.len());
        // The heading takes a line, and one tells what is out of sight.
        let room = height - 1;
        let beside = if room >= CHART + 4 { CHART } else { 0 };
        let shown = if cpus <= room - beside { cpus } else { (room - beside - 1).min(cpus) };
        self.first = self.first.min(self.cursor).max((self.cursor + 1).saturating_sub(shown)).min(cpus - shown);
        let columns = Columns::of(self, width);
        let mut lines = vec![Line::styled(columns.head(), Style::new().add_modifier(Modifier::BOLD))];
        lines.extend((self.first..self.first + shown).map(|line| columns.line(self, line)));
        if shown < cpus {
            let (above, below) = (self.first, cpus - shown - self.first);
            lines.push(Line::styled(format!("      {above} more above, {below} below"), dim()));
        }
        let used = lines.len();
        frame.render_widget(Paragraph::new(lines), area);
        if height >= used + CHART {
            let used = u16::try_from(used).unwrap_or(area.height);
            // A line stays free between them.
            let below = Rect { y: area.y + used + 1, height: area.height - used - 1, ..area };
            chart::draw(self, frame, below);
        }
    }

    /// Governors and limits, watts, and what is missing.
    fn notes(&self, width: usize) -> Vec<Line<'static>> {
        let mut lines = self.policies();
        lines.truncate(NOTES);
        let label = |meter: &powerband_meter::MeterInstance| meter.boundary.clone();
        let widest = self.scene.meters.iter().map(|meter| label(meter).width()).max().unwrap_or(0).min(24);
        for (place, meter) in self.scene.meters.iter().enumerate().take(NOTES) {
            let seen: Vec<Option<f64>> =
                self.samples.iter().map(|sample| sample.watts.get(place).copied().flatten()).collect();
            let now = seen.last().copied().flatten().map_or_else(|| "– W".into(), |watts| format!("{watts:.2} W"));
            let head = format!(" {:<widest$}{now:>11} ", fit(&label(meter), widest));
            let most = seen.iter().flatten().copied().fold(0.0, f64::max);
            let room = width.saturating_sub(head.width() + 1);
            let from = seen.len().saturating_sub(room);
            let shares: Vec<Option<f64>> = seen[from..]
                .iter()
                .map(|watts| watts.map(|watts| if most > 0.0 { watts / most } else { 0.0 }))
                .collect();
            let picture = Span::styled(bars(&shares, room), self.tint(Color::Yellow));
            lines.push(Line::from(vec![Span::raw(head), picture]));
        }
        if self.scene.meters.len() > NOTES {
            lines.push(Line::styled(format!(" {} more meters", self.scene.meters.len() - NOTES), dim()));
        }
        lines.extend(self.scene.missing.iter().map(|why| Line::styled(format!(" {}", fit(why, width - 1)), dim())));
        lines
    }

    /// Governors and limits; policies that stand alike share a line.
    fn policies(&self) -> Vec<Line<'static>> {
        let Some(sample) = self.samples.back() else { return Vec::new() };
        let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
        for (policy, now) in self.scene.policies.iter().zip(&sample.policies) {
            let khz = |khz: Option<u32>| khz.map_or_else(|| "–".into(), format_khz);
            let governor = now.governor.as_deref().unwrap_or("–");
            let stands = format!("{governor}, {} to {}", khz(now.min_khz), khz(now.max_khz));
            match groups.iter_mut().find(|(known, _)| *known == stands) {
                Some((_, cpus)) => cpus.extend(policy.cpus.as_slice()),
                None => groups.push((stands, policy.cpus.as_slice().to_vec())),
            }
        }
        let line = |(stands, cpus): (String, Vec<u32>)| {
            let many = if cpus.len() == 1 { "cpu" } else { "cpus" };
            Line::from(format!(" {many} {}: {stands}", CpuList::new(cpus)))
        };
        groups.into_iter().map(line).collect()
    }
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}
