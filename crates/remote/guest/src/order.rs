//! In which order guests are booted.

/// Indices of `kinds` things, each `times`, counterbalanced: A B B A A B ….
///
/// A drift of the host that goes on at an even pace hits all alike after every even number of
/// rounds.
pub fn counterbalanced(kinds: usize, times: u32) -> Vec<usize> {
    let one_way = |round: u32| -> Vec<usize> {
        if round.is_multiple_of(2) { (0..kinds).collect() } else { (0..kinds).rev().collect() }
    };
    (0..times).flat_map(one_way).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_equally_often_and_equally_late() {
        assert_eq!(counterbalanced(2, 2), [0, 1, 1, 0]);
        assert_eq!(counterbalanced(3, 2), [0, 1, 2, 2, 1, 0]);
        assert_eq!(counterbalanced(1, 3), [0, 0, 0]);
        let order = counterbalanced(4, 6);
        let places = |kind| -> usize {
            order.iter().enumerate().filter(|(_, item)| **item == kind).map(|(place, _)| place).sum()
        };
        assert!((0..4).all(|kind| places(kind) == places(0)));
    }
}
