//! Customers of a shop: how long each thinks, where all come more often in bursts; and what each request costs.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ServeSpec;
use crate::noise::{keyed, log_normal, unit_exponential};

/// Customers who think, by when they come back.
#[derive(Debug)]
pub(super) struct Customers {
    seed: u64,
    think_ns: u64,
    burst: Burst,
    coming: BinaryHeap<Reverse<(u64, u32)>>,
    /// Requests of each so far.
    requests: Vec<u32>,
}

/// A square wave of how often customers come, its mean 1.
#[derive(Clone, Copy, Debug)]
struct Burst {
    high: f64,
    low: f64,
    high_ns: f64,
    period_ns: f64,
}

impl Burst {
    fn new(spec: &ServeSpec) -> Self {
        let (gain, share) = (spec.burst_gain, spec.burst_share);
        let period_ns = spec.burst_period_ns as f64;
        let low = if share < 1.0 { 1.0 - gain * share / (1.0 - share) } else { 1.0 };
        if period_ns > 0.0 {
            Burst { high: 1.0 + gain, low: low.max(0.0), high_ns: share * period_ns, period_ns }
        } else {
            Burst { high: 1.0, low: 1.0, high_ns: 1.0, period_ns: 2.0 }
        }
    }

    /// When so much of the wave has passed since `from_ns`, both ns.
    fn after(&self, from_ns: u64, mut amount: f64) -> u64 {
        let whole = self.high * self.high_ns + self.low * (self.period_ns - self.high_ns);
        let periods = (amount / whole).floor();
        amount -= periods * whole;
        let mut at_ns = from_ns as f64 + periods * self.period_ns;
        loop {
            let place = at_ns % self.period_ns;
            let (rate, left_ns) = if place < self.high_ns {
                (self.high, self.high_ns - place)
            } else {
                (self.low, self.period_ns - place)
            };
            if amount <= rate * left_ns {
                return (at_ns + if rate > 0.0 { amount / rate } else { left_ns }) as u64;
            }
            amount -= rate * left_ns;
            at_ns += left_ns.max(1.0);
        }
    }
}

/// What one request costs, cycles: before its serial section, in it, and after.
pub(super) type Demand = [u64; 3];

impl Customers {
    pub(super) fn new(spec: &ServeSpec, customers: u32, think_ns: u64, seed: u64, now_ns: u64) -> Self {
        let mut all = Customers {
            seed,
            think_ns,
            burst: Burst::new(spec),
            coming: BinaryHeap::new(),
            requests: vec![0; customers as usize],
        };
        (0..customers).for_each(|customer| all.think(customer, now_ns));
        all
    }

    /// When the next one comes, ns.
    pub(super) fn next_ns(&self) -> u64 {
        self.coming.peek().map_or(u64::MAX, |Reverse((at_ns, _))| *at_ns)
    }

    /// One who comes by now.
    pub(super) fn come(&mut self, now_ns: u64) -> Option<u32> {
        self.coming.peek().filter(|Reverse((at_ns, _))| *at_ns <= now_ns)?;
        self.coming.pop().map(|Reverse((_, customer))| customer)
    }

    /// One has its answer, and thinks.
    pub(super) fn think(&mut self, customer: u32, now_ns: u64) {
        let mut stream = keyed(self.seed, "thinking of customers", self.number(customer));
        let amount = unit_exponential(&mut stream) * self.think_ns as f64;
        let at_ns = self.burst.after(now_ns, amount).max(now_ns + 1);
        self.coming.push(Reverse((at_ns, customer)));
    }

    /// What its request costs, and a number to place it by.
    pub(super) fn ask(&mut self, spec: &ServeSpec, customer: u32) -> (Demand, u64) {
        let mut stream = keyed(self.seed, "requests of customers", self.number(customer));
        if let Some(requests) = self.requests.get_mut(customer as usize) {
            *requests += 1;
        }
        let page = log_normal(&mut stream, spec.request_cycles as f64, spec.request_variation);
        let serial = unit_exponential(&mut stream) * spec.serial_cycles as f64;
        let half = (page / 2.0) as u64;
        let place = (unit_exponential(&mut stream) * 1e9) as u64;
        ([half.max(1), (serial as u64).max(1), half.max(1)], place)
    }

    fn number(&self, customer: u32) -> u64 {
        let requests = self.requests.get(customer as usize).copied().unwrap_or(0);
        u64::from(customer) << 32 | u64::from(requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_brings_more_and_the_mean_stays() {
        let spec = ServeSpec {
            transaction_cycles: 1,
            request_cycles: 1,
            request_variation: 0.0,
            serial_cycles: 1,
            memory_ppm: 0,
            burst_gain: 0.8,
            burst_share: 0.4,
            burst_period_ns: 5_000,
        };
        let burst = Burst::new(&spec);
        assert!((burst.low - (1.0 - 0.8 * 0.4 / 0.6)).abs() < 1e-12);
        assert_eq!(burst.after(0, 5_000.0), 5_000, "a whole period passes as fast as without bursts");
        assert_eq!(burst.after(0, 1_800.0), 1_000, "in a burst time counts 1.8 times");
        assert_eq!(burst.after(2_000, burst.low * 300.0), 2_300);
        assert_eq!(burst.after(1_000, 1_800.0 + burst.low * 3_000.0 + 1.8 * 100.0), 5_100);
        let even = Burst::new(&ServeSpec { burst_period_ns: 0, ..spec });
        assert_eq!(even.after(77, 1_000.0), 1_077);
    }
}
