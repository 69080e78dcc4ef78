//! When odd nodes and kinds are looked for: at fixed numbers of nodes of the drawn order, and at the end.
use super::gather::{Gathered, Look, Node};
use super::group::{self, Judged};
use super::{Kinds, OddNode, kinds, odd};
use powerband_record::InOrder;

/// Nodes of the drawn order at which they are looked for before the end.
const LOOKS: [usize; 4] = [16, 64, 256, 1024];

/// The looks whose nodes have all ended. Each before the last takes half of the error rate that is left, and the last takes the rest,
/// so that all of them together have the whole.
fn looks(gathered: &Gathered) -> Vec<Look> {
    let nodes = gathered.nodes.len();
    let complete = gathered.nodes.iter().take_while(|node| node.ended()).count();
    let mut left = 1.0;
    let mut all = Vec::new();
    for end in LOOKS.into_iter().filter(|end| *end < nodes && *end <= complete) {
        left *= 0.5;
        all.push(Look { positions: (0..end).collect(), share: left, is_last: false });
    }
    if gathered.nodes.iter().all(Node::ended) {
        all.push(Look { positions: (0..nodes).collect(), share: left, is_last: true });
    }
    all
}

/// Nodes that are set apart.
pub(super) struct Apart {
    /// Kinds at the end, by which everything is reported.
    pub(super) kinds: Option<Kinds>,
    /// Odd nodes of all looks.
    pub(super) odd: Vec<OddNode>,
    /// Kinds before the end, which are named alone.
    pub(super) named: Vec<String>,
}

/// Looks for kinds and odd nodes at each of their looks that is complete. What is found before the end is named and changes no verdict.
pub(super) fn apart(gathered: &Gathered, whole: &[Judged], lost_under: &[usize]) -> Apart {
    let mut apart = Apart { kinds: None, odd: Vec::new(), named: Vec::new() };
    for look in looks(gathered) {
        let of_look = if look.is_last { None } else { Some(group::judge(gathered, &look.positions, 1.0)) };
        let found = kinds::find(gathered, of_look.as_deref().unwrap_or(whole), &look);
        let kinds = found.map(|found| kinds::answered(gathered, found, lost_under));
        for odd in odd::find(gathered, kinds.as_ref(), &look) {
            let same = |known: &OddNode| {
                (known.position, known.odd_in, &known.metric, &known.setting)
                    == (odd.position, odd.odd_in, &odd.metric, &odd.setting)
            };
            apart.odd.retain(|known| !same(known));
            apart.odd.push(odd);
        }
        if look.is_last {
            apart.kinds = kinds;
        } else {
            // The latest is that of most nodes.
            let at = look.positions.len();
            apart.named = kinds.iter().map(|kinds| format!("at the first {at} nodes: {}", kinds.words)).collect();
        }
    }
    if apart.kinds.is_some() {
        apart.named.clear();
    }
    apart.odd.order_by_key(|node| (node.odd_in, node.position));
    apart
}
