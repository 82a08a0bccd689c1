//! A CPU is taken offline, and comes back, while howlate measures: in a guest, whose CPU is nobody else's.

use std::path::{Path, PathBuf};

use crate::common::stderr;
use crate::guest_init::first_process;
use crate::{cannot_fetch, guest, guests};

/// A command, and what is to be seen of it.
struct Row {
    name: &'static str,
    /// It has printed or recorded this when it has begun; `-`: it says nothing then.
    begun: &'static str,
    /// Its result says this; `-`: there is nothing to say.
    says: &'static str,
    status: u8,
    words: &'static str,
}

const fn measures(name: &'static str, words: &'static str) -> Row {
    Row { name, begun: "\"block\"", says: "but may run on", status: 3, words }
}

/// What follows all CPUs has nothing to say, and goes on.
const fn follows(name: &'static str, begun: &'static str, words: &'static str) -> Row {
    Row { name, begun, says: "-", status: 0, words }
}

const ROWS: [Row; 10] = [
    measures("cyclic", "cyclic --cpus 0-1 --duration 1h -q --out /tmp/out"),
    measures("plan", "run /plan.toml -q --out /tmp/out"),
    measures("sleep", "sleep --cpus 1 --for 1ms --duration 1h -q --out /tmp/out"),
    measures("notify", "notify --pair 0,1 --by futex --after 1ms --duration 1h -q --out /tmp/out"),
    measures("load", "cyclic --cpus 1 --load cpu -q --duration 1h --out /tmp/out"),
    Row {
        name: "gaps",
        begun: "-",
        says: "did not stay there",
        status: 3,
        words: "gaps --cpus 0-1 --duration 8s --quiet",
    },
    follows(
        "watch",
        "\"block\"",
        "watch -q --out /tmp/out -- /howlate cyclic -q --cpus 1 --duration 1h --no-save",
    ),
    follows("top", "processes", "top --json --interval 200ms"),
    follows("record", "howlate show", "record --out /tmp/kept"),
    follows("serve", "page", "serve --listen 127.0.0.1:0 --process 1"),
];

const PLAN: &str = "[system]\nvm.stat_interval = 7\n[[cyclic]]\ncpus = \"0-1\"\nduration = \"1h\"\n";

/// The first process of the guest; `None`, with the reason said, where it cannot be built.
fn init(folder: &Path) -> Option<PathBuf> {
    let line = |row: &Row| {
        [&[row.name, row.begun, row.says][..], &row.words.split(' ').collect::<Vec<_>>()].concat().join("\t")
            + "\n"
    };
    let commands: String = ROWS.iter().map(line).collect();
    let files = [("/plan.toml", PLAN.as_bytes()), ("/commands", commands.as_bytes())];
    first_process(folder, "guest_hotplug/init.c", &files)
}

#[test]
fn a_cpu_that_goes_offline_is_told_of_and_nothing_hangs() {
    let Some(_turn) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = init(folder.path()) else { return };
    let options = [
        "--kernel",
        "debian:standard",
        "--memory",
        "1G",
        "--boot-deadline",
        "20m",
        "--program",
        program.to_str().unwrap(),
    ];
    // As for what traces: older emulators may keep a breakpoint of the kernel's for ever otherwise.
    let output = guest(&options, &["cyclic", "--samples", "1", "--why"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    // It is no howlate, so it sends no recording; what it found stands on its console.
    let said = stderr(&output);
    for Row { name, status, .. } in ROWS {
        let wanted = format!("{name}: CPU off and on, ended with {status}, told");
        assert!(said.lines().any(|line| line.trim() == wanted), "{name}: {said}");
    }
    assert!(said.contains("setting: 1"), "{said}");
}
