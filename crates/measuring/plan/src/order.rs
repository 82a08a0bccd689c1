//! The order of turns.

/// Numbers 0 to `count` once per round, each round in its own random order.
///
/// Sources: randomised multiple interleaved trials, Abedi & Brecht,
/// doi:10.1145/3030207.3030229.
pub(crate) fn interleaved(count: usize, rounds: u32, seed: u64) -> Vec<(usize, u32)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order: Vec<usize> = (0..count).collect();
    let mut turns = Vec::with_capacity(count * rounds as usize);
    for round in 0..rounds {
        random.shuffle(&mut order);
        turns.extend(order.iter().map(|&number| (number, round)));
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_holds_everything_once() {
        let turns = interleaved(5, 4, 1);
        for round in 0..4 {
            let mut numbers: Vec<_> =
                turns.iter().filter(|turn| turn.1 == round).map(|turn| turn.0).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1, 2, 3, 4]);
        }
        assert!(turns.is_sorted_by_key(|turn| turn.1));
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(interleaved(9, 3, 42), interleaved(9, 3, 42));
        assert_ne!(interleaved(9, 3, 42), interleaved(9, 3, 43));
    }
}
