//! One visitor: what comes after the page that was looked at, and whether an answer is the right one.
use super::Chance;
use super::goods::{self, CATEGORIES, FOUND, ON_PAGE, PAGES, Product, price};
use super::http::Answer;

/// Where a visitor may go from a page, with weights: the model of how people go through a shop.
const AFTER_FRONT: [(Step, u32); 2] = [(Step::Browse, 50), (Step::Search, 50)];
const AFTER_LIST: [(Step, u32); 4] = [(Step::Look, 70), (Step::Browse, 15), (Step::Search, 10), (Step::Leave, 5)];
const AFTER_PRODUCT: [(Step, u32); 4] = [(Step::Add, 30), (Step::Browse, 30), (Step::Search, 30), (Step::Leave, 10)];
const AFTER_CART: [(Step, u32); 4] = [(Step::Order, 40), (Step::Browse, 30), (Step::Search, 25), (Step::Leave, 5)];
const AFTER_ORDER: [(Step, u32); 1] = [(Step::Leave, 1)];

/// What is put into the cart of one product, at most.
const MAX: u32 = 3;

/// What a visitor does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// To a page of a category.
    Browse,
    Search,
    /// At one of the products listed.
    Look,
    /// Puts the product into the cart.
    Add,
    Order,
    /// Somebody else comes, to the front page and without a session.
    Leave,
}

/// What the page must be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Front,
    Category(u32),
    /// What a search for two words of a name finds.
    Found,
    Product(u32),
    Cart,
    Ordered,
}

/// What is asked of the shop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// Path and query.
    pub(super) target: String,
    /// What is sent with it.
    pub(super) form: Option<String>,
    pub(super) session: Option<String>,
    wanted: Wanted,
}

/// An order that the shop confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Confirmed {
    /// What it came to, cents.
    pub(super) cents: u64,
}

/// Somebody in the shop.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    chance: Chance,
    at: Option<Wanted>,
    /// Products listed on the page looked at.
    listed: Vec<u32>,
    cart_cents: u64,
    session: Option<String>,
}

impl Visitor {
    pub(super) fn new(chance: Chance) -> Self {
        Visitor { chance, at: None, listed: Vec::new(), cart_cents: 0, session: None }
    }

    /// Time to think, ns.
    pub(super) fn thinks_ns(&mut self, mean_ns: u64) -> u64 {
        self.chance.exponential(mean_ns as f64) as u64
    }

    /// Goes on.
    pub(super) fn ask(&mut self, goods: &[Product]) -> Ask {
        let after: &[(Step, u32)] = match &self.at {
            None => &[(Step::Leave, 1)],
            Some(Wanted::Front) => &AFTER_FRONT,
            Some(Wanted::Category(_) | Wanted::Found) => &AFTER_LIST,
            Some(Wanted::Product(_)) => &AFTER_PRODUCT,
            Some(Wanted::Cart) => &AFTER_CART,
            Some(Wanted::Ordered) => &AFTER_ORDER,
        };
        let (target, form, wanted) = match (self.draw(after), &self.at) {
            (Step::Browse, _) => self.browse(),
            (Step::Search, _) => self.search(goods),
            (Step::Look, _) => {
                let place = self.chance.below(self.listed.len());
                let id = self.listed.get(place).copied().unwrap_or(1);
                (format!("/product/{id}"), None, Wanted::Product(id))
            }
            (Step::Add, Some(Wanted::Product(id))) => {
                let (id, quantity) = (*id, self.chance.between(1, MAX));
                let cents = goods::find(goods, id).map_or(0, |product| u64::from(product.price_cents));
                self.cart_cents += cents * u64::from(quantity);
                ("/cart".to_owned(), Some(format!("product={id}&quantity={quantity}")), Wanted::Cart)
            }
            (Step::Order, _) => ("/order".to_owned(), Some(String::new()), Wanted::Ordered),
            (Step::Add | Step::Leave, _) => {
                self.start_over();
                ("/".to_owned(), None, Wanted::Front)
            }
        };
        Ask { target, form, session: self.session.clone(), wanted }
    }

    fn draw(&mut self, after: &[(Step, u32)]) -> Step {
        let all: u32 = after.iter().map(|(_, weight)| weight).sum();
        let mut left = self.chance.between(1, all.max(1));
        for (step, weight) in after {
            if left <= *weight {
                return *step;
            }
            left -= weight;
        }
        Step::Leave
    }

    fn browse(&mut self) -> (String, Option<String>, Wanted) {
        let categories = u32::try_from(CATEGORIES.len()).unwrap_or(1);
        let (category, page) = (self.chance.between(1, categories), self.chance.between(1, PAGES));
        (format!("/category/{category}?page={page}"), None, Wanted::Category(category))
    }

    /// Two words of a product's name.
    fn search(&mut self, goods: &[Product]) -> (String, Option<String>, Wanted) {
        let place = self.chance.below(goods.len());
        let name = goods.get(place).map_or("", |product| product.name.as_str());
        let left_out = self.chance.below(2);
        let words: Vec<&str> =
            name.split(' ').enumerate().filter(|(at, _)| *at != left_out).map(|(_, word)| word).collect();
        (format!("/search?q={}", words.join("+")), None, Wanted::Found)
    }

    /// Without a session and with an empty cart.
    pub(super) fn start_over(&mut self) {
        (self.at, self.session, self.cart_cents) = (None, None, 0);
    }

    /// Looks at the answer to `ask`; what was ordered, if that is what it confirms.
    ///
    /// # Errors
    /// What is wrong with it. The visitor starts over.
    pub(super) fn look(&mut self, ask: Ask, answer: Answer, goods: &[Product]) -> Result<Option<Confirmed>, String> {
        let right = right(&ask.wanted, &answer, goods, self.cart_cents);
        if let Err(why) = right {
            self.start_over();
            return Err(format!("{}: {why}", ask.target));
        }
        if answer.session.is_some() {
            self.session = answer.session;
        }
        self.listed = listed(&answer.body);
        let confirmed =
            (ask.wanted == Wanted::Ordered).then(|| Confirmed { cents: std::mem::take(&mut self.cart_cents) });
        self.at = Some(ask.wanted);
        Ok(confirmed)
    }
}

/// Whether a page is what it must be.
fn right(wanted: &Wanted, answer: &Answer, goods: &[Product], cart_cents: u64) -> Result<(), String> {
    if answer.status != 200 {
        return Err(format!("status {}", answer.status));
    }
    let page = answer.body.as_str();
    let count = listed(page).len();
    let shows = |name: &str, value: &str| {
        let found = between(page, &format!("<b id=\"{name}\">"), "</b>").unwrap_or("nothing");
        if found == value { Ok(()) } else { Err(format!("its {name} is {found}, not {value}")) }
    };
    let is = |id: &str| {
        if page.contains(&format!("<main id=\"{id}\">")) && page.trim_end().ends_with("</html>") {
            Ok(())
        } else {
            Err(format!("it is not the whole page '{id}'"))
        }
    };
    let lists = |right: bool| if right { Ok(()) } else { Err(format!("it lists {count} products")) };
    match wanted {
        Wanted::Front => is("front").and(lists(count > 0)),
        Wanted::Category(id) => {
            let category = |found: u32| goods::find(goods, found).map_or(0, |product| product.category);
            let right = listed(page).iter().all(|found| category(*found) == *id);
            is(&format!("category-{id}")).and(lists(right && (1..=ON_PAGE).contains(&count)))
        }
        Wanted::Found => {
            let right = shows("found", &FOUND.to_string()).and(lists(count == FOUND));
            is("search").and(right)
        }
        Wanted::Product(id) => {
            let product = goods::find(goods, *id).ok_or("there is no such product")?;
            is(&format!("product-{id}")).and(shows("price", &price(product.price_cents.into())))
        }
        Wanted::Cart => is("cart").and(shows("total", &price(cart_cents))),
        Wanted::Ordered => is("ordered").and(shows("total", &price(cart_cents))),
    }
}

/// The products a page leads to.
fn listed(page: &str) -> Vec<u32> {
    let parts = page.split("href=\"/product/").skip(1);
    parts.filter_map(|part| part.split('"').next()?.parse().ok()).collect()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::http::Request;
    use super::super::pages::Shop;
    use super::*;

    fn answered(shop: &Shop, ask: &Ask) -> Answer {
        let (path, query) = ask.target.split_once('?').unwrap_or((&ask.target, ""));
        let page = shop.answer(&Request {
            posts: ask.form.is_some(),
            path: path.into(),
            query: query.into(),
            session: ask.session.clone(),
            body: ask.form.clone().unwrap_or_default(),
            closes: false,
        });
        Answer { status: page.status, session: page.session, closes: false, body: page.body }
    }

    /// How often each page was asked for, and what was confirmed.
    fn visits(seed: u64, count: u32) -> (BTreeMap<String, u32>, Vec<u64>, Shop) {
        let (shop, goods) = (Shop::new(1), goods::all());
        let mut visitor = Visitor::new(Chance::new(seed, 0));
        let (mut pages, mut confirmed) = (BTreeMap::<String, u32>::new(), Vec::new());
        for _ in 0..count {
            let ask = visitor.ask(&goods);
            let page = ask.target.split(['/', '?']).nth(1).unwrap_or_default().to_owned();
            *pages.entry(page).or_default() += 1;
            let answer = answered(&shop, &ask);
            confirmed.extend(visitor.look(ask, answer, &goods).unwrap().map(|confirmed| confirmed.cents));
        }
        (pages, confirmed, shop)
    }

    #[test]
    fn visitors_go_through_the_whole_shop_and_get_what_they_order() {
        let (pages, confirmed, shop) = visits(1, 20_000);
        for page in ["", "category", "search", "product", "cart", "order"] {
            assert!(pages[page] > 500, "{pages:?}");
        }
        assert_eq!(confirmed.len(), pages["order"] as usize);
        assert_eq!(shop.ordered(), (confirmed.len() as u64, confirmed.iter().sum()));
        assert_eq!(visits(1, 2_000).0, visits(1, 2_000).0);
        assert_ne!(visits(1, 2_000).0, visits(2, 2_000).0);
    }

    type Spoil = fn(&mut Answer);

    #[test]
    fn a_wrong_page_is_seen() {
        let (shop, goods) = (Shop::new(1), goods::all());
        let spoiled: [(&str, Spoil); 5] = [
            ("status 500", |answer| answer.status = 500),
            ("not the whole page", |answer| answer.body.truncate(answer.body.len() / 2)),
            ("not the whole page", |answer| answer.body = answer.body.replace("main id", "div id")),
            ("its total is", |answer| answer.body = answer.body.replace("id=\"total\">", "id=\"total\">1")),
            ("its price is", |answer| answer.body = answer.body.replace("id=\"price\">", "id=\"price\">1")),
        ];
        for (why, spoil) in spoiled {
            let mut visitor = Visitor::new(Chance::new(3, 0));
            let seen = (0..1_000).any(|_| {
                let ask = visitor.ask(&goods);
                let mut answer = answered(&shop, &ask);
                spoil(&mut answer);
                visitor.look(ask, answer, &goods).is_err_and(|said| said.contains(why))
            });
            assert!(seen, "{why}");
        }
    }
}
