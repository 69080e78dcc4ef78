//! Where a value lies: linear, logarithmic and band scales, their inverse, and ticks at round values.

/// How values become positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleKind {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart.
    Log,
    /// Places 0, 1, … each have a band, and lie in its middle.
    Band,
}

/// What a scale is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The values.
    Values,
    /// The values and zero.
    Zero,
    /// The values by their logarithm; those that have none are left out.
    Log,
    /// The values, which are whole numbers; ticks are, too, and the first and the last do not lie on the frame.
    Count,
}

/// A scale from values between `low` and `high` to positions between `from` and `to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisScale {
    kind: ScaleKind,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    /// Whether only whole numbers have ticks.
    whole: bool,
}

/// A value an axis names.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// As it is written.
    pub label: String,
}

/// Room around the outermost values, as a share of what they span.
const ROOM: f64 = 0.06;

impl AxisScale {
    /// A scale for these values, those that are no numbers left out; `None` when nothing can be shown: no value, or on a
    /// logarithmic one none above zero.
    #[must_use]
    pub fn new(reach: Reach, values: impl IntoIterator<Item = f64>, (from, to): (f64, f64)) -> Option<AxisScale> {
        let log = reach == Reach::Log;
        let shown = values.into_iter().filter(|value| value.is_finite() && (!log || *value > 0.0));
        let shown = shown.map(|value| if log { libm::log10(value) } else { value });
        let (mut low, mut high) = shown.fold(None, |span: Option<(f64, f64)>, value| {
            let (low, high) = span.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })?;
        if reach == Reach::Zero {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        let (least, most) = (low, high);
        let alone = if log { 0.1 } else { (low.abs() * 0.1).max(f64::MIN_POSITIVE * 1e10) };
        let span = high - low;
        // Values that differ in their last digits only are one.
        let room = if span > low.abs().max(high.abs()) * 1e-9 { span * ROOM } else { alone.max(span) };
        let room = if room < 1e-200 { 1.0 } else { room };
        let whole = reach == Reach::Count;
        let room = if whole { (span * ROOM / 2.0).max(0.6) } else { room };
        (low, high) = (low - room, high + room);
        if !log && !whole && least >= 0.0 {
            low = low.max(0.0);
        }
        if reach == Reach::Zero && most <= 0.0 {
            high = 0.0;
        }
        if reach == Reach::Zero && high <= low {
            high = low + 1.0;
        }
        Some(AxisScale { kind: if log { ScaleKind::Log } else { ScaleKind::Linear }, low, high, from, to, whole })
    }

    /// A band for each of `count` places.
    #[must_use]
    pub fn band(count: usize, (from, to): (f64, f64)) -> AxisScale {
        AxisScale { kind: ScaleKind::Band, low: -0.5, high: count.max(1) as f64 - 0.5, from, to, whole: false }
    }

    /// Where a value lies; `None` for what is no number, and on a logarithmic scale not above zero.
    #[must_use]
    pub fn place(&self, value: f64) -> Option<f64> {
        let value = if self.kind == ScaleKind::Log { log10(value)? } else { value };
        let place = self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from);
        place.is_finite().then_some(place)
    }

    /// As [`AxisScale::place`], held to the ends of the scale.
    #[must_use]
    pub fn held(&self, value: f64) -> Option<f64> {
        let (least, most) = (self.from.min(self.to), self.from.max(self.to));
        Some(self.place(value)?.clamp(least, most))
    }

    /// The value that lies at a position.
    #[must_use]
    pub fn value(&self, place: f64) -> f64 {
        let value = self.low + (place - self.from) / (self.to - self.from) * (self.high - self.low);
        if self.kind == ScaleKind::Log { libm::pow(10.0, value) } else { value }
    }

    /// Length of a band, or of the whole.
    #[must_use]
    pub fn step(&self) -> f64 {
        let whole = (self.to - self.from).abs();
        if self.kind == ScaleKind::Band { whole / (self.high - self.low) } else { whole }
    }

    /// The ends of the positions.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// The scale in words for programs: kind, first and last value, first and last position.
    #[must_use]
    pub fn told(&self) -> String {
        let (kind, low, high) = match self.kind {
            ScaleKind::Linear => ("linear", self.low, self.high),
            ScaleKind::Log => ("log", libm::pow(10.0, self.low), libm::pow(10.0, self.high)),
            ScaleKind::Band => ("band", self.low, self.high),
        };
        format!("{kind} {low} {high} {} {}", self.from, self.to)
    }

    /// Round values on it, at most about `most`.
    #[must_use]
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.max(2);
        if self.kind != ScaleKind::Log {
            // A lone tick is no scale: nobody can read a second value off it.
            let ticks = (most..=3 * most).map(|most| linear_ticks(self.low, self.high, most, self.whole));
            let mut some = ticks.skip_while(|ticks| ticks.len() < 2);
            return some.next().unwrap_or_else(|| linear_ticks(self.low, self.high, most, self.whole));
        }
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        let decades = usize::try_from(last - first + 1).unwrap_or(0);
        let digits: &[f64] = match decades {
            0..=1 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            2 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let digits = if digits.len() * decades.max(1) > most { &[1.0, 3.0][..] } else { digits };
        let digits = if digits.len() * decades > most { &digits[..1] } else { digits };
        let every = decades.div_ceil(most).max(1);
        let low = libm::pow(10.0, self.low);
        let high = libm::pow(10.0, self.high);
        let values = (first - 1..=last).step_by(every).flat_map(|decade| {
            let ten = power_of_ten(decade);
            digits.iter().map(move |digit| if decade < 0 { digit / power_of_ten(-decade) } else { digit * ten })
        });
        let values: Vec<f64> = values.filter(|value| (low..=high).contains(value)).collect();
        if values.len() < 2 {
            return linear_ticks(low, high, most, false);
        }
        values.into_iter().map(|value| Tick { value, label: short(value) }).collect()
    }
}

fn log10(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then(|| libm::log10(value))
}

fn power_of_ten(exponent: i32) -> f64 {
    libm::pow(10.0, f64::from(exponent))
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, most: usize, whole: bool) -> Vec<Tick> {
    let rough = (high - low) / most as f64;
    let rough = if whole { rough.max(1.0) } else { rough };
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let exponent = libm::floor(libm::log10(rough)) as i32;
    let ten = power_of_ten(exponent);
    let (digit, exponent) = match rough / ten {
        part if part <= 1.0 => (1.0, exponent),
        part if part <= 2.0 => (2.0, exponent),
        part if part <= 5.0 => (5.0, exponent),
        _ => (1.0, exponent + 1),
    };
    let step = digit * power_of_ten(exponent);
    let (first, last) = (libm::ceil(low / step) as i64, libm::floor(high / step) as i64);
    let value = |count: i64| match exponent {
        // Divided, so that 3 × 0.1 is 0.3.
        ..0 => count as f64 * digit / power_of_ten(-exponent),
        0.. => count as f64 * step,
    };
    let largest = low.abs().max(high.abs());
    let label = |value: f64| scaled(value, exponent, largest);
    (first..=last).map(value).map(|value| Tick { value, label: label(value) }).collect()
}

/// Thousands, millions and on, where numbers are larger than they are wide.
const LARGE: [(f64, i32, &str); 4] = [(1e12, 12, "T"), (1e9, 9, "G"), (1e6, 6, "M"), (1e4, 3, "k")];

/// A multiple of a power of ten, with as many decimals as that has, all of an axis in one unit.
fn scaled(value: f64, exponent: i32, largest: f64) -> String {
    let (ten, sign) = LARGE.iter().find(|(from, ..)| largest >= *from).map_or((0, ""), |(_, ten, sign)| (*ten, *sign));
    let decimals = usize::try_from(ten - exponent).unwrap_or(0);
    let value = value / power_of_ten(ten);
    if value == 0.0 {
        return "0".into();
    }
    if largest < 1e-4 { format!("{value:e}") } else { format!("{value:.decimals$}{sign}") }
}

/// A number in as few digits as it has.
fn short(value: f64) -> String {
    let large = LARGE.iter().find(|(from, ..)| value.abs() >= *from);
    let (ten, sign) = large.map_or((0, ""), |(_, ten, sign)| (*ten, *sign));
    if value.abs() < 1e-5 && value != 0.0 {
        return format!("{value:e}");
    }
    format!("{}{sign}", powerband_record::format_number(value / power_of_ten(ten)))
}
