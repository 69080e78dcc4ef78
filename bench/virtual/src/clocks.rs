//! How well a guest's speed follows the clock it chose, measured with counted work.
use crate::error::{BenchError, Result};
use crate::guest::Guest;

/// Turns of the counting loop.
const TURNS: u32 = 60_000;

/// One clock and how fast the first CPU worked at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// Clock, kHz.
    pub khz: u32,
    /// Turns of a counting loop a second, for each round in the order of the rounds.
    pub turns_per_s: Vec<f64>,
}

impl Speed {
    /// Mean over the rounds, turns a second.
    #[must_use]
    pub fn mean_per_s(&self) -> f64 {
        let count = self.turns_per_s.len().max(1);
        self.turns_per_s.iter().sum::<f64>() / u32::try_from(count).map_or(1.0, f64::from)
    }
}

/// Runs counted work on the guest's first CPU at each of its clocks, once a round. The guest's governor is put back.
///
/// # Errors
/// When the guest does not answer, or refuses a clock.
pub fn measure(guest: &mut Guest, rounds: u32) -> Result<Vec<Speed>> {
    let folder = "/sys/devices/system/cpu/cpu0/cpufreq";
    let script = format!(
        "cd {folder} || exit 1
         before=$(cat scaling_governor)
         echo userspace >scaling_governor
         round=0
         while [ $round -lt {rounds} ]; do
             for khz in $(cat scaling_available_frequencies); do
                 echo $khz >scaling_setspeed
                 sleep 0.1
                 read start rest </proc/uptime
                 taskset 1 sh -c 'i=0; while [ $i -lt {TURNS} ]; do i=$((i+1)); done'
                 read end rest </proc/uptime
                 echo $khz $start $end
             done
             round=$((round+1))
         done
         echo $before >scaling_governor"
    );
    let ran = guest.script(&script)?;
    let mut speeds: Vec<Speed> = Vec::new();
    for line in ran.text().lines() {
        let (khz, turns_per_s) =
            read(line).ok_or_else(|| BenchError::Missing(format!("the guest measured '{line}'")))?;
        match speeds.iter_mut().find(|speed| speed.khz == khz) {
            Some(speed) => speed.turns_per_s.push(turns_per_s),
            None => speeds.push(Speed { khz, turns_per_s: vec![turns_per_s] }),
        }
    }
    if ran.code == 0 && !speeds.is_empty() {
        return Ok(speeds);
    }
    Err(BenchError::Missing(format!("the guest cannot turn its clock: {}", String::from_utf8_lossy(&ran.err).trim())))
}

fn read(line: &str) -> Option<(u32, f64)> {
    let mut words = line.split(' ');
    let khz = words.next()?.parse().ok()?;
    let (start_s, end_s): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some((khz, f64::from(TURNS) / (end_s - start_s)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_read() {
        assert_eq!(read("1600000 10.25 12.25"), Some((1_600_000, f64::from(TURNS) / 2.0)));
        assert_eq!(read("1600000 10.25"), None);
        let speed = Speed { khz: 1, turns_per_s: vec![1.0, 2.0] };
        assert!((speed.mean_per_s() - 1.5).abs() < 1e-12);
    }
}
