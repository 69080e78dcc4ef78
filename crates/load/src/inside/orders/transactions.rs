//! The six transactions, in the shares of SPECpower_ssj2008: of 33, ten are new orders, ten payments, ten reports on a customer,
//! and one each asks how an order stands, delivers, and looks through the stock.
use std::fmt::Write as _;

use super::Chance;
use super::warehouse::{CUSTOMERS, DISTRICTS, ITEMS, LINES, Warehouse};

/// Orders that are looked through for what runs low, and what that means.
const LOOKED_THROUGH: usize = 20;
const LOW: u32 = 15;

/// A transaction by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    NewOrder,
    Payment,
    CustomerReport,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    fn draw(chance: &mut Chance) -> Kind {
        match chance.below(33) {
            0..10 => Kind::NewOrder,
            10..20 => Kind::Payment,
            20..30 => Kind::CustomerReport,
            30 => Kind::OrderStatus,
            31 => Kind::Delivery,
            _ => Kind::StockLevel,
        }
    }
}

/// Does one; answers which, and a number that depends on all it looked at.
pub(super) fn transact(warehouse: &mut Warehouse, chance: &mut Chance) -> (Kind, i64) {
    let kind = Kind::draw(chance);
    let (district, customer) = (chance.below(DISTRICTS), chance.below(CUSTOMERS));
    let found = match kind {
        Kind::NewOrder => new_order(warehouse, district, customer, chance),
        Kind::Payment => payment(warehouse, district, customer, chance),
        Kind::CustomerReport => customer_report(warehouse, district, customer),
        Kind::OrderStatus => order_status(warehouse, district, customer),
        Kind::Delivery => Some(warehouse.districts.iter_mut().filter_map(|district| district.deliver()).sum()),
        Kind::StockLevel => stock_level(warehouse, district),
    };
    (kind, found.unwrap_or(0))
}

fn new_order(warehouse: &mut Warehouse, district: usize, customer: usize, chance: &mut Chance) -> Option<i64> {
    let count = chance.between(LINES.0, LINES.1);
    let lines = (0..count).filter_map(|_| warehouse.take(chance.below(ITEMS), chance.between(1, 10))).collect();
    Some(warehouse.districts.get_mut(district)?.enter(customer, lines))
}

fn payment(warehouse: &mut Warehouse, district: usize, customer: usize, chance: &mut Chance) -> Option<i64> {
    let amount_cents = i64::from(chance.between(100, 500_000));
    warehouse.districts.get_mut(district)?.pay(customer, amount_cents);
    warehouse.paid_cents += amount_cents;
    Some(amount_cents)
}

/// A page about a customer: what is owed, what was paid lately, the last order line by line.
fn customer_report(warehouse: &mut Warehouse, district: usize, customer: usize) -> Option<i64> {
    let Warehouse { districts, paper, .. } = warehouse;
    let district = districts.get(district)?;
    let about = district.customers.get(customer)?;
    paper.clear();
    // Writing to memory does not fail.
    let _ =
        writeln!(paper, "customer {customer}  owes {}  paid {}", Money(about.balance_cents), Money(about.paid_cents));
    for amount_cents in &about.payments {
        let _ = writeln!(paper, "  payment {}", Money(*amount_cents));
    }
    if let Some(order) = about.last_order.and_then(|number| district.order(number)) {
        for line in &order.lines {
            let _ = writeln!(paper, "  {:>3} x {:<6} {}", line.quantity, line.item, Money(line.amount_cents));
        }
        let _ = writeln!(paper, "  order {}  {}", order.number, Money(order.amount_cents));
    }
    i64::try_from(paper.len()).ok()
}

/// An amount, as it is printed.
struct Money(i64);

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{:02}", self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100)
    }
}

fn order_status(warehouse: &Warehouse, district: usize, customer: usize) -> Option<i64> {
    let district = warehouse.districts.get(district)?;
    let number = district.customers.get(customer)?.last_order?;
    let order = district.order(number)?;
    let waits = order.number >= district.delivered_count;
    Some(order.lines.iter().map(|line| i64::from(line.quantity)).sum::<i64>() + i64::from(waits))
}

/// How many kinds of what was ordered lately run low.
fn stock_level(warehouse: &Warehouse, district: usize) -> Option<i64> {
    let latest = warehouse.districts.get(district)?.latest().take(LOOKED_THROUGH);
    let mut items: Vec<u32> = latest.flat_map(|order| order.lines.iter().map(|line| line.item)).collect();
    items.sort_unstable();
    items.dedup();
    let stock = |item: &u32| warehouse.stock.get(usize::try_from(*item).ok()?);
    i64::try_from(items.iter().filter_map(stock).filter(|stock| stock.quantity < LOW).count()).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn after(count: u32, seed: u64) -> (Warehouse, BTreeMap<Kind, u32>, i64) {
        let mut chance = Chance::new(seed, 0);
        let mut warehouse = Warehouse::new(&mut chance);
        let (mut kinds, mut sum) = (BTreeMap::new(), 0_i64);
        for _ in 0..count {
            let (kind, found) = transact(&mut warehouse, &mut chance);
            *kinds.entry(kind).or_default() += 1;
            sum = sum.wrapping_mul(31).wrapping_add(found);
        }
        (warehouse, kinds, sum)
    }

    #[test]
    fn money_and_stock_add_up_after_any_mix() {
        for (count, seed) in [(0, 1), (1, 2), (1_000, 3), (30_000, 4), (300_000, 5)] {
            after(count, seed).0.audit();
        }
    }

    #[test]
    fn books_that_do_not_add_up_are_found() {
        let (warehouse, ..) = after(10_000, 1);
        let spoiled: [fn(&mut Warehouse); 4] = [
            |warehouse| warehouse.stock[7].quantity += 1,
            |warehouse| warehouse.paid_cents -= 1,
            |warehouse| warehouse.districts[3].customers[5].balance_cents += 1,
            |warehouse| drop(warehouse.districts[0].waiting.pop_back()),
        ];
        for spoil in spoiled {
            let mut warehouse = warehouse.clone();
            spoil(&mut warehouse);
            assert!(std::panic::catch_unwind(|| warehouse.audit()).is_err());
        }
    }

    #[test]
    fn the_shares_are_the_published_ones() {
        let kinds = after(330_000, 1).1;
        let per_mille = |kind| f64::from(kinds[&kind]) / 330.0;
        for kind in [Kind::NewOrder, Kind::Payment, Kind::CustomerReport] {
            assert!((per_mille(kind) - 303.0).abs() < 5.0, "{kinds:?}");
        }
        for kind in [Kind::OrderStatus, Kind::Delivery, Kind::StockLevel] {
            assert!((per_mille(kind) - 30.3).abs() < 2.0, "{kinds:?}");
        }
    }

    #[test]
    fn the_same_seed_does_the_same() {
        assert_eq!(after(20_000, 9).2, after(20_000, 9).2);
        assert_ne!(after(20_000, 9).2, after(20_000, 10).2);
    }

    #[test]
    fn what_is_kept_is_bounded_whatever_comes() {
        let mut chance = Chance::new(1, 0);
        let mut warehouse = Warehouse::new(&mut chance);
        // On average as much is delivered as ordered, which bounds nothing: here nobody delivers at all.
        for round in 0..30_000 {
            new_order(&mut warehouse, round % DISTRICTS, 7, &mut chance);
            payment(&mut warehouse, round % DISTRICTS, 7, &mut chance);
        }
        // The audit holds the bounds.
        warehouse.audit();
        assert!(warehouse.districts.iter().all(|district| district.next_number == 3_000));
    }

    #[test]
    fn a_report_on_a_customer_shows_the_last_order() {
        let (mut warehouse, ..) = after(50_000, 1);
        let customers = |warehouse: &Warehouse| warehouse.districts[0].customers.clone();
        let with_order = customers(&warehouse).iter().position(|customer| {
            customer.last_order.is_some_and(|number| warehouse.districts[0].order(number).is_some())
        });
        let customer = with_order.unwrap();
        let number = customers(&warehouse)[customer].last_order.unwrap();
        assert!(customer_report(&mut warehouse, 0, customer).unwrap() > 40);
        assert!(warehouse.paper.contains(&format!("order {number}  ")), "{}", warehouse.paper);
        assert_eq!(Money(-5).to_string(), "-0.05");
    }
}
