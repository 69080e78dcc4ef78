//! Orders and a shop on this machine: on time at a rate, asleep between, and every customer served.
//! Others share its CPUs: what depends on them is seen in one of several runs.
use powerband_machine::{Finished, Job, Sampling};
use powerband_record::{CpuList, ShopServer, Work};

use crate::{Stage, counted, cpu_ns, job, number};

const SECOND_NS: u64 = 1_000_000_000;

/// One worker that stays on a CPU.
fn orders(rate_per_s: Option<f64>, batch: u32, for_ns: u64) -> Job {
    let (workers, ramp_ns, bound, seed) = (Some(1), SECOND_NS / 5, false, 1);
    let work = Work::Orders { rate_per_s, workers, bound, batch, ramp_ns, for_ns, seed };
    let cpus = Some(CpuList::new(vec![0]));
    Job { cpus, ..job(work) }
}

fn shop(customers: u32, think_ns: u64, for_ns: u64) -> Job {
    let (server, ramp_ns, seed) = (ShopServer::Embedded, SECOND_NS / 5, 1);
    job(Work::Shop { server, customers, think_ns, ramp_ns, for_ns, seed })
}

/// What was done, and what was due.
fn done(finished: &Finished) -> (f64, f64) {
    (number(finished, "transactions"), number(finished, "scheduled"))
}

#[test]
fn orders_come_at_their_rate_and_the_worker_sleeps_between() {
    let mut stage = Stage::new();
    let in_time = (0..10).any(|_| {
        let most = stage.run(&orders(None, 1_000, SECOND_NS / 2));
        // As fast as it goes, what is done was due.
        let (full, due) = done(&most);
        assert_eq!(full, due);
        let tenth = stage.run(&orders(Some(full / 5.0), 100, SECOND_NS));
        let (done, due) = done(&tenth);
        // So many batches scatter by their root; five times that is never seen.
        let batches = full / 5.0 / 100.0;
        assert!((due / 100.0 - batches).abs() < 5.0 * batches.sqrt(), "{due} of {batches} batches");
        // A worker that gets no CPU during the ramp does what was due then afterwards, and nothing more.
        let ramp = batches / 5.0;
        assert!(done <= due + 100.0 * (ramp + 5.0 * ramp.sqrt()), "{done} of {due}");
        assert_eq!(counted(&tenth) as f64, done / 100.0);
        // Filling the warehouse and the ramp are in both.
        let (idle, busy) = (cpu_ns(&tenth) as f64 / 1.2, cpu_ns(&most) as f64 / 0.7);
        done > 0.9 * due && done < full && idle < 0.5 * busy
    });
    assert!(in_time, "a tenth of the work is never done in time, or takes half of the CPU");
}

#[test]
fn what_cannot_be_done_in_time_is_told_and_late() {
    let mut stage = Stage::new();
    let full_per_s = done(&stage.run(&orders(None, 1_000, SECOND_NS / 4))).0 * 4.0;
    // A hundred times, as what a busy machine does in one quarter says little of the next.
    let flooded = stage.run(&orders(Some(full_per_s * 100.0), 1_000, SECOND_NS / 2));
    let (done, due) = done(&flooded);
    assert!(due > 3.0 * done && done > 0.0, "{done} of {due}");
    // The queue has no bound, and waiting counts: in the end batches are later than half of the time.
    assert!(number(&flooded, "max_ns") > 0.25e9, "{flooded:?}");
}

#[test]
fn orders_and_a_shop_begin_after_their_ramp() {
    let mut stage = Stage::new();
    for job in [orders(Some(1_000.0), 10, SECOND_NS / 2), shop(5, 10_000_000, SECOND_NS / 2)] {
        let begins_late = (0..20).any(|_| {
            let handles = vec![stage.near().open("/proc/uptime").unwrap()];
            let around = vec![Sampling { handles, period_ns: None }];
            let finished = stage.run(&Job { around, ..job.clone() });
            let around = &finished.around[0];
            assert_eq!(around.len(), 2);
            let measured = around[1].at_ns - around[0].at_ns;
            let ramp = SECOND_NS / 5 - 20_000_000;
            measured >= SECOND_NS / 2 && finished.usage.real_ns >= measured + ramp
        });
        assert!(begins_late, "{:?} is read from its start on", job.work);
    }
}

#[test]
fn customers_are_all_served_and_those_who_think_cost_little() {
    let mut stage = Stage::new();
    let seen = (0..10).any(|_| {
        let busy = stage.run(&shop(50, 20_000_000, SECOND_NS));
        let many = stage.run(&shop(2_000, 20 * SECOND_NS, SECOND_NS));
        let requests = [&busy, &many].map(|finished| number(finished, "requests"));
        for (finished, requests) in [&busy, &many].into_iter().zip(requests) {
            assert_eq!(number(finished, "failed"), 0.0, "{}", finished.output.stderr);
            assert_eq!(counted(finished) as f64, requests);
        }
        // Each of the fifty asks fifty times a second at most; a hundred requests a second are expected of the others.
        assert!(requests[0] < 50.0 * 50.0 * 1.2 && number(&busy, "orders") > 0.0, "{requests:?}");
        let [busy, many] = [cpu_ns(&busy) as f64 / requests[0], cpu_ns(&many) as f64 / requests[1]];
        requests[0] > 50.0 && (30.0..200.0).contains(&requests[1]) && many < 10.0 * busy
    });
    assert!(seen);
}
