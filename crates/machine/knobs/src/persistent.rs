//! How a knob is turned for good, in the ways that people use.

use howlate_model::{PermanentSetting, Remedy, Snippet, shell_word};

use crate::change::Change;
use crate::writes::Writes;

/// A way to have a setting for good, as constants: what stands in a unit of systemd or in a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Text {
    /// By what, and the line, for the thread that runs it or for a process, whichever the setting is of.
    Line(&'static str, &'static str),
    /// Code that is offered elsewhere as well.
    Code(&'static Snippet),
    /// A line by which every thread of a program has it.
    OfProgram(&'static str, &'static str),
    /// Code by which each thread that runs it has it, and those that it starts.
    CodeOfProgram(&'static Snippet),
    /// A line by which one thread alone has it; [`TID`] stands for its id.
    OfThread(&'static str, &'static str),
    /// Code by which the thread alone has it that runs it.
    CodeOfThread(&'static Snippet),
}

/// Where the id of a thread is to stand.
const TID: &str = "TID";

/// Where the number of the CPU is to stand that was tried.
pub(crate) const CPU: &str = "@CPU";

/// More ids than this are not listed.
const MOST_IDS: usize = 8;

/// Whom a setting was tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// All threads of a program, or one of howlate's own.
    Program,
    /// Some threads of a program: their ids, where they are there to stay.
    Threads(&'a [u32]),
}

/// Taking a line out again is the undo of all that is written into a program or a unit.
const TAKE_OUT: &str = "remove the line again";

impl Text {
    /// `None` where it would set other threads than those that it was tried on, or not all of them.
    pub(crate) fn way(self, whose: Whose<'_>) -> Option<PermanentSetting> {
        let is_of_program = whose == Whose::Program;
        let (by, apply) = match (self, whose) {
            (Self::Line(by, line), _) => (by, line.to_owned()),
            (Self::Code(snippet), _) => (snippet.language.name(), snippet.one_line()),
            (Self::OfProgram(by, line), _) if is_of_program => (by, line.to_owned()),
            (Self::CodeOfProgram(snippet), _) if is_of_program => {
                (snippet.language.name(), snippet.one_line())
            }
            (Self::OfThread(by, line), Whose::Threads(ids)) => (by, with_ids(line, ids)),
            (Self::CodeOfThread(snippet), Whose::Threads(_)) => (snippet.language.name(), snippet.one_line()),
            _ => return None,
        };
        Some(PermanentSetting { by, apply, undo: TAKE_OUT.to_owned() })
    }
}

/// The line for these threads.
fn with_ids(line: &str, ids: &[u32]) -> String {
    match ids {
        _ if !line.contains(TID) => line.to_owned(),
        [] => format!("{line}   # TID: its id, from `ps -eL`"),
        [one] => line.replace(TID, &one.to_string()),
        few if few.len() <= MOST_IDS => {
            let ids = few.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            format!("for tid in {ids}; do {}; done", line.replace(TID, "$tid"))
        }
        _ => format!("{line}   # for each of them; TID: its id, from `ps -eL`"),
    }
}

/// What every knob of the same kind has.
pub(crate) fn ways(name: &str, change: &Change) -> Vec<PermanentSetting> {
    match change {
        Change::Files(writes) => vec![of_files(name, writes)],
        Change::Boot(remedy) => vec![boot(remedy)],
        Change::Thread(_) | Change::Held { .. } => Vec::new(),
    }
}

/// Source: `sysctl.d(5)`, `tmpfiles.d(5)`; the latter writes to any file of `/sys` at each start.
pub(crate) fn of_files(name: &str, writes: &Writes) -> PermanentSetting {
    let file = format!("60-howlate-{}.conf", name.replace('_', "-"));
    let is_sysctl = writes.each.iter().all(|write| write.path.starts_with(SYSCTL));
    let (by, then) = match is_sysctl {
        true => ("sysctl.d", "sudo sysctl --system"),
        false => ("tmpfiles.d", "sudo systemd-tmpfiles --create"),
    };
    let target = format!("/etc/{by}/{file}");
    let undo = [&[format!("sudo rm {target}")], &writes.remedy.undo[..]].concat().join(" && ");
    let apply = format!("{} | sudo tee {target} && {then}", printed(&writes.patterns, is_sysctl));
    PermanentSetting { by, apply, undo }
}

/// A command that prints a line for each file, which can be broken at every blank outside of its format.
fn printed(patterns: &[(String, String)], is_sysctl: bool) -> String {
    let line = |(path, value): &(String, String)| match is_sysctl {
        true => sysctl(path, value),
        false => format!("w {path} - - - - {value}"),
    };
    match patterns {
        [one] if is_sysctl => format!("echo {}", line(one)),
        [(_, value), ..] if !is_sysctl && patterns.iter().all(|(_, other)| other == value) => {
            let paths = patterns.iter().map(|(path, _)| path.replace('*', "\\*"));
            format!("printf 'w %s - - - - {value}\\n' {}", paths.collect::<Vec<_>>().join(" "))
        }
        _ => {
            let lines = patterns.iter().map(|one| shell_word(line(one)));
            format!("printf '%s\\n' {}", lines.collect::<Vec<_>>().join(" "))
        }
    }
}

const SYSCTL: &str = "/proc/sys/";

fn sysctl(path: &str, value: &str) -> String {
    format!("{} = {value}", path.strip_prefix(SYSCTL).unwrap_or(path).replace('/', "."))
}

fn boot(remedy: &Remedy) -> PermanentSetting {
    PermanentSetting { by: "boot", apply: remedy.apply.join("; "), undo: remedy.undo.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sysctl_goes_to_sysctl_d_and_the_rest_to_tmpfiles_d() {
        let way = |write| ways("timer_migration", &Change::Files(write)).remove(0);
        let sysctl = way(Writes::to_known_file("/proc/sys/kernel/timer_migration", "1", "0"));
        assert_eq!(sysctl.by, "sysctl.d");
        assert_eq!(
            sysctl.apply,
            "echo kernel.timer_migration = 0 | sudo tee \
             /etc/sysctl.d/60-howlate-timer-migration.conf && sudo sysctl --system"
        );
        assert!(sysctl.undo.ends_with("&& echo 1 | sudo tee /proc/sys/kernel/timer_migration"));
        let file = way(Writes::to_known_file("/sys/kernel/mm/ksm/run", "1", "2"));
        let printed = "printf 'w %s - - - - 2\\n' /sys/kernel/mm/ksm/run | sudo tee ";
        assert!(file.apply.starts_with(printed), "{}", file.apply);
    }

    #[test]
    fn each_thread_is_named_by_its_id() {
        let line = "chrt --fifo -p 80 TID";
        assert_eq!(with_ids(line, &[7]), "chrt --fifo -p 80 7");
        assert_eq!(with_ids(line, &[7, 9]), "for tid in 7 9; do chrt --fifo -p 80 $tid; done");
        assert!(with_ids(line, &[]).ends_with("from `ps -eL`") && with_ids(line, &[3; 9]).contains("each"));
        assert_eq!(with_ids("f(0);", &[7, 9]), "f(0);");
    }
}
