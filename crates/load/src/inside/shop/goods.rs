//! What the shop sells: the same products every time, so that customers know what a right page says.
use super::Chance;

const ADJECTIVES: [&str; 16] = [
    "bright", "coarse", "curved", "dark", "folding", "heavy", "hollow", "light", "narrow", "plain", "polished",
    "quiet", "round", "short", "striped", "wide",
];
const MATERIALS: [&str; 16] = [
    "bamboo",
    "birch",
    "brass",
    "bronze",
    "ceramic",
    "copper",
    "cotton",
    "glass",
    "granite",
    "leather",
    "linen",
    "maple",
    "porcelain",
    "slate",
    "velvet",
    "wool",
];
/// What it is; each is a category.
pub(super) const CATEGORIES: [&str; 16] = [
    "bench", "bowl", "bucket", "cabinet", "candle", "chair", "clock", "cushion", "desk", "jug", "lamp", "mirror",
    "rug", "shelf", "teapot", "vase",
];
/// What descriptions are made of; no word of a name is in it.
const WORDS: [&str; 32] = [
    "a", "made", "by", "hand", "for", "every", "home", "with", "care", "lasting", "years", "it", "fits", "any", "room",
    "and", "comes", "ready", "to", "use", "in", "its", "own", "box", "easy", "clean", "suits", "guests", "who",
    "value", "good", "work",
];
/// Words of a description, least and most.
const LENGTH: (u32, u32) = (30, 70);
/// What prices are drawn from.
const SEED: u64 = 20_080_805;

/// Products on one page of a list.
pub(super) const ON_PAGE: usize = 20;
/// Pages of a category.
pub(super) const PAGES: u32 = 13;

/// How many products a search for two words of a name finds: those that differ in the third.
pub(super) const FOUND: usize = 16;

/// One product.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// From 1 to 4096.
    pub(super) id: u32,
    /// Adjective, material, category.
    pub(super) name: String,
    pub(super) description: String,
    /// From 1 to 16.
    pub(super) category: u32,
    pub(super) price_cents: u32,
}

/// All of them, by id.
pub(super) fn all() -> Vec<Product> {
    let mut chance = Chance::new(SEED, 0);
    let mut goods = Vec::new();
    for (category, noun) in (1..).zip(CATEGORIES) {
        for material in MATERIALS {
            for adjective in ADJECTIVES {
                let id = u32::try_from(goods.len()).unwrap_or(0) + 1;
                let words =
                    (0..chance.between(LENGTH.0, LENGTH.1)).filter_map(|_| WORDS.get(chance.below(WORDS.len())));
                let description = words.copied().collect::<Vec<_>>().join(" ");
                let price_cents = chance.between(199, 49_999);
                let name = format!("{adjective} {material} {noun}");
                goods.push(Product { id, name, description, category, price_cents });
            }
        }
    }
    goods
}

/// A product by its id.
pub(super) fn find(goods: &[Product], id: u32) -> Option<&Product> {
    goods.get(usize::try_from(id.checked_sub(1)?).ok()?)
}

/// Those whose name or description holds every one of the words.
pub(super) fn search<'a>(goods: &'a [Product], words: &str) -> impl Iterator<Item = &'a Product> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    goods.iter().filter(move |product| {
        let holds = |word: &String| product.name.contains(word.as_str()) || product.description.contains(word.as_str());
        !words.is_empty() && words.iter().all(holds)
    })
}

/// An amount, as pages show it.
pub(super) fn price(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_product_has_its_own_name_and_its_place() {
        let goods = all();
        assert_eq!(goods.len(), 4096);
        assert!(goods.iter().all(|product| find(&goods, product.id).unwrap().name == product.name));
        let names: std::collections::BTreeSet<_> = goods.iter().map(|product| &product.name).collect();
        assert_eq!(names.len(), goods.len());
        let of_one = goods.iter().filter(|product| product.category == 5).count();
        assert_eq!(of_one.div_ceil(ON_PAGE), PAGES as usize);
        assert_eq!((find(&goods, 0).is_none(), find(&goods, 4097).is_none()), (true, true));
        assert_eq!(all()[77].price_cents, goods[77].price_cents);
    }

    #[test]
    fn two_words_of_a_name_find_what_fits_on_a_page() {
        let goods = all();
        for product in goods.iter().step_by(97) {
            let words: Vec<&str> = product.name.split(' ').collect();
            let found = |words: &str| search(&goods, words).map(|product| product.id).collect::<Vec<_>>();
            for two in [format!("{} {}", words[0], words[2]), format!("{} {}", words[1], words[2])] {
                let by_two = found(&two);
                assert!(by_two.len() == FOUND && by_two.contains(&product.id), "{two}: {by_two:?}");
            }
            assert_eq!(found(&product.name.to_uppercase()), [product.id]);
        }
        assert_eq!(search(&goods, "no such thing").count() + search(&goods, " ").count(), 0);
    }
}
