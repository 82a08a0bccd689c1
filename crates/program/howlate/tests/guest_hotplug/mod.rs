//! A CPU goes offline and comes back during a measurement: in a guest, whose CPU is its own.

use crate::guest_init::console;
use crate::guests;

/// A command, and what to expect of it.
struct HotplugCase {
    name: &'static str,
    /// Its output or recording contains this once it has started; `-`: it prints nothing then.
    ready_text: &'static str,
    /// Its result contains this; `-`: nothing to report.
    says: &'static str,
    status: u8,
    arguments: &'static str,
}

const fn measures(name: &'static str, arguments: &'static str) -> HotplugCase {
    HotplugCase { name, ready_text: "\"block\"", says: "but may run on", status: 3, arguments }
}

/// Commands that follow all CPUs report nothing, and go on.
const fn follows(name: &'static str, ready_text: &'static str, arguments: &'static str) -> HotplugCase {
    HotplugCase { name, ready_text, says: "-", status: 0, arguments }
}

const ROWS: [HotplugCase; 10] = [
    measures("cyclic", "cyclic --cpus 0-1 --duration 1h -q --out /tmp/out"),
    measures("plan", "run /plan.toml -q --out /tmp/out"),
    measures("sleep", "sleep --cpus 1 --for 1ms --duration 1h -q --out /tmp/out"),
    measures("notify", "notify --pair 0,1 --mechanism futex --after 1ms --duration 1h -q --out /tmp/out"),
    measures("load", "cyclic --cpus 1 --load cpu -q --duration 1h --out /tmp/out"),
    HotplugCase {
        name: "gaps",
        ready_text: "-",
        says: "did not stay there",
        status: 3,
        arguments: "gaps --cpus 0-1 --duration 8s --quiet",
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

/// What `/commands` has in the guest.
fn commands() -> String {
    let line = |row: &HotplugCase| {
        [&[row.name, row.ready_text, row.says][..], &row.arguments.split(' ').collect::<Vec<_>>()]
            .concat()
            .join("\t")
            + "\n"
    };
    ROWS.iter().map(line).collect()
}

#[test]
fn a_cpu_that_goes_offline_is_told_of_and_nothing_hangs() {
    let Some(_permit) = guests() else { return };
    let commands = commands();
    let files = [("/plan.toml", PLAN.as_bytes()), ("/commands", commands.as_bytes())];
    let Some(message) = console("debian:standard", "guest_hotplug/init.c", &files) else { return };
    for HotplugCase { name, status, .. } in ROWS {
        let expected = format!("{name}: CPU off and on, ended with {status}, told");
        assert!(message.lines().any(|line| line.trim() == expected), "{name}: {message}");
    }
    assert!(message.contains("setting: 1"), "{message}");
}
