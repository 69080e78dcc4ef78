//! Strips: CPUs or policies beneath one another under the name of each setting, the height of each strip, or the length of a bar,
//! its value; what is drawn of clocks and of how busy CPUs were.
use powerband_record::{MeterQuantity, format_number};

use super::axis::{self, Area};
use super::chosen::{self, folded, stretch};
use super::label::{SIZE, SMALL, columns, length};
use super::mark::{self, Datum, MarkStyle, Orientation, Stand};
use super::palette::GRID;
use super::scale::{AxisScale, Reach};
use super::svg::{self, Element};
use super::{Caption, LINES, Picture, WIDTH};
use crate::Model;
use crate::courses::{Column, Course, CourseSite, Courses, Use, few};

/// Columns of a strip.
const CORNERS: usize = 150;
/// Strips in one picture.
const MAX: usize = 96;
/// Sites of one setting.
const SITES: usize = 16;
/// Height of a strip with the room beneath it.
const HIGH: f64 = 18.0;
/// Height of its highest value.
const STRIP: f64 = 14.0;
/// Height of a setting's name above its strips.
const NAME: f64 = 20.0;

/// One strip.
struct Strip {
    site: String,
    /// The number behind it.
    behind: String,
    datum: Datum,
    drawn: Drawn,
}

enum Drawn {
    /// Heights over time, as shares of the highest, with the end of the last column.
    Steps(Vec<Column>, f64),
    /// A bar as long as a value, with an interval.
    Bar(f64, Option<(f64, f64)>),
}

/// The strips of one setting.
struct Group {
    label: String,
    setting: u32,
    strips: Vec<Strip>,
}

/// Groups on a common scale.
struct Strips {
    caption: Caption,
    axis: String,
    groups: Vec<Group>,
}

/// Clocks of many policies, over a trial.
pub(super) fn clocks(model: &Model, sites: &[(&CourseSite, Vec<&Course>)]) -> Vec<Picture> {
    let highest = sites.iter().flat_map(|(_, courses)| courses).filter_map(|course| course.ends());
    let highest = highest.map(|(_, high)| high).fold(1.0, f64::max);
    let ends = |courses: &[&Course]| {
        let ends = courses.iter().filter_map(|course| course.ends());
        let (low, high) = ends.fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(it.0), high.max(it.1)));
        high - low
    };
    let told = StripStyle {
        what: "clock",
        verb: "Clock",
        unit: "MHz",
        by: 1.0,
        digits: 0,
        highest,
        score: ends,
        most_telling: "frequencies, the 16 that changed most",
    };
    over_time(model, sites, &told)
}

/// How busy each CPU was: on average of all trials, and over the first.
pub(super) fn utilisation(model: &Model, courses: &Courses) -> Vec<Picture> {
    let levels = few(courses.uses.iter().map(|of| of.site.stretch.as_deref()));
    let means = levels.iter().filter_map(|level| means(model, courses, *level));
    let sites = courses.by_site(|of| of == MeterQuantity::BusyPermille);
    let told = StripStyle {
        what: "use",
        verb: "Use of each CPU",
        unit: "%",
        by: 100.0,
        digits: 1,
        highest: 1.0,
        score: |courses| courses.iter().map(|course| course.mean).fold(0.0, f64::max),
        most_telling: BUSIEST,
    };
    means.chain(over_time(model, &sites, &told)).collect()
}

/// How a quantity is told.
struct StripStyle {
    what: &'static str,
    verb: &'static str,
    unit: &'static str,
    /// What a value is multiplied by to be in the unit.
    by: f64,
    /// Digits of a mean behind the point.
    digits: usize,
    /// The value that fills a strip.
    highest: f64,
    /// How telling a site is: where they are many, those that tell most are drawn.
    score: fn(&[&Course]) -> f64,
    /// Which those are.
    most_telling: &'static str,
}

/// CPUs that are drawn of many.
const BUSIEST: &str = "CPUs, the 16 busiest";

/// A picture for each stretch of the load.
fn over_time(model: &Model, sites: &[(&CourseSite, Vec<&Course>)], told: &StripStyle) -> Vec<Picture> {
    let levels = few(sites.iter().map(|(site, _)| site.stretch.as_deref()));
    let picture = |level: &Option<&str>| {
        let of_level: Vec<&(&CourseSite, Vec<&Course>)> =
            sites.iter().filter(|(site, _)| site.stretch.as_deref() == *level).collect();
        let drawn = chosen::sites(&of_level, SITES, |(_, courses)| (told.score)(courses), told.most_telling);
        let courses = || drawn.kept.iter().flat_map(|(_, courses)| courses);
        let mut settings: Vec<u32> = courses().map(|course| course.setting).collect();
        settings.sort_unstable();
        settings.dedup();
        let settings = chosen::settings(model, &settings, room(drawn.kept.len()));
        let (mut rows, mut together) = (Vec::new(), 1);
        let mut group = |setting: &u32| {
            let label = model.label(*setting);
            let of = courses().filter(|it| it.setting == *setting);
            let strips: Vec<Strip> =
                of.filter_map(|course| strip(&label, course, told, &mut rows, &mut together)).collect();
            (!strips.is_empty()).then_some(Group { label, setting: *setting, strips })
        };
        let groups: Vec<Group> = settings.kept.iter().filter_map(&mut group).collect();
        let stretch = of_level.first().map(|(site, _)| stretch(site)).unwrap_or_default();
        let title = format!("{} over a trial{stretch}", told.verb);
        let most = format_number(told.highest * told.by);
        let desc = format!(
            "{} during the first trial of each setting; a full strip is {most} {}. On average {}.{}{}",
            told.verb,
            told.unit,
            spread(&groups),
            folded(together),
            left_out(&drawn.told, &settings.told)
        );
        let id = format!("{}-course{stretch}", told.what);
        let caption = Caption { id, title, desc };
        let head = ["setting", "of", "trial", "readings", &format!("mean, {}", told.unit), "least", "most"];
        Strips { caption, axis: "seconds from the first reading".into(), groups }.hung(&head, rows)
    };
    levels.iter().filter_map(picture).collect()
}

fn strip(
    label: &str,
    course: &Course,
    told: &StripStyle,
    rows: &mut Vec<Vec<String>>,
    most: &mut usize,
) -> Option<Strip> {
    let (low, high) = course.ends()?;
    let number = |value: f64| format_number(value * told.by);
    let site = course.site.title();
    let counted = [label.to_owned(), site.clone(), course.trial.to_string(), course.readings.to_string()];
    rows.push(counted.into_iter().chain([course.mean, low, high].map(number)).collect());
    let (columns, together) = course.folded(CORNERS);
    *most = (*most).max(together);
    let share = |value: f64| value / told.highest;
    let shares =
        columns.iter().map(|it| Column { low: share(it.low), mean: share(it.mean), high: share(it.high), ..*it });
    let (mean, unit) = (format!("{:.*}", told.digits, course.mean * told.by), told.unit);
    let datum = Datum {
        y: Some(course.mean * told.by),
        low: Some(low * told.by),
        high: Some(high * told.by),
        label: format!("{label}, {site}"),
        setting: Some(course.setting),
        told: format!("{label}, {site}: {mean} {unit} on average, {} to {} {unit}", number(low), number(high)),
        ..Datum::default()
    };
    let behind = format!("{mean} {unit}");
    Some(Strip { site, behind, datum, drawn: Drawn::Steps(shares.collect(), course.end_s) })
}

/// The mean use of each CPU under each setting, over all trials.
fn means(model: &Model, courses: &Courses, level: Option<&str>) -> Option<Picture> {
    let of_level: Vec<&Use> = courses.uses.iter().filter(|of| of.site.stretch.as_deref() == level).collect();
    let mut sites: Vec<&CourseSite> = Vec::new();
    for of in &of_level {
        if !sites.contains(&&of.site) {
            sites.push(&of.site);
        }
    }
    let mean = |of: &Use| of.trials.iter().sum::<f64>() / of.trials.len().max(1) as f64;
    let busiest =
        |site: &CourseSite| of_level.iter().filter(|of| of.site == *site).map(|of| mean(of)).fold(0.0, f64::max);
    let drawn = chosen::sites(&sites, SITES, busiest, BUSIEST);
    let mut settings: Vec<u32> = of_level.iter().map(|of| of.setting).collect();
    settings.sort_unstable();
    settings.dedup();
    let settings = chosen::settings(model, &settings, room(drawn.kept.len()));
    let mut rows = Vec::new();
    let mut group = |setting: &u32| {
        let label = model.label(*setting);
        let of = |site: &&CourseSite| of_level.iter().find(|of| of.setting == *setting && of.site == **site);
        let strips: Vec<Strip> = drawn.kept.iter().filter_map(|site| Some(bar(&label, of(site)?, &mut rows))).collect();
        (!strips.is_empty()).then_some(Group { label, setting: *setting, strips })
    };
    let groups: Vec<Group> = settings.kept.iter().filter_map(&mut group).collect();
    let stretch = sites.first().map(|site| stretch(site)).unwrap_or_default();
    let title = format!("Use of each CPU on average{stretch}");
    let desc = format!(
        "The share of time each CPU was busy, mean of all trials, from the least to the most of them: {}.{}",
        spread(&groups),
        left_out(&drawn.told, &settings.told)
    );
    let caption = Caption { id: format!("use-means{stretch}"), title, desc };
    let head = ["setting", "CPU", "trials", "mean, %", "least", "most"];
    Strips { caption, axis: "time it was busy, %".into(), groups }.hung(&head, rows)
}

fn bar(label: &str, of: &Use, rows: &mut Vec<Vec<String>>) -> Strip {
    let trials = || of.trials.iter().map(|share| share * 100.0);
    let mean = trials().sum::<f64>() / of.trials.len().max(1) as f64;
    let (low, high) = (trials().fold(f64::INFINITY, f64::min), trials().fold(f64::NEG_INFINITY, f64::max));
    let site = of.site.title();
    let counted = [label.to_owned(), site.clone(), of.trials.len().to_string()];
    rows.push(counted.into_iter().chain([mean, low, high].map(format_number)).collect());
    let datum = Datum {
        x: Some(mean),
        low: Some(low),
        high: Some(high),
        label: format!("{label}, {site}"),
        setting: Some(of.setting),
        told: format!("{label}, {site}: busy {} % of the time", format_number(mean)),
        ..Datum::default()
    };
    let behind = format!("{mean:.1} %");
    Strip { site, behind, datum, drawn: Drawn::Bar(mean, (of.trials.len() > 1).then_some((low, high))) }
}

/// `spread from cpu2 7.2 % to cpu1 20.2 %; gathered …`.
fn spread(groups: &[Group]) -> String {
    let value = |strip: &Strip| strip.datum.x.or(strip.datum.y).unwrap_or(f64::NAN);
    let told = |group: &Group| {
        let least = group.strips.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
        let most = group.strips.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
        let (least, most) = least.zip(most)?;
        let one = |strip: &Strip| format!("{} {}", strip.site, strip.behind);
        Some(if least.site == most.site {
            format!("{} {}", group.label, one(least))
        } else if least.behind == most.behind {
            format!("{} {} on each", group.label, least.behind)
        } else {
            format!("{} from {} to {}", group.label, one(least), one(most))
        })
    };
    groups.iter().filter_map(told).collect::<Vec<_>>().join("; ")
}

/// Settings that have room with so many strips each.
fn room(strips: usize) -> usize {
    LINES.min(MAX / strips.max(1)).max(1)
}

/// What is not drawn, and where it can be read.
fn left_out(sites: &str, settings: &str) -> String {
    let where_else = if sites.is_empty() && settings.is_empty() { "" } else { " `show --timelines` lists the others." };
    format!("{sites}{settings}{where_else}")
}

impl Strips {
    /// The picture; nothing where no setting has a strip.
    fn hung(self, head: &[&str], rows: Vec<Vec<String>>) -> Option<Picture> {
        let svg = self.draw();
        self.caption.hang(svg, head, rows)
    }

    fn draw(&self) -> Option<String> {
        let strips = || self.groups.iter().flat_map(|group| &group.strips);
        let widest = |of: fn(&Strip) -> &String| strips().map(|it| length(of(it), SMALL)).fold(0.0, f64::max);
        let (left, right) = (widest(|it| &it.site).min(WIDTH * 0.3) + 10.0, WIDTH - widest(|it| &it.behind) - 8.0);
        let values = strips().flat_map(|strip| match &strip.drawn {
            Drawn::Steps(_, end_s) => vec![0.0, *end_s],
            Drawn::Bar(value, interval) => {
                let ends = interval.iter().copied().flat_map(|(low, high)| [low, high]);
                [0.0, *value].into_iter().chain(ends).collect()
            }
        });
        let scale = AxisScale::new(Reach::Zero, values.collect::<Vec<_>>(), (left, right - 4.0))?;
        let top = 4.0;
        let high = |group: &Group| NAME + group.strips.len() as f64 * HIGH;
        let bottom = top + self.groups.iter().map(high).sum::<f64>() + 4.0;
        let area = Area { left, top, right, bottom };
        let mut body = vec![axis::below(&scale, area, &self.axis)];
        let mut y = top;
        for group in &self.groups {
            body.push(group.draw(&scale, area, y));
            y += high(group);
        }
        let Caption { title, desc, .. } = &self.caption;
        Some(svg::document(title, desc, (WIDTH, bottom + axis::BELOW), false, body))
    }
}

impl Group {
    fn draw(&self, scale: &AxisScale, area: Area, top: f64) -> Element {
        let row = Element::new("g").set("class", "pb-row").set("data-label", self.label.clone());
        let mut row = row.exact("data-setting", Some(f64::from(self.setting)));
        let name = super::label::folded(&self.label, columns(WIDTH - 8.0, SIZE), 1).concat();
        let name = mark::above(mark::text((2.0, top + 13.0), Stand::Begins, false, &name));
        row = row.with(name.set("font-weight", "bold"));
        let look = MarkStyle::of_setting(self.setting);
        for (place, strip) in self.strips.iter().enumerate() {
            let base = top + NAME + place as f64 * HIGH + STRIP;
            row = row.with(mark::text((area.left - 5.0, base - 3.0), Stand::Ends, true, &strip.site));
            row = row.with_all(strip.draw(scale, base, area, look));
            row = row.with(mark::text((area.right + 4.0, base - 3.0), Stand::Begins, true, &strip.behind));
        }
        row
    }
}

impl Strip {
    fn draw(&self, scale: &AxisScale, base: f64, area: Area, look: MarkStyle) -> Vec<Element> {
        match &self.drawn {
            Drawn::Bar(value, interval) => {
                let zero = scale.place(0.0).unwrap_or(area.left);
                let Some(end) = scale.place(*value) else { return Vec::new() };
                let bar = mark::bar((zero, base - STRIP + 2.0), (end, base - 1.0), look.colour, 0.55, &self.datum);
                let ends = interval.and_then(|(low, high)| scale.held(low).zip(scale.held(high)));
                let ink = MarkStyle { colour: super::palette::INK, ..look };
                let caps =
                    ends.map(|ends| mark::interval(Orientation::Across, ends, base - STRIP / 2.0, ink, &self.datum));
                [bar].into_iter().chain(caps).collect()
            }
            Drawn::Steps(columns, end_s) => {
                let end = scale.place(*end_s).unwrap_or(area.right);
                let path = |of: fn(&Column) -> f64| outline(columns, of, scale, base, end);
                let ground = Element::new("line").at("x1", area.left).at("y1", base).at("x2", end).at("y2", base);
                let ground = ground.set("stroke", GRID).set("stroke-width", "1");
                let most = mark::area(&path(|column| column.high), look.colour, 0.3, &Datum::default()).without_class();
                let mean = mark::area(&path(|column| column.mean), look.colour, 0.85, &self.datum);
                let mean = mean.at("data-y0", base).at("data-y1", base - STRIP);
                let spread = columns.iter().any(|column| column.high > column.mean);
                [Some(ground), spread.then_some(most), Some(mean)].into_iter().flatten().collect()
            }
        }
    }
}

/// The outline of the ground below steps.
fn outline(columns: &[Column], of: fn(&Column) -> f64, scale: &AxisScale, base: f64, end: f64) -> String {
    let mut path = String::new();
    for column in columns {
        let Some(x) = scale.place(column.at_s) else { continue };
        let value = of(column);
        let y = base - STRIP * if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
        path += &match path.is_empty() {
            true => format!("M{} {}V{}", svg::position(x), svg::position(base), svg::position(y)),
            false => format!("H{}V{}", svg::position(x), svg::position(y)),
        };
    }
    if path.is_empty() { path } else { format!("{path}H{}V{}Z", svg::position(end), svg::position(base)) }
}
