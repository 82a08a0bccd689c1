//! `/proc/PID`: threads, children and descendants of a process.

use crate::Root;

/// Thread ids of a process; empty when it has ended.
pub fn threads(root: &Root, pid: u32) -> Vec<u32> {
    root.list(&format!("/proc/{pid}/task")).iter().filter_map(|name| name.parse().ok()).collect()
}

/// Child processes of `pid`; empty as well without `CONFIG_PROC_CHILDREN`.
///
/// Source: <https://man7.org/linux/man-pages/man5/proc_tid_children.5.html>
pub fn children(root: &Root, pid: u32) -> Vec<u32> {
    let file = |tid: u32| root.read(&format!("/proc/{pid}/task/{tid}/children"));
    let lists = threads(root, pid).into_iter().filter_map(|tid| file(tid).ok());
    let numbers = |list: String| list.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    lists.flat_map::<Vec<u32>, _>(numbers).collect()
}

/// All descendants of `pid`.
pub fn descendants(root: &Root, pid: u32) -> Vec<u32> {
    let mut found = children(root, pid);
    let mut visited = 0;
    while let Some(next) = found.get(visited).copied() {
        visited += 1;
        found.extend(children(root, next));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn descendants_are_children_of_all_threads_recursively() {
        let (_folder, root) = tree(&[
            ("/proc/7/task/7/children", "20 21 \n"),
            ("/proc/7/task/8/children", "22"),
            ("/proc/21/task/21/children", "30"),
        ]);
        assert_eq!(threads(&root, 7), [7, 8]);
        assert_eq!(children(&root, 7), [20, 21, 22]);
        assert_eq!(descendants(&root, 7), [20, 21, 22, 30]);
        assert!(descendants(&root, 99).is_empty());
    }
}
