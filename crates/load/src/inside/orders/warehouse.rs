//! A warehouse: what it holds, and the books that must add up.
//!
//! All money is in cents. A warehouse has districts, each with customers and orders; orders wait until they are delivered, and
//! only the latest of those delivered are kept, so that memory stays bounded however long it runs.
use std::collections::VecDeque;

use super::Chance;

/// Things that can be bought.
pub(super) const ITEMS: usize = 20_000;
/// Parts of a warehouse.
pub(super) const DISTRICTS: usize = 10;
/// Customers of each.
pub(super) const CUSTOMERS: usize = 300;
/// Lines of an order, least and most.
pub(super) const LINES: (u32, u32) = (5, 15);
/// Orders of a district that may wait; with one more the oldest is delivered at once.
const WAITING: usize = 500;
/// Delivered orders of a district that are kept to be asked for.
const KEPT: usize = 500;
/// Payments of a customer that are kept to be asked for.
const PAYMENTS: usize = 8;
/// Less than this in stock is filled up by [`REFILL`].
const MIN: u32 = 10;
const REFILL: u32 = 91;

/// One kind of thing: what it costs, how many are there, how many went and came.
#[derive(Clone, Debug)]
pub(super) struct Stock {
    pub(super) price_cents: u32,
    pub(super) quantity: u32,
    /// How many there were at the beginning, and came since.
    pub(super) received: u64,
    pub(super) sold: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) item: u32,
    pub(super) quantity: u32,
    pub(super) amount_cents: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) number: u64,
    pub(super) customer: usize,
    pub(super) lines: Vec<Line>,
    pub(super) amount_cents: i64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Customer {
    /// What the customer owes: what was delivered, less what was paid.
    pub(super) balance_cents: i64,
    pub(super) paid_cents: i64,
    pub(super) payments: VecDeque<i64>,
    pub(super) last_order: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct District {
    pub(super) customers: Vec<Customer>,
    /// Oldest first; numbers rise by one from those delivered to those waiting.
    pub(super) waiting: VecDeque<Order>,
    pub(super) delivered: VecDeque<Order>,
    pub(super) next_number: u64,
    pub(super) delivered_count: u64,
    pub(super) delivered_cents: i64,
    pub(super) paid_cents: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Warehouse {
    pub(super) stock: Vec<Stock>,
    pub(super) districts: Vec<District>,
    pub(super) paid_cents: i64,
    pub(super) sold: u64,
    /// Where reports are written, kept so that none is allocated for each.
    pub(super) paper: String,
}

impl Warehouse {
    /// A filled one, without orders.
    pub(super) fn new(chance: &mut Chance) -> Self {
        let stock = |_| {
            let quantity = chance.between(MIN, 100);
            Stock { price_cents: chance.between(100, 10_000), quantity, received: quantity.into(), sold: 0 }
        };
        let district = District { customers: vec![Customer::default(); CUSTOMERS], ..District::default() };
        Warehouse {
            stock: (0..ITEMS).map(stock).collect(),
            districts: vec![district; DISTRICTS],
            paid_cents: 0,
            sold: 0,
            paper: String::new(),
        }
    }

    /// Takes from stock what a line wants, and fills up what runs low.
    pub(super) fn take(&mut self, item: usize, quantity: u32) -> Option<Line> {
        let stock = self.stock.get_mut(item)?;
        if stock.quantity < MIN + quantity {
            stock.quantity += REFILL;
            stock.received += u64::from(REFILL);
        }
        stock.quantity = stock.quantity.checked_sub(quantity)?;
        stock.sold += u64::from(quantity);
        self.sold += u64::from(quantity);
        let amount_cents = i64::from(quantity) * i64::from(stock.price_cents);
        Some(Line { item: u32::try_from(item).ok()?, quantity, amount_cents })
    }
}

impl District {
    /// Puts an order behind the others.
    pub(super) fn enter(&mut self, customer: usize, lines: Vec<Line>) -> i64 {
        let number = self.next_number;
        let amount_cents = lines.iter().map(|line| line.amount_cents).sum();
        if let Some(customer) = self.customers.get_mut(customer) {
            customer.last_order = Some(number);
        }
        self.next_number += 1;
        self.waiting.push_back(Order { number, customer, lines, amount_cents });
        if self.waiting.len() > WAITING {
            self.deliver();
        }
        amount_cents
    }

    /// Delivers the oldest order that waits; answers what it came to.
    pub(super) fn deliver(&mut self) -> Option<i64> {
        let order = self.waiting.pop_front()?;
        let amount_cents = order.amount_cents;
        if let Some(customer) = self.customers.get_mut(order.customer) {
            customer.balance_cents += amount_cents;
        }
        self.delivered_count += 1;
        self.delivered_cents += amount_cents;
        self.delivered.push_back(order);
        if self.delivered.len() > KEPT {
            self.delivered.pop_front();
        }
        Some(amount_cents)
    }

    /// Takes what a customer pays.
    pub(super) fn pay(&mut self, customer: usize, amount_cents: i64) {
        let Some(customer) = self.customers.get_mut(customer) else { return };
        customer.balance_cents -= amount_cents;
        customer.paid_cents += amount_cents;
        customer.payments.push_back(amount_cents);
        if customer.payments.len() > PAYMENTS {
            customer.payments.pop_front();
        }
        self.paid_cents += amount_cents;
    }

    /// An order by its number, while it is kept.
    pub(super) fn order(&self, number: u64) -> Option<&Order> {
        [&self.delivered, &self.waiting].into_iter().find_map(|orders| {
            let first = orders.front()?.number;
            orders.get(usize::try_from(number.checked_sub(first)?).ok()?)
        })
    }

    /// The latest orders, latest first.
    pub(super) fn latest(&self) -> impl Iterator<Item = &Order> {
        self.waiting.iter().rev().chain(self.delivered.iter().rev())
    }
}

#[cfg(test)]
impl Warehouse {
    /// Every book against every other.
    pub(super) fn audit(&self) {
        for (item, stock) in self.stock.iter().enumerate() {
            assert_eq!(u64::from(stock.quantity) + stock.sold, stock.received, "item {item}");
        }
        assert_eq!(self.stock.iter().map(|stock| stock.sold).sum::<u64>(), self.sold);
        assert_eq!(self.districts.iter().map(|district| district.paid_cents).sum::<i64>(), self.paid_cents);
        for district in &self.districts {
            let sum = |of: fn(&Customer) -> i64| district.customers.iter().map(of).sum::<i64>();
            assert_eq!(sum(|customer| customer.paid_cents), district.paid_cents);
            assert_eq!(sum(|customer| customer.balance_cents), district.delivered_cents - district.paid_cents);
            assert_eq!(district.next_number, district.delivered_count + district.waiting.len() as u64);
            let numbers: Vec<u64> =
                district.delivered.iter().chain(&district.waiting).map(|order| order.number).collect();
            assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
            for order in district.latest() {
                assert_eq!(order.lines.iter().map(|line| line.amount_cents).sum::<i64>(), order.amount_cents);
            }
            assert!(district.waiting.len() <= WAITING && district.delivered.len() <= KEPT);
            assert!(district.customers.iter().all(|customer| customer.payments.len() <= PAYMENTS));
        }
    }
}
