//! A web shop and its customers: who serves, when it is measured, and what it came to.
use std::net::SocketAddr;
use std::thread;

use powerband_record::ShopServer;
use rustix::process::{Resource, Rlimit};
use rustix::time::ClockId;
use serde_json::{Value, json};

use self::apache::Apache;
use self::customers::Seen;
use self::goods::Product;
use self::pages::Shop;
use self::server::Server;
use super::chance::Chance;
use super::latencies::Latencies;
use super::times::Times;
use super::{Control, Failure, now_ns, online, sleep_until, timespec};

mod apache;
mod customers;
mod goods;
mod http;
mod pages;
mod server;
mod visitor;

/// Customers that one thread plays, at most; it has little to do for each.
const A_THREAD: u32 = 5_000;

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) server: ShopServer,
    pub(super) customers: u32,
    pub(super) think_ns: u64,
    pub(super) ramp_ns: u64,
    pub(super) for_ns: u64,
    pub(super) seed: u64,
}

/// Descriptors next to those of connections.
const OTHER_FILES: u64 = 100;

/// Opens the shop, lets the customers in until the time is up, closes it, and reports.
pub(super) fn run(plan: &Plan, control: &mut Control) -> Result<Value, Failure> {
    // Each connection has two ends, and our own shop's are ours as well.
    let ends = if plan.server == ShopServer::Embedded { 2 } else { 1 };
    allow_files(u64::from(plan.customers) * ends + OTHER_FILES, plan.customers)?;
    let goods = goods::all();
    let (seen, ordered) = match plan.server {
        ShopServer::Embedded => embedded(plan, &goods, control)?,
        ShopServer::Apache => {
            let apache = Apache::open(plan.customers, &goods)?;
            let seen = let_in(plan, &goods, apache.place(), control)?;
            let ordered = apache.ordered()?;
            apache.close();
            (seen, ordered)
        }
    };
    report(plan, &seen, ordered)
}

/// Has at least so many files open at once allowed to us.
fn allow_files(wanted: u64, customers: u32) -> Result<(), Failure> {
    let allowed = rustix::process::getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if enough(allowed.current) {
        return Ok(());
    }
    // Root may also raise what is allowed at most.
    let maximum = if enough(allowed.maximum) { allowed.maximum } else { Some(wanted) };
    let raised = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    raised.map_err(|_| {
        let most = allowed.maximum.unwrap_or(0);
        let ask = "ask for fewer customers, or raise the limit shown by `ulimit -Hn`";
        Failure::Load(format!("{customers} customers need {wanted} open files and {most} are allowed; {ask}"))
    })
}

/// Our own server, on as many threads as there are CPUs.
fn embedded(plan: &Plan, goods: &[Product], control: &mut Control) -> Result<(Vec<Seen>, (u64, u64)), Failure> {
    let server = Server::open(Shop::new(plan.seed))?;
    let place = server.place().map_err(Failure::of("the shop has no address"))?;
    let threads = online()?;
    thread::scope(|scope| {
        let serving: Vec<_> = (0..threads).map(|_| scope.spawn(|| server.serve())).collect();
        let seen = let_in(plan, goods, place, control);
        server.stop();
        serving.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(ended_badly())))?;
        Ok((seen?, server.shop().ordered()))
    })
}

fn ended_badly() -> Failure {
    Failure::Load("a thread of the shop came to a bad end".into())
}

/// All customers, on a few threads; says when the ramp is over.
fn let_in(plan: &Plan, goods: &[Product], place: SocketAddr, control: &mut Control) -> Result<Vec<Seen>, Failure> {
    let threads = plan.customers.div_ceil(A_THREAD).max(1);
    let times = Times::new(now_ns(ClockId::Monotonic), plan.ramp_ns, plan.for_ns);
    thread::scope(|scope| {
        let visits: Vec<_> = (0..threads)
            .map(|first| {
                let numbers = (first..plan.customers).step_by(usize::try_from(threads).unwrap_or(1));
                scope.spawn(move || customers::visit(plan, numbers, place, goods, times))
            })
            .collect();
        sleep_until(times.begin_ns)?;
        control.begin()?;
        visits.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(ended_badly()))).collect()
    })
}

/// What all customers saw. What they were confirmed must be what the shop has booked.
fn report(plan: &Plan, seen: &[Seen], (booked, booked_cents): (u64, u64)) -> Result<Value, Failure> {
    let mut latencies = Latencies::new()?;
    for crowd in seen {
        latencies.merge(&crowd.latencies)?;
    }
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let (failed, confirmed, cents) =
        (sum(|crowd| crowd.failed), sum(|crowd| crowd.confirmed), sum(|crowd| crowd.confirmed_cents));
    let why = seen.iter().find_map(|crowd| crowd.why.as_deref());
    if let Some(why) = why {
        // For anyone who reads the load's output: the report has only numbers.
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{failed} requests failed, the first: {why}\n"),
        );
    }
    // An order whose answer was lost may be booked and is not confirmed: those requests have failed anyway.
    if failed == 0 && (booked, booked_cents) != (confirmed, cents) {
        let said = format!(
            "customers were confirmed {confirmed} orders over {}, and the shop has booked {booked} over {}",
            goods::price(cents),
            goods::price(booked_cents)
        );
        return Err(Failure::Load(said));
    }
    let report = json!({
        "requests": latencies.len(),
        "failed": failed,
        "orders": sum(|crowd| crowd.orders),
        "seconds": plan.for_ns as f64 / 1e9,
    });
    Ok(latencies.complete(report.as_object().cloned().unwrap_or_default()))
}
