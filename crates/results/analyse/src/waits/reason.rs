//! The reason of a wait, from the functions of the kernel on the thread's stack.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::functions::{FAULTS, FUNCTIONS, KERNEL_THREADS, SCHEDULING};
use super::kind::WaitKind;

/// What a thread waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitReason {
    pub kind: WaitKind,
    /// What the thread was doing; the name of the function if the table does not list it.
    pub at: String,
}

/// The table by name.
static BY_NAME: LazyLock<HashMap<&str, (WaitKind, &str)>> =
    LazyLock::new(|| FUNCTIONS.iter().map(|(name, kind, at)| (*name, (*kind, *at))).collect());

impl WaitReason {
    /// A reason without a place in the kernel.
    pub fn from_kind(kind: WaitKind) -> Self {
        Self { kind, at: String::new() }
    }

    /// Reads the functions of a stack, the innermost first. The innermost one in the table gives the kind, the outermost one of that kind
    /// what the thread was doing.
    pub fn from_stack(functions: &[String]) -> Self {
        let inside = waiting_part(functions);
        if is_main_loop(inside) {
            return Self { kind: WaitKind::Idle, at: "without work".to_owned() };
        }
        let listed: Vec<(WaitKind, &str)> =
            inside.iter().filter_map(|name| BY_NAME.get(name.as_str())).copied().collect();
        let Some((kind, _)) = listed.first().copied() else { return Self::unknown(inside) };
        let faults = kind == WaitKind::Disk && inside.iter().any(|name| FAULTS.contains(&name.as_str()));
        let kind = if faults { WaitKind::PageFault } else { kind };
        let is_of_kind = |(row_kind, _): &&(WaitKind, &str)| *row_kind == kind;
        // For a page fault, the function nearest to the page says most.
        let at = match kind {
            WaitKind::PageFault => listed.iter().find(is_of_kind),
            _ => listed.iter().rev().find(is_of_kind),
        };
        Self { kind, at: at.map_or("a page fault", |(_, at)| *at).to_owned() }
    }

    /// The reason for a stack without a function of the table: named by its innermost function.
    fn unknown(inside: &[String]) -> Self {
        match inside.first() {
            Some(name) => Self { kind: WaitKind::Other, at: name.clone() },
            None => Self::from_kind(WaitKind::NotSeen),
        }
    }
}

/// A stack without the tracer's own functions, which read it as the thread left its CPU.
pub(super) fn without_tracer(functions: &[String]) -> &[String] {
    let begin = functions.iter().take(8).position(|name| name == "__schedule").unwrap_or(0);
    &functions[begin..]
}

/// The part of a stack that waits: without the scheduler.
fn waiting_part(functions: &[String]) -> &[String] {
    let inside = without_tracer(functions);
    let begins = inside.iter().position(|name| !SCHEDULING.contains(&name.as_str())).unwrap_or(inside.len());
    &inside[begins..]
}

/// Whether a thread of the kernel waits in its outermost function: then it has nothing to do.
fn is_main_loop(inside: &[String]) -> bool {
    let [_, rest @ ..] = inside else { return false };
    !rest.is_empty() && rest.iter().all(|name| KERNEL_THREADS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stacks as Linux 6.18 and 6.1 had them, the innermost function first.
    fn at(stack: &str) -> (WaitKind, String) {
        let functions: Vec<String> = stack.split_whitespace().map(str::to_owned).collect();
        let WaitReason { kind, at } = WaitReason::from_stack(&functions);
        (kind, at)
    }

    fn check(stack: &str, kind: WaitKind, what: &str) {
        assert_eq!(at(stack), (kind, what.to_owned()), "{stack}");
    }

    #[test]
    fn each_function_stands_once_in_the_table() {
        assert_eq!(BY_NAME.len(), FUNCTIONS.len());
        assert!(FUNCTIONS.iter().all(|(name, ..)| !SCHEDULING.contains(name)));
    }

    #[test]
    fn a_function_that_nobody_knows_is_told_as_it_is() {
        check("schedule_timeout strange_wait vfs_ioctl do_syscall_64", WaitKind::Other, "strange_wait");
        check("__schedule schedule", WaitKind::NotSeen, "");
        check("", WaitKind::NotSeen, "");
    }

    #[test]
    fn a_file_read_by_a_page_fault_is_a_page_fault() {
        let inside = "__schedule schedule io_schedule folio_wait_bit_common filemap_fault __do_fault";
        check(
            &format!("{inside} do_fault __handle_mm_fault handle_mm_fault exc_page_fault asm_exc_page_fault"),
            WaitKind::PageFault,
            "a page of a mapped file",
        );
        let read = "io_schedule folio_wait_bit_common filemap_get_pages filemap_read vfs_read do_syscall_64";
        check(read, WaitKind::Disk, "reading a file");
    }

    #[test]
    fn a_thread_of_the_kernel_in_its_own_loop_has_nothing_to_do() {
        check(
            "__schedule schedule ubi_thread kthread ret_from_fork ret_from_fork_asm",
            WaitKind::Idle,
            "without work",
        );
        check("__schedule schedule worker_thread kthread ret_from_fork", WaitKind::Idle, "without work");
        check(
            "__schedule schedule __wait_rcu_gp synchronize_rcu cleanup_work process_one_work worker_thread kthread ret_from_fork",
            WaitKind::Kernel,
            "a grace period of RCU",
        );
        check("schedule kthread", WaitKind::Other, "kthread");
    }
}
