//! What a meter, a clock or a CPU showed during a trial, reading by reading, packed small enough to be kept with every trial.
use std::io::{BufReader, Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use crate::Side;

/// The readings of one file around the load of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The machine it was read on.
    pub side: Side,
    /// Name of the kind of meter.
    pub meter: String,
    /// What its number covers.
    pub boundary: String,
    /// Which stretch of a load that has several: `at_50`, `idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stretch: Option<String>,
    /// What it shows.
    pub quantity: MeterQuantity,
    /// How many readings there are.
    pub samples: u32,
    /// The lowest, in the unit of the quantity.
    pub min: u64,
    /// The highest.
    pub max: u64,
    /// The mean of all; of shares of time, each counts as long as its time was.
    pub mean: f64,
    /// The readings, see [`Timeline::readings`].
    pub chunk: String,
}

/// What the readings of a timeline are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeterQuantity {
    /// Power, µW.
    PowerUw,
    /// Energy counted since some moment, µJ; it may have come round.
    EnergyUj,
    /// The clock of a policy of cpufreq, kHz.
    ClockKhz,
    /// The share of the time since the reading before that a CPU was busy, ‰; the first has none before it and tells nothing.
    BusyPermille,
}

/// One reading: ns since the first one, and what it showed in the unit of the quantity.
pub type MeterReading = (u64, u64);

/// Why a chunk gives no readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the readings of a timeline cannot be unpacked: {0}")]
pub struct TimelineError(&'static str);

/// A number takes no more bytes than this, seven bits in each.
const NUMBER_BYTES: usize = 10;
const MORE: u8 = 0x80;

impl Timeline {
    /// Packs readings; nothing where there are fewer than three, which begin and end say already.
    ///
    /// Of each reading the change of the time since the one before and the change of the value are written as numbers of
    /// variable length, seven bits a byte, small ones of either sign short; the whole is deflated and written in base 64.
    #[must_use]
    pub fn pack(
        side: Side,
        meter: &str,
        boundary: &str,
        quantity: MeterQuantity,
        readings: &[MeterReading],
    ) -> Option<Self> {
        let first_ns = readings.first().filter(|_| readings.len() > 2)?.0;
        let mut bytes = Vec::new();
        let (mut last, mut step_ns) = ((first_ns, 0), 0);
        for &(at_ns, value) in readings {
            let step = at_ns.wrapping_sub(last.0);
            put(&mut bytes, step.wrapping_sub(step_ns));
            put(&mut bytes, value.wrapping_sub(last.1));
            (last, step_ns) = ((at_ns, value), step);
        }
        let mut deflater = DeflateEncoder::new(Vec::new(), Compression::best());
        // Into memory, which takes it.
        let deflated = deflater.write_all(&bytes).and_then(|()| deflater.finish()).ok()?;
        let told = usize::from(quantity == MeterQuantity::BusyPermille)..;
        let values = || readings[told.clone()].iter().map(|(_, value)| *value);
        Some(Timeline {
            side,
            meter: meter.to_owned(),
            boundary: boundary.to_owned(),
            stretch: None,
            quantity,
            samples: u32::try_from(readings.len()).ok()?,
            min: values().min()?,
            max: values().max()?,
            mean: mean(quantity, readings),
            chunk: STANDARD_NO_PAD.encode(deflated),
        })
    }

    /// The readings, in order.
    ///
    /// # Errors
    /// When the chunk is not one, or holds another number of readings than `samples`.
    pub fn readings(&self) -> Result<Vec<MeterReading>, TimelineError> {
        let mut readings = Vec::new();
        self.read(|reading| readings.push(reading))?;
        Ok(readings)
    }

    /// Hands out the readings in order, without holding all of them.
    ///
    /// # Errors
    /// As [`Timeline::readings`]; what was handed out before then is worth nothing.
    pub fn read(&self, mut each: impl FnMut(MeterReading)) -> Result<(), TimelineError> {
        let deflated = STANDARD_NO_PAD.decode(&self.chunk).map_err(|_| TimelineError("it is not in base 64"))?;
        let mut bytes = BufReader::new(DeflateDecoder::new(&deflated[..])).bytes();
        let (mut last, mut step_ns, mut count) = ((0_u64, 0_u64), 0_u64, 0_u32);
        while let Some(change) = take(&mut bytes)? {
            let value = take(&mut bytes)?.ok_or(TimelineError("it breaks off"))?;
            count += 1;
            if count > self.samples {
                return Err(TimelineError("it holds more readings than it says"));
            }
            step_ns = step_ns.wrapping_add(change);
            last = (last.0.wrapping_add(step_ns), last.1.wrapping_add(value));
            each(last);
        }
        if count == self.samples { Ok(()) } else { Err(TimelineError("readings are missing")) }
    }
}

fn mean(quantity: MeterQuantity, readings: &[MeterReading]) -> f64 {
    if quantity != MeterQuantity::BusyPermille {
        return readings.iter().map(|(_, value)| *value as f64).sum::<f64>() / readings.len() as f64;
    }
    let time = |pair: &[MeterReading]| pair[1].0.saturating_sub(pair[0].0) as f64;
    let busy: f64 = readings.windows(2).map(|pair| pair[1].1 as f64 * time(pair)).sum();
    busy / readings.windows(2).map(time).sum::<f64>().max(1.0)
}

/// Writes a difference: its sign goes into the lowest bit, so that small ones of either sign are small numbers.
fn put(bytes: &mut Vec<u8>, difference: u64) {
    let signed = difference.cast_signed();
    let mut number = ((signed << 1) ^ (signed >> 63)).cast_unsigned();
    while number >= u64::from(MORE) {
        bytes.push(number.to_le_bytes()[0] | MORE);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Reads what [`put`] wrote; nothing where the bytes are at their end.
fn take(bytes: &mut impl Iterator<Item = std::io::Result<u8>>) -> Result<Option<u64>, TimelineError> {
    let mut number = 0_u64;
    for place in 0..NUMBER_BYTES {
        let byte = match bytes.next() {
            Some(Ok(byte)) => byte,
            Some(Err(_)) => return Err(TimelineError("it is not deflated")),
            None if place == 0 => return Ok(None),
            None => return Err(TimelineError("it breaks off")),
        };
        number |= u64::from(byte & !MORE) << (7 * place);
        if byte & MORE == 0 {
            return Ok(Some((number >> 1) ^ 0_u64.wrapping_sub(number & 1)));
        }
    }
    Err(TimelineError("a number in it does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(readings: &[MeterReading]) -> Timeline {
        Timeline::pack(Side::Near, "hwmon", "the board", MeterQuantity::PowerUw, readings).unwrap()
    }

    #[test]
    fn readings_come_back_as_they_were_from_the_first_on() {
        for readings in [
            vec![(5, 7), (6, 7), (7, 7)],
            vec![(1_000, u64::MAX), (2_000, 0), (2_000, 1), (u64::MAX, u64::MAX / 2)],
            (0..1000).map(|i| (77 + i * 100_000_123, 14_000_000 + i * i % 977 * 1000)).collect(),
        ] {
            let timeline = packed(&readings);
            let first_ns = readings[0].0;
            let wanted: Vec<MeterReading> = readings.iter().map(|(at, value)| (at - first_ns, *value)).collect();
            assert_eq!(timeline.readings().unwrap(), wanted);
            assert_eq!(timeline.samples as usize, readings.len());
            let values = || readings.iter().map(|(_, value)| *value);
            assert_eq!((Some(timeline.min), Some(timeline.max)), (values().min(), values().max()));
            assert!(timeline.min as f64 <= timeline.mean && timeline.mean <= timeline.max as f64);
            let again: Timeline = serde_json::from_str(&serde_json::to_string(&timeline).unwrap()).unwrap();
            assert_eq!(again, timeline);
        }
    }

    #[test]
    fn begin_and_end_are_no_timeline() {
        assert_eq!(
            Timeline::pack(Side::Far, "powercap", "package-0", MeterQuantity::EnergyUj, &[(1, 2), (3, 4)]),
            None
        );
    }

    #[test]
    fn a_reading_ten_times_a_second_takes_few_bytes() {
        // Watts that wander by a few steps of 72 mW, read a few microseconds late.
        let jitter = |i: u64| (i * i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) >> 50;
        let readings: Vec<MeterReading> =
            (0..600).map(|i| (i * 100_000_000 + jitter(i) / 4, 13_896_000 + jitter(i) % 5 * 72_000)).collect();
        let bytes = packed(&readings).chunk.len();
        assert!(bytes < 600 * 7, "{bytes} bytes for 600 readings of 16");
    }

    #[test]
    fn a_chunk_that_lies_is_refused() {
        let good = packed(&[(1, 2), (3, 4), (5, 6)]);
        let bomb = || {
            let mut deflater = DeflateEncoder::new(Vec::new(), Compression::best());
            deflater.write_all(&vec![0; 1 << 24]).unwrap();
            STANDARD_NO_PAD.encode(deflater.finish().unwrap())
        };
        let endless = {
            let mut deflater = DeflateEncoder::new(Vec::new(), Compression::best());
            deflater.write_all(&[0xff; 30]).unwrap();
            STANDARD_NO_PAD.encode(deflater.finish().unwrap())
        };
        for (chunk, samples) in [
            (good.chunk.clone(), 4),
            (good.chunk.clone(), 2),
            (good.chunk[..good.chunk.len() - 2].to_owned(), 3),
            ("no chunk!".to_owned(), 3),
            (bomb(), 3),
            (endless, 3),
        ] {
            let timeline = Timeline { chunk, samples, ..good.clone() };
            assert!(timeline.readings().is_err(), "{timeline:?}");
        }
    }
}
