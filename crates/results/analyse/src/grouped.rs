//! Grouping by key, in order of first appearance.

use std::collections::HashMap;
use std::hash::Hash;

/// Groups items by key: groups in the order of their first items, the items of each in theirs.
pub fn grouped<Key: Eq + Hash, Item>(items: impl Iterator<Item = (Key, Item)>) -> Vec<Vec<Item>> {
    let (mut groups, mut places) = (Vec::<Vec<Item>>::new(), HashMap::new());
    for (key, item) in items {
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_what_is_in_them_keep_their_order() {
        let items = [("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)];
        assert_eq!(grouped(items.into_iter()), [vec![1, 3], vec![2, 5], vec![4]]);
    }
}
