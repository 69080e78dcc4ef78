//! The pages of our own shop and what is behind them: goods, sessions with their carts, and orders, all in memory.
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Chance;
use super::goods::{self, CATEGORIES, ON_PAGE, Product, price};
use super::http::{Request, field};

/// Sessions and orders that are kept; the oldest go.
const SESSIONS: usize = 100_000;
const ORDERS: usize = 10_000;
/// Products on the front page, the first of every so many.
const SHOWN: u32 = 341;
/// What is in stock at first, and what it is filled up with.
const STOCK: u32 = 1_000;
/// What one may order of a product at once.
const MAX: u32 = 99;

/// Products and how many of each, in the order they were chosen.
type Cart = Vec<(u32, u32)>;

/// A page and its status.
pub(super) struct Page {
    pub(super) status: u16,
    /// The session begun for this visitor.
    pub(super) session: Option<String>,
    pub(super) body: String,
}

/// A shop.
pub(super) struct Shop {
    goods: Vec<Product>,
    sessions: Mutex<Sessions>,
    orders: Mutex<Orders>,
}

struct Sessions {
    chance: Chance,
    carts: BTreeMap<u64, Cart>,
    oldest: VecDeque<u64>,
}

/// What was ordered.
#[derive(Debug, Default)]
struct Orders {
    count: u64,
    cents: u64,
    kept: VecDeque<(u64, Cart)>,
    stock: Vec<u32>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shop {
    pub(super) fn new(seed: u64) -> Self {
        let goods = goods::all();
        let sessions =
            Sessions { chance: Chance::new(seed, u64::MAX), carts: BTreeMap::new(), oldest: VecDeque::new() };
        let orders = Orders { stock: vec![STOCK; goods.len()], ..Orders::default() };
        Shop { goods, sessions: Mutex::new(sessions), orders: Mutex::new(orders) }
    }

    /// How many orders there were, and what they came to together, cents.
    pub(super) fn ordered(&self) -> (u64, u64) {
        let orders = locked(&self.orders);
        (orders.count, orders.cents)
    }

    /// The page that is asked for.
    pub(super) fn answer(&self, request: &Request) -> Page {
        let mut session = request.session.as_deref().and_then(|text| u64::from_str_radix(text, 16).ok());
        let known = session.is_some_and(|session| locked(&self.sessions).carts.contains_key(&session));
        let begun = (!known).then(|| locked(&self.sessions).begin());
        session = begun.or(session);
        let body = self.page(request, session.unwrap_or(0));
        let status = if body.is_some() { 200 } else { 404 };
        let body = body.unwrap_or_else(|| framed("none", "Nothing here", "<p>There is no such page.</p>"));
        Page { status, session: begun.map(|number| format!("{number:x}")), body }
    }

    fn page(&self, request: &Request, session: u64) -> Option<String> {
        let number = |text: &str| text.parse::<u32>().ok();
        let mut parts = request.path.split('/').skip(1);
        match (request.posts, parts.next()?, parts.next(), parts.next()) {
            (false, "", None, None) => Some(self.front()),
            (false, "category", Some(category), None) => {
                let page = field(&request.query, "page").and_then(|text| number(&text)).unwrap_or(1);
                self.category(number(category)?, page)
            }
            (false, "search", None, None) => Some(self.search(&field(&request.query, "q").unwrap_or_default())),
            (false, "product", Some(id), None) => self.product(number(id)?),
            (false, "cart", None, None) => Some(self.cart(session)),
            (true, "cart", None, None) => {
                let form = |name| field(&request.body, name).and_then(|text| number(&text));
                self.add(session, form("product")?, form("quantity")?)
            }
            (true, "order", None, None) => self.order(session),
            _ => None,
        }
    }

    fn front(&self) -> String {
        let shown = self.goods.iter().filter(|product| product.id % SHOWN == 1);
        framed("front", "Welcome", &format!("<p>Chosen for you today:</p>{}", list(shown)))
    }

    fn category(&self, category: u32, page: u32) -> Option<String> {
        let name = CATEGORIES.get(usize::try_from(category.checked_sub(1)?).ok()?)?;
        let before = ON_PAGE * usize::try_from(page.checked_sub(1)?).ok()?;
        let of_it = self.goods.iter().filter(|product| product.category == category);
        let body = list(of_it.skip(before).take(ON_PAGE));
        Some(framed(&format!("category-{category}"), &format!("{name}, page {page}"), &body))
    }

    fn search(&self, words: &str) -> String {
        let found: Vec<&Product> = goods::search(&self.goods, words).collect();
        let shown = list(found.iter().copied().take(ON_PAGE));
        let body = format!("<p>Found <b id=\"found\">{}</b> for {}.</p>{shown}", found.len(), escaped(words));
        framed("search", "Search", &body)
    }

    fn product(&self, id: u32) -> Option<String> {
        let product = goods::find(&self.goods, id)?;
        let stock = locked(&self.orders).stock.get(usize::try_from(id).ok()? - 1).copied()?;
        let body = format!(
            "<p>{}</p><p>Price <b id=\"price\">{}</b>, {stock} in stock.</p><form method=\"post\" action=\"/cart\">\
             <input type=\"hidden\" name=\"product\" value=\"{id}\"><input name=\"quantity\" value=\"1\">\
             <button>Into the cart</button></form>",
            escaped(&product.description),
            price(product.price_cents.into())
        );
        Some(framed(&format!("product-{id}"), &product.name, &body))
    }

    fn add(&self, session: u64, id: u32, quantity: u32) -> Option<String> {
        goods::find(&self.goods, id)?;
        if !(1..=MAX).contains(&quantity) {
            return None;
        }
        locked(&self.sessions).carts.get_mut(&session)?.push((id, quantity));
        Some(self.cart(session))
    }

    fn total_cents(&self, cart: &Cart) -> u64 {
        let cents = |(id, quantity): &(u32, u32)| {
            goods::find(&self.goods, *id).map_or(0, |product| u64::from(product.price_cents) * u64::from(*quantity))
        };
        cart.iter().map(cents).sum()
    }

    fn cart(&self, session: u64) -> String {
        let cart = locked(&self.sessions).carts.get(&session).cloned().unwrap_or_default();
        let mut body = "<table>".to_owned();
        for (id, quantity) in &cart {
            let Some(product) = goods::find(&self.goods, *id) else { continue };
            let cents = u64::from(product.price_cents) * u64::from(*quantity);
            let _ = write!(body, "<tr><td>{quantity}<td>{}<td>{}", product.name, price(cents));
        }
        let total = price(self.total_cents(&cart));
        let _ = write!(
            body,
            "</table><p>Together <b id=\"total\">{total}</b></p><form method=\"post\" action=\"/order\"><button>Order</button></form>"
        );
        framed("cart", "Your cart", &body)
    }

    fn order(&self, session: u64) -> Option<String> {
        let cart = std::mem::take(locked(&self.sessions).carts.get_mut(&session)?);
        if cart.is_empty() {
            return None;
        }
        let cents = self.total_cents(&cart);
        let number = locked(&self.orders).enter(cart, cents);
        let body =
            format!("<p>Order <b id=\"order\">{number}</b> over <b id=\"total\">{}</b>. Thank you!</p>", price(cents));
        Some(framed("ordered", "Ordered", &body))
    }
}

impl Sessions {
    fn begin(&mut self) -> u64 {
        let session = self.chance.next();
        self.carts.insert(session, Cart::new());
        self.oldest.push_back(session);
        if self.oldest.len() > SESSIONS {
            self.oldest.pop_front().and_then(|oldest| self.carts.remove(&oldest));
        }
        session
    }
}

impl Orders {
    fn enter(&mut self, cart: Cart, cents: u64) -> u64 {
        for (id, quantity) in &cart {
            let place = usize::try_from(*id).unwrap_or(0).wrapping_sub(1);
            if let Some(stock) = self.stock.get_mut(place) {
                *stock = stock.checked_sub(*quantity).unwrap_or(*stock + STOCK - quantity);
            }
        }
        self.count += 1;
        self.cents += cents;
        self.kept.push_back((self.count, cart));
        if self.kept.len() > ORDERS {
            self.kept.pop_front();
        }
        self.count
    }
}

fn list<'a>(products: impl Iterator<Item = &'a Product>) -> String {
    let mut list = "<ul>".to_owned();
    for Product { id, name, description, price_cents, .. } in products {
        let cost = price((*price_cents).into());
        let _ = write!(list, "<li><a href=\"/product/{id}\">{name}</a> {cost}<br>{}", escaped(description));
    }
    list + "</ul>"
}

/// A page around what it is about.
fn framed(id: &str, title: &str, body: &str) -> String {
    let title = escaped(title);
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><nav><a href=\"/\">Front page</a>"
    );
    for (number, name) in (1..).zip(CATEGORIES) {
        let _ = write!(page, " <a href=\"/category/{number}\">{name}</a>");
    }
    page + "<form action=\"/search\"><input name=\"q\"><button>Search</button></form> <a href=\"/cart\">Cart</a></nav>\
            <main id=\""
        + id
        + "\"><h1>"
        + &title
        + "</h1>"
        + body
        + "</main></body></html>\n"
}

const STYLE: &str = "body{font:16px/1.4 sans-serif;margin:0 auto;max-width:60em;color:#222}nav{padding:1em 0;border-bottom:1px solid \
                     #ccc}nav a{margin-right:.5em}ul{list-style:none;padding:0}li{margin:1em 0}b{color:#060}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(shop: &Shop, session: Option<&str>, target: &str, body: Option<&str>) -> Page {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        shop.answer(&Request {
            posts: body.is_some(),
            path: path.into(),
            query: query.into(),
            session: session.map(str::to_owned),
            body: body.unwrap_or_default().into(),
            closes: false,
        })
    }

    #[test]
    fn what_is_put_into_the_cart_is_what_is_ordered_and_once() {
        let shop = Shop::new(1);
        let session = ask(&shop, None, "/", None).session.unwrap();
        let other = ask(&shop, None, "/", None).session.unwrap();
        assert_ne!(session, other);
        let session = Some(session.as_str());
        ask(&shop, session, "/cart", Some("product=7&quantity=2"));
        let cart = ask(&shop, session, "/cart", Some("product=4096&quantity=1"));
        let goods = goods::all();
        let cents = u64::from(goods[6].price_cents * 2 + goods[4095].price_cents);
        assert!(cart.body.contains(&format!("<b id=\"total\">{}</b>", price(cents))), "{}", cart.body);
        assert!(ask(&shop, Some(&other), "/cart", None).body.contains("<b id=\"total\">0.00</b>"));
        let ordered = ask(&shop, session, "/order", Some(""));
        assert_eq!((ordered.status, ordered.session, shop.ordered()), (200, None, (1, cents)));
        assert_eq!(ask(&shop, session, "/order", Some("")).status, 404, "an empty cart is no order");
        assert_eq!(shop.ordered(), (1, cents));
        let stock = &locked(&shop.orders).stock;
        assert_eq!((stock[6], stock[4095], stock[0]), (STOCK - 2, STOCK - 1, STOCK));
    }

    #[test]
    fn pages_that_are_not_there_are_not_found() {
        let shop = Shop::new(1);
        for target in [
            "/x",
            "/category/0",
            "/category/17",
            "/category/1?page=0",
            "/product/0",
            "/product/4097",
            "/product/x",
            "/order",
        ] {
            assert_eq!(ask(&shop, None, target, None).status, 404, "{target}");
        }
        for body in ["", "product=0&quantity=1", "product=1&quantity=0", "product=1&quantity=100", "product=1"] {
            assert_eq!(ask(&shop, None, "/cart", Some(body)).status, 404, "{body}");
        }
    }

    #[test]
    fn a_search_finds_and_what_is_searched_for_is_no_markup() {
        let shop = Shop::new(1);
        let page = ask(&shop, None, "/search?q=plain+bowl", None).body;
        assert!(page.contains("<b id=\"found\">16</b>") && page.matches("/product/").count() == 16, "{page}");
        let page = ask(&shop, None, "/search?q=%3Cscript%3E", None).body;
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"), "{page}");
    }

    #[test]
    fn memory_is_bounded() {
        let mut orders = Orders::default();
        for _ in 0..20_001 {
            orders.enter(vec![(1, 1)], 5);
        }
        assert_eq!((orders.count, orders.cents, orders.kept.len()), (20_001, 100_005, ORDERS));
        let mut sessions = Sessions { chance: Chance::new(1, 1), carts: BTreeMap::new(), oldest: VecDeque::new() };
        for _ in 0..SESSIONS + 7 {
            sessions.begin();
        }
        assert_eq!((sessions.carts.len(), sessions.oldest.len()), (SESSIONS, SESSIONS));
    }
}
