//! Threads that are not the user's own code: helpers of a language's runtime, and what only starts the program.

use howlate_analyse::{Analysis, Outcome};

use super::event_loops::event_loop_of;

/// Purpose of a thread that is not the program's own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HelperThread {
    /// Garbage collector, compiler and other threads of the Java virtual machine.
    Java,
    /// V8's compiler and collector threads, and the thread pool of libuv.
    Node,
    /// Threads of the common language runtime.
    DotNet,
    /// A shell that has become the program, or started it.
    Launcher,
}

impl HelperThread {
    /// Plural description of such threads.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Java => "of the Java virtual machine (garbage collector, compiler)",
            Self::Node => "of Node (V8's and libuv's)",
            Self::DotNet => "of the .NET runtime",
            Self::Launcher => "the launcher",
        }
    }

    /// The kind of helper; `None` for the program's own threads. `all`: the rows of the program.
    pub(super) fn of(outcome: &Outcome, all: &[&Outcome]) -> Option<Self> {
        let name = name(outcome);
        if begins_with(name, &JAVA) {
            return Some(Self::Java);
        }
        if name.starts_with(".NET ") && !name.starts_with(".NET TP Worker") {
            return Some(Self::DotNet);
        }
        // Unlike the runtime's threads, a worker that the user wrote has an event loop.
        if begins_with(name, &NODE)
            || (name == "node" && outcome.condition.thread > 0 && !has_a_loop(outcome, all))
        {
            return Some(Self::Node);
        }
        let became = |other: &&&Outcome| tid(other) == tid(outcome) && self::name(other) != name;
        let has_become = tid(outcome).is_some() && all.iter().any(|other| became(&other));
        (LAUNCHERS.contains(&name) && has_become).then_some(Self::Launcher)
    }
}

/// Whether a thread is not the user's code: a helper of its runtime, or the launcher. There is no advice for those.
pub(crate) fn is_helper(analysis: &Analysis, name: &str, id: Option<u32>) -> bool {
    let all: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let is_it = |outcome: &&&Outcome| {
        outcome.condition.name.as_deref() == Some(name) && (id.is_none() || tid(outcome) == id)
    };
    all.iter().filter(is_it).any(|outcome| HelperThread::of(outcome, &all).is_some())
}

/// Names of the threads of the Java virtual machine, cut to 15 letters as the kernel does.
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

/// Names of Node's threads in later versions.
///
/// Source: Node.js, `src/node_platform.cc`; libuv, `src/threadpool.c`.
const NODE: [&str; 6] =
    ["V8Worker", "DelayedTaskSche", "SignalInspector", "libuv-worker", "node-V8Worker", "node-libuv"];

const LAUNCHERS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "env", "pyenv", "(ended)"];

fn begins_with(name: &str, all: &[&str]) -> bool {
    all.iter().any(|prefix| name.starts_with(prefix))
}

fn name(outcome: &Outcome) -> &str {
    outcome.condition.name.as_deref().unwrap_or_default()
}

fn tid(outcome: &Outcome) -> Option<u32> {
    outcome.in_force.as_ref().map(|in_force| in_force.tid).filter(|tid| *tid != 0)
}

/// Whether any row of the thread has an event loop.
fn has_a_loop(outcome: &Outcome, all: &[&Outcome]) -> bool {
    let is_same =
        |other: &&Outcome| name(other) == name(outcome) && other.condition.thread == outcome.condition.thread;
    all.iter().copied().filter(is_same).any(|other| event_loop_of(other).is_some())
}
