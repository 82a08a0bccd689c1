//! Ways to make a setting permanent.

use howlate_model::{PermanentSetting, Remedy, Snippet, shell_word};

use crate::settings::change::Change;
use crate::settings::writes::Writes;

/// A line of a systemd unit or of a program that makes a setting permanent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PermanentText {
    /// Language or tool, and the line; for a thread or a process, according to the setting.
    Line(&'static str, &'static str),
    /// A code snippet that other reports show as well.
    Code(&'static Snippet),
    /// Affects every thread of a program.
    ProgramLine(&'static str, &'static str),
    /// Affects the calling thread and the threads it starts.
    ProgramCode(&'static Snippet),
    /// Affects one thread; contains [`TID`].
    ThreadLine(&'static str, &'static str),
    /// Affects the calling thread alone.
    ThreadCode(&'static Snippet),
}

/// Placeholder for a thread id.
const TID: &str = "TID";

/// Placeholder for the CPU that was tried.
pub(crate) const CPU: &str = "@CPU";

/// More thread ids than this are not listed.
const MOST_IDS: usize = 8;

/// The threads on which a setting was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliesTo<'a> {
    /// All threads of a program, or one of howlate's own.
    Program,
    /// Some threads of a program: the ids of those that live on.
    Threads(&'a [u32]),
}

/// Undo of every line in a program or a unit.
const REMOVE_LINE: &str = "remove the line again";

impl PermanentText {
    /// `None` where the line would affect other threads than those on which the setting was tried, or not all of them.
    pub(crate) fn way(self, applies_to: AppliesTo<'_>) -> Option<PermanentSetting> {
        let whole_program = applies_to == AppliesTo::Program;
        let (by, apply) = match (self, applies_to) {
            (Self::Line(by, line), _) => (by, line.to_owned()),
            (Self::Code(snippet), _) => (snippet.language.name(), snippet.one_line()),
            (Self::ProgramLine(by, line), _) if whole_program => (by, line.to_owned()),
            (Self::ProgramCode(snippet), _) if whole_program => (snippet.language.name(), snippet.one_line()),
            (Self::ThreadLine(by, line), AppliesTo::Threads(ids)) => (by, with_ids(line, ids)),
            (Self::ThreadCode(snippet), AppliesTo::Threads(_)) => {
                (snippet.language.name(), snippet.one_line())
            }
            _ => return None,
        };
        Some(PermanentSetting { by, apply, undo: REMOVE_LINE.to_owned() })
    }
}

/// Replaces [`TID`] by the thread ids.
fn with_ids(line: &str, ids: &[u32]) -> String {
    match ids {
        _ if !line.contains(TID) => line.to_owned(),
        [] => format!("{line}   # TID: its id, from `ps -eL`"),
        [id] => line.replace(TID, &id.to_string()),
        ids if ids.len() <= MOST_IDS => {
            let ids = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            format!("for tid in {ids}; do {}; done", line.replace(TID, "$tid"))
        }
        _ => format!("{line}   # for each of them; TID: its id, from `ps -eL`"),
    }
}

/// The ways that follow from the kind of change.
pub(crate) fn ways(name: &str, change: &Change) -> Vec<PermanentSetting> {
    match change {
        Change::Files(writes) => vec![of_files(name, writes)],
        Change::Boot(remedy) => vec![boot(remedy)],
        Change::Thread(_) | Change::Held { .. } => Vec::new(),
    }
}

/// Source: `sysctl.d(5)`; `tmpfiles.d(5)`, which can write to any file of `/sys` at boot.
pub(crate) fn of_files(name: &str, writes: &Writes) -> PermanentSetting {
    let file = format!("60-howlate-{}.conf", name.replace('_', "-"));
    let is_sysctl = writes.files.iter().all(|write| write.path.starts_with(SYSCTL));
    let (by, then) = match is_sysctl {
        true => ("sysctl.d", "sudo sysctl --system"),
        false => ("tmpfiles.d", "sudo systemd-tmpfiles --create"),
    };
    let target = format!("/etc/{by}/{file}");
    let undo = [&[format!("sudo rm {target}")], &writes.remedy.undo[..]].concat().join(" && ");
    let apply = format!("{} | sudo tee {target} && {then}", print_command(&writes.patterns, is_sysctl));
    PermanentSetting { by, apply, undo }
}

/// A command that prints one line per file, and can be wrapped at every blank outside its format string.
fn print_command(patterns: &[(String, String)], is_sysctl: bool) -> String {
    let line = |(path, value): &(String, String)| match is_sysctl {
        true => sysctl(path, value),
        false => format!("w {path} - - - - {value}"),
    };
    match patterns {
        [write] if is_sysctl => format!("echo {}", line(write)),
        [(_, value), ..] if !is_sysctl && patterns.iter().all(|(_, next)| next == value) => {
            let paths = patterns.iter().map(|(path, _)| path.replace('*', "\\*"));
            format!("printf 'w %s - - - - {value}\\n' {}", paths.collect::<Vec<_>>().join(" "))
        }
        _ => {
            let lines = patterns.iter().map(|write| shell_word(line(write)));
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
