//! The same for many nodes, some at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does the same for each node, so many at once; in the order of nodes.
pub(crate) fn each<T: Send>(at_once: usize, nodes: &[usize], one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(node) = nodes.get(place) else { break };
            let result = one(*node);
            if let Ok(mut done) = done.lock() {
                done.push((place, result));
            }
        }
    };
    thread::scope(|scope| {
        (0..at_once.min(nodes.len()).max(1)).for_each(|_| drop(scope.spawn(work)));
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_nodes() {
        for at_once in [1, 3, 100] {
            assert_eq!(each(at_once, &[5, 3, 9, 3], |node| node * 2), [10, 6, 18, 6]);
        }
        assert!(each(4, &[], |node| node).is_empty());
    }
}
