//! A shop: requests that compute a page, pass through one section where only one may be at a time, and compute on.
use std::collections::{BTreeMap, VecDeque};

use powerband_record::ExitStatus;
use serde_json::json;

use super::Window;
use super::customers::{Customers, Demand};
use crate::board::Board;
use crate::noise::scaled;
use crate::process::Body;
use crate::schedule::Task;

/// A share of requests that places an order: one of every so many.
const ORDERS: u32 = 20;

/// A shop and its customers.
#[derive(Debug)]
pub(crate) struct Shop {
    asked: Asked,
    customers: Option<Customers>,
    /// Requests on their way, by task.
    pub(crate) requests: BTreeMap<u32, Request>,
    /// Who is in the serial section, and who waits for it.
    holder: Option<u32>,
    waiting: VecDeque<u32>,
    window: Window,
    /// What a request's task begins as.
    task: Task,
    orders: u64,
}

/// How it was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) customers: u32,
    pub(crate) think_ns: u64,
    pub(crate) ramp_ns: u64,
    pub(crate) for_ns: u64,
    pub(crate) seed: u64,
}

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Request {
    customer: u32,
    came_ns: u64,
    demand: Demand,
    at: At,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Before,
    Serial,
    After,
}

impl Shop {
    pub(crate) fn new(asked: Asked) -> Self {
        Shop {
            asked,
            customers: None,
            requests: BTreeMap::new(),
            holder: None,
            waiting: VecDeque::new(),
            window: Window::new(0, 0, 0),
            task: Task::new(0),
            orders: 0,
        }
    }

    fn next_ns(&self) -> u64 {
        let next_ns = self.customers.as_ref().map_or(u64::MAX, Customers::next_ns);
        next_ns.min(self.window.next_ns())
    }
}

impl Board {
    pub(crate) fn start_shop(&mut self, process: u32, mut task: Task) {
        let now = self.now_ns;
        let Some(spec) = self.profile.serve.clone() else { return };
        (task.memory_ppm, task.settled) = (spec.memory_ppm, true);
        let Body::Shop(shop) = &mut self.process(process).body else { return };
        let Asked { customers, think_ns, ramp_ns, for_ns, seed } = shop.asked;
        shop.window = Window::new(now, ramp_ns, for_ns);
        shop.customers = Some(Customers::new(&spec, customers, think_ns, seed, now));
        shop.task = task;
        let next_ns = shop.next_ns();
        self.set_timer(process, next_ns);
    }

    /// Customers come, or what is measured begins or ends.
    pub(crate) fn shop_timer(&mut self, process: u32) {
        let now = self.now_ns;
        let Body::Shop(shop) = &mut self.process(process).body else { return };
        if !shop.window.began && now >= shop.window.from_ns {
            shop.window.began = true;
            self.begin_measuring(process);
            return self.shop_timer(process);
        }
        if now >= shop.window.until_ns {
            let more = json!({ "requests": shop.window.count, "failed": 0, "orders": shop.orders });
            let report = shop.window.report(more);
            return self.exit(process, ExitStatus::Code(0), Some(report), String::new());
        }
        while let Some(customer) = self.next_customer(process) {
            self.ask(process, customer);
        }
        let Body::Shop(shop) = &self.process(process).body else { return };
        let next_ns = shop.next_ns();
        self.set_timer(process, next_ns);
    }

    fn next_customer(&mut self, process: u32) -> Option<u32> {
        let now = self.now_ns;
        let Body::Shop(shop) = &mut self.process(process).body else { return None };
        shop.customers.as_mut()?.come(now)
    }

    /// A customer's request comes to one of the server's processes, wherever that was last.
    fn ask(&mut self, process: u32, customer: u32) {
        let now = self.now_ns;
        let factor_ppb = self.process(process).factors.cpu_ppb;
        let Some(spec) = self.profile.serve.clone() else { return };
        let Body::Shop(shop) = &mut self.processes[process as usize].body else { return };
        let Some(customers) = &mut shop.customers else { return };
        let (demand, place) = customers.ask(&spec, customer);
        let demand = demand.map(|cycles| scaled(cycles, factor_ppb).max(1));
        let mut task = shop.task.clone();
        let allowed = |cpu: u32| task.allowed.as_ref().is_none_or(|list| list.contains(cpu));
        let online = (0_u32..).zip(&self.cpus).filter(|(_, cpu)| cpu.online).map(|(cpu, _)| cpu);
        let mut usable = online.filter(|&cpu| allowed(cpu));
        let place = usize::try_from(place).unwrap_or(0) % usable.clone().count().max(1);
        task.cpu = usable.nth(place).unwrap_or(0);
        task.give(demand[0]);
        let task = self.new_task(task);
        let Body::Shop(shop) = &mut self.process(process).body else { return };
        shop.requests.insert(task, Request { customer, came_ns: now, demand, at: At::Before });
        self.wake(task);
    }

    /// A request has computed what it had to, and goes on, waits, or is answered.
    pub(crate) fn request_done(&mut self, process: u32, task: u32) {
        let now = self.now_ns;
        let Body::Shop(shop) = &mut self.process(process).body else { return };
        let Some(request) = shop.requests.get_mut(&task) else { return };
        match request.at {
            At::Before => {
                request.at = At::Serial;
                let cycles = request.demand[1];
                if shop.holder.is_some() {
                    shop.waiting.push_back(task);
                    return self.rest(task);
                }
                shop.holder = Some(task);
                self.task(task).urgent = true;
                self.go_on(task, cycles);
            }
            At::Serial => {
                request.at = At::After;
                let cycles = request.demand[2];
                let next = shop.waiting.pop_front();
                shop.holder = next;
                let serial = next.and_then(|next| shop.requests.get(&next)).map_or(1, |next| next.demand[1]);
                self.task(task).urgent = false;
                self.go_on(task, cycles);
                if let Some(next) = next {
                    self.task(next).urgent = true;
                    self.task(next).give(serial);
                    self.wake(next);
                }
            }
            At::After => {
                let (customer, came_ns) = (request.customer, request.came_ns);
                shop.requests.remove(&task);
                shop.window.done(now, came_ns);
                if shop.window.holds(now) && customer % ORDERS == 0 {
                    shop.orders += 1;
                }
                if let Some(customers) = &mut shop.customers {
                    customers.think(customer, now);
                }
                let next_ns = shop.next_ns();
                self.retire(task);
                self.set_timer(process, next_ns);
            }
        }
    }
}
