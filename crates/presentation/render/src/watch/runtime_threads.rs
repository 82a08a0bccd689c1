//! Threads that are not the user's own code: helpers of a language's runtime, and what only starts the program.

use howlate_analyse::{Analysis, Outcome};

use super::event_loops::event_loop_of;

/// What a thread is for, where that is not the program's own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Helper {
    /// Collects garbage, compiles, or looks after the virtual machine.
    Java,
    /// Compiles and collects for V8, or does what libuv leaves to other threads.
    Node,
    /// Looks after the common language runtime.
    DotNet,
    /// A shell that has become the program, or starts it.
    Launcher,
}

impl Helper {
    /// What such threads are, for people.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Java => "of the Java virtual machine (garbage collector, compiler)",
            Self::Node => "of Node (V8's and libuv's)",
            Self::DotNet => "of the .NET runtime",
            Self::Launcher => "the launcher",
        }
    }

    /// What a thread of a program is, the other threads of which are `all`.
    pub(super) fn of(one: &Outcome, all: &[&Outcome]) -> Option<Self> {
        let name = name(one);
        if begins_with(name, &JAVA) {
            return Some(Self::Java);
        }
        if name.starts_with(".NET ") && !name.starts_with(".NET TP Worker") {
            return Some(Self::DotNet);
        }
        // A worker that somebody wrote has an event loop of its own.
        if begins_with(name, &NODE) || (name == "node" && one.condition.thread > 0 && !has_a_loop(one, all)) {
            return Some(Self::Node);
        }
        let became = |other: &&&Outcome| tid(other) == tid(one) && self::name(other) != name;
        let has_become = tid(one).is_some() && all.iter().any(|other| became(&other));
        (LAUNCHERS.contains(&name) && has_become).then_some(Self::Launcher)
    }
}

/// Whether a thread is no code of the user's: a helper of its runtime, or what only starts the program. Nothing is advised for those.
pub(crate) fn is_helper(analysis: &Analysis, name: &str, id: Option<u32>) -> bool {
    let all: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let is_it =
        |one: &&&Outcome| one.condition.name.as_deref() == Some(name) && (id.is_none() || tid(one) == id);
    all.iter().filter(is_it).any(|one| Helper::of(one, &all).is_some())
}

/// How Java's virtual machine calls its threads; the kernel keeps 15 letters.
///
/// Source: OpenJDK, `src/hotspot/share/` (`set_name`, `ConcurrentGCThread`, `CompilerThread`).
const JAVA: [&str; 24] = [
    "GC Thread#",
    "G1 ",
    "VM Thread",
    "VM Periodic Tas",
    "C1 CompilerThre",
    "C2 CompilerThre",
    "JVMCI ",
    "Reference Handl",
    "Finalizer",
    "Signal Dispatch",
    "Service Thread",
    "Monitor Deflati",
    "Sweeper thread",
    "Common-Cleaner",
    "Notification Th",
    "Attach Listener",
    "ZDirector",
    "ZDriver",
    "ZWorker",
    "ZStat",
    "ZUncommitter",
    "ZUnmapper",
    "Shenandoah",
    "ParGC Thread#",
];

/// What later versions of Node call theirs.
///
/// Source: Node.js, `src/node_platform.cc`; libuv, `src/threadpool.c`.
const NODE: [&str; 6] =
    ["V8Worker", "DelayedTaskSche", "SignalInspector", "libuv-worker", "node-V8Worker", "node-libuv"];

const LAUNCHERS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "env", "pyenv", "(ended)"];

fn begins_with(name: &str, all: &[&str]) -> bool {
    all.iter().any(|known| name.starts_with(known))
}

fn name(one: &Outcome) -> &str {
    one.condition.name.as_deref().unwrap_or_default()
}

fn tid(one: &Outcome) -> Option<u32> {
    one.in_force.as_ref().map(|in_force| in_force.tid).filter(|tid| *tid != 0)
}

/// Whether the thread comes back to a wait for events, however it is woken.
fn has_a_loop(one: &Outcome, all: &[&Outcome]) -> bool {
    let is_same =
        |other: &&Outcome| name(other) == name(one) && other.condition.thread == one.condition.thread;
    all.iter().copied().filter(is_same).any(|other| event_loop_of(other).is_some())
}
