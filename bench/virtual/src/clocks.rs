//! How well a guest's speed follows the clock it chose, measured with counted work.
use std::time::Instant;

use crate::error::{BenchError, Result};
use crate::guest::Guest;

/// Turns of the counting loop.
const TURNS: u32 = 60000;
/// The loop, alone on the first CPU, between two readings of the guest's clock.
const LOOP: &str = "read start rest </proc/uptime
taskset 1 sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'
read end rest </proc/uptime
echo $start $end";

/// One clock, and what the first CPU did at it in each round.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// Clock, kHz.
    pub khz: u32,
    /// Turns of a counting loop a second.
    pub turns_per_s: Vec<f64>,
    /// Instructions a second, of the host's time.
    pub instructions_per_s: Vec<f64>,
}

/// Runs counted work on the guest's first CPU at each of its clocks, once a round. The guest's governor is restored.
///
/// # Errors
/// When the guest does not answer, or refuses a clock.
pub fn measure(guest: &mut Guest, rounds: u32) -> Result<Vec<Speed>> {
    let folder = "/sys/devices/system/cpu/cpu0/cpufreq";
    let before = said(guest, &format!("cd {folder} && cat scaling_governor && echo userspace >scaling_governor"))?;
    let clocks = said(guest, &format!("cat {folder}/scaling_available_frequencies"))?;
    let clocks = clocks.split_whitespace().filter_map(|khz| khz.parse().ok());
    let mut speeds: Vec<Speed> =
        clocks.map(|khz| Speed { khz, turns_per_s: vec![], instructions_per_s: vec![] }).collect();
    for _ in 0..rounds {
        for speed in &mut speeds {
            said(guest, &format!("echo {} >{folder}/scaling_setspeed && sleep 0.2", speed.khz))?;
            let (began, before) = (Instant::now(), guest.instructions(0)?);
            let line = said(guest, LOOP)?;
            let ran = guest.instructions(0)? - before;
            speed.instructions_per_s.push(ran as f64 / began.elapsed().as_secs_f64());
            let turns_per_s = read(&line).ok_or_else(|| BenchError::Missing(format!("the guest measured '{line}'")))?;
            speed.turns_per_s.push(turns_per_s);
        }
    }
    said(guest, &format!("echo {before} >{folder}/scaling_governor"))?;
    Ok(speeds)
}

/// What a script that ended well printed.
fn said(guest: &mut Guest, script: &str) -> Result<String> {
    let ran = guest.script(script)?;
    if ran.code == 0 {
        return Ok(ran.text().trim().to_owned());
    }
    Err(BenchError::Missing(format!("the guest cannot turn its clock: {}", String::from_utf8_lossy(&ran.err).trim())))
}

/// Turns a second, from the guest's time before and after the loop.
fn read(line: &str) -> Option<f64> {
    let mut words = line.split_whitespace();
    let (start_s, end_s): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some(f64::from(TURNS) / (end_s - start_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_read() {
        assert_eq!(read("10.25\n12.25"), Some(f64::from(TURNS) / 2.0));
        assert_eq!(read("10.25"), None);
        assert!(LOOP.contains(&format!("-lt {TURNS} ")));
    }
}
