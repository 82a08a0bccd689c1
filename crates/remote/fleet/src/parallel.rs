//! Work for many nodes in parallel.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls `work` for each node, `at_once` in parallel; results in the order of nodes.
pub(crate) fn for_each_node<T: Send>(
    at_once: usize,
    nodes: &[usize],
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(node) = nodes.get(place) else { break };
            let result = work(*node);
            if let Ok(mut done) = done.lock() {
                done.push((place, result));
            }
        }
    };
    thread::scope(|scope| {
        (0..at_once.min(nodes.len()).max(1)).for_each(|_| drop(scope.spawn(worker)));
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
            assert_eq!(for_each_node(at_once, &[5, 3, 9, 3], |node| node * 2), [10, 6, 18, 6]);
        }
        assert!(for_each_node(4, &[], |node| node).is_empty());
    }
}
