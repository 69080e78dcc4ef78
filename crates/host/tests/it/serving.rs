//! Orders and a shop on this machine: on time at a rate, asleep between, and every customer served.
use powerband_machine::{Finished, Job, Sampling};
use powerband_record::{CpuList, ShopServer, Work};

use crate::{Stage, job};

const SECOND_NS: u64 = 1_000_000_000;

/// One worker that stays on a CPU.
fn orders(rate_per_s: Option<f64>, batch: u32, for_ns: u64) -> Job {
    let (workers, ramp_ns) = (Some(1), SECOND_NS / 5);
    let work = Work::Orders { rate_per_s, workers, bound: false, batch, ramp_ns, for_ns, seed: 1 };
    Job { cpus: Some(CpuList::new(vec![0])), ..job(work) }
}

fn shop(customers: u32, think_ns: u64, for_ns: u64) -> Job {
    let server = ShopServer::Embedded;
    job(Work::Shop { server, customers, think_ns, ramp_ns: SECOND_NS / 5, for_ns, seed: 1 })
}

fn number(finished: &Finished, key: &str) -> f64 {
    assert!(finished.status.success(), "{finished:?}");
    finished.report.as_ref().unwrap()[key].as_f64().unwrap()
}

fn cells(finished: &Finished) -> Vec<(u64, u64)> {
    serde_json::from_value(finished.report.as_ref().unwrap()["histogram"].clone()).unwrap()
}

fn cpu_ns(finished: &Finished) -> f64 {
    (finished.usage.user_ns + finished.usage.sys_ns) as f64
}

#[test]
fn orders_come_at_their_rate_and_the_worker_sleeps_between() {
    let mut stage = Stage::new();
    let most = stage.run(&orders(None, 1_000, SECOND_NS));
    let full_per_s = number(&most, "transactions");
    assert_eq!(number(&most, "scheduled"), full_per_s, "as fast as it goes, what is done was due");
    let tenth = stage.run(&orders(Some(full_per_s / 10.0), 100, 2 * SECOND_NS));
    let (done, due) = (number(&tenth, "transactions"), number(&tenth, "scheduled"));
    // So many batches scatter by their root; five times that is never seen.
    let batches = full_per_s / 10.0 * 2.0 / 100.0;
    assert!((due / 100.0 - batches).abs() < 5.0 * batches.sqrt(), "{due} of {batches} batches");
    // A worker that gets no CPU during the ramp does what was due then afterwards, and nothing more.
    let ramp = batches / 10.0;
    assert!(done > 0.9 * due && done <= due + 100.0 * (ramp + 5.0 * ramp.sqrt()), "{done} of {due}");
    assert!(done / 2.0 < 0.5 * full_per_s, "{done} in 2 s, {full_per_s} in 1 s");
    // Filling the warehouse and the ramp are in both.
    let (idle, busy) = (cpu_ns(&tenth) / 2.2, cpu_ns(&most) / 1.2);
    assert!(idle < 0.5 * busy, "a tenth of the work: {idle} of {busy} ns a second");
    let counted: u64 = cells(&tenth).iter().map(|(_, count)| count).sum();
    assert_eq!(counted as f64, done / 100.0, "each batch has its latency");
    assert!(number(&tenth, "max_ns") >= number(&tenth, "mean_ns"));
}

#[test]
fn what_cannot_be_done_in_time_is_told_and_late() {
    let mut stage = Stage::new();
    let full_per_s = number(&stage.run(&orders(None, 1_000, SECOND_NS / 2)), "transactions") * 2.0;
    // A hundred times, as what a busy machine does in one half second says little of the next.
    let flooded = stage.run(&orders(Some(full_per_s * 100.0), 1_000, SECOND_NS));
    let (done, due) = (number(&flooded, "transactions"), number(&flooded, "scheduled"));
    assert!(due > 3.0 * done && done > 0.0, "{done} of {due}");
    // The queue has no bound, and waiting counts: in the end batches are later than half of the time.
    assert!(number(&flooded, "max_ns") > 0.5e9, "{}", number(&flooded, "max_ns"));
    assert!(flooded.usage.real_ns < 60 * SECOND_NS, "what is left is not done");
}

#[test]
fn orders_and_a_shop_begin_after_their_ramp() {
    let mut stage = Stage::new();
    for job in [orders(Some(1_000.0), 10, SECOND_NS / 2), shop(5, 10_000_000, SECOND_NS / 2)] {
        // On a busy machine either reading may come late. In one of several runs neither does.
        let begins_late = (0..5).any(|_| {
            let uptime = stage.near().open("/proc/uptime").unwrap();
            let around = vec![Sampling { handles: vec![uptime], period_ns: None }];
            let finished = stage.run(&Job { around, ..job.clone() });
            let [before, after] = finished.around[0].as_slice() else { panic!("{:?}", finished.around) };
            let measured = after.at_ns - before.at_ns;
            measured >= SECOND_NS / 2 && finished.usage.real_ns >= measured + SECOND_NS / 5 - 20_000_000
        });
        assert!(begins_late, "{:?} is read from its start on", job.work);
    }
}

#[test]
fn fifty_customers_are_all_served() {
    let finished = Stage::new().run(&shop(50, 20_000_000, 2 * SECOND_NS));
    let (requests, orders) = (number(&finished, "requests"), number(&finished, "orders"));
    assert_eq!(number(&finished, "failed"), 0.0, "{}", finished.output.stderr);
    // Each asks fifty times a second at most.
    assert!(requests > 100.0 && requests < 50.0 * 50.0 * 2.2 && orders > 0.0, "{requests} {orders}");
    assert_eq!(cells(&finished).iter().map(|(_, count)| count).sum::<u64>() as f64, requests);
}

#[test]
fn customers_who_think_cost_little() {
    let mut stage = Stage::new();
    let busy = stage.run(&shop(50, 20_000_000, SECOND_NS));
    let many = stage.run(&shop(2_000, 20 * SECOND_NS, 2 * SECOND_NS));
    assert_eq!(number(&many, "failed"), 0.0, "{}", many.output.stderr);
    // A hundred requests a second are expected.
    assert!((60.0..400.0).contains(&number(&many, "requests")), "{}", number(&many, "requests"));
    let each = |finished| cpu_ns(finished) / number(finished, "requests");
    assert!(each(&many) < 10.0 * each(&busy), "{} and {} ns a request", each(&many), each(&busy));
}
