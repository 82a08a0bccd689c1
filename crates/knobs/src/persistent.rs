//! How a knob is turned for good, in the ways that people use.

use howlate_model::{PermanentWay, Remedy, Snippet, shell_word};

use crate::change::Change;
use crate::writes::Writes;

/// A way to have a setting for good, as constants: what stands in a unit of systemd or in a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Text {
    /// By what, and the line.
    Line(&'static str, &'static str),
    /// Code that is offered elsewhere as well.
    Code(&'static Snippet),
}

/// Taking a line out again is the undo of all that is written into a program or a unit.
const TAKE_OUT: &str = "remove the line again";

impl Text {
    pub(crate) fn way(self) -> PermanentWay {
        let (by, apply) = match self {
            Self::Line(by, line) => (by, line.to_owned()),
            Self::Code(snippet) => (snippet.language.name(), snippet.one_line()),
        };
        PermanentWay { by, apply, undo: TAKE_OUT.to_owned() }
    }
}

/// What every knob of the same kind has.
pub(crate) fn ways(name: &str, change: &Change) -> Vec<PermanentWay> {
    match change {
        Change::Files(writes) => of_files(name, writes),
        Change::Boot(words) => vec![boot(words)],
        Change::Thread(_) | Change::Held { .. } => Vec::new(),
    }
}

/// Source: `sysctl.d(5)`, `tmpfiles.d(5)`; the latter writes to any file of `/sys` at each start.
fn of_files(name: &str, writes: &Writes) -> Vec<PermanentWay> {
    let file = format!("60-howlate-{}.conf", name.replace('_', "-"));
    let is_sysctl = writes.each.iter().all(|write| write.path.starts_with(SYSCTL));
    let (by, then) = match is_sysctl {
        true => ("sysctl.d", "sudo sysctl --system"),
        false => ("tmpfiles.d", "sudo systemd-tmpfiles --create"),
    };
    let target = format!("/etc/{by}/{file}");
    let line = |(path, value): &(String, String)| {
        shell_word(if is_sysctl { sysctl(path, value) } else { format!("w {path} - - - - {value}") })
    };
    let lines: Vec<String> = writes.patterns.iter().map(line).collect();
    let undo = [&[format!("sudo rm {target}")], &writes.remedy.undo[..]].concat().join(" && ");
    let apply = format!("printf '%s\\n' {} | sudo tee {target} && {then}", lines.join(" "));
    vec![PermanentWay { by, apply, undo }]
}

const SYSCTL: &str = "/proc/sys/";

fn sysctl(path: &str, value: &str) -> String {
    format!("{} = {value}", path.strip_prefix(SYSCTL).unwrap_or(path).replace('/', "."))
}

fn boot(words: &str) -> PermanentWay {
    let Remedy { apply, undo } = boot_remedy(words);
    PermanentWay { by: "boot", apply: apply.join("; "), undo: undo.join("; ") }
}

/// A change of the kernel's command line.
pub fn boot_remedy(words: &str) -> Remedy {
    Remedy {
        apply: vec![format!("add `{words}` to the kernel's command line and restart")],
        undo: vec![format!("remove `{words}` from the kernel's command line and restart")],
    }
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
            "printf '%s\\n' 'kernel.timer_migration = 0' | sudo tee \
             /etc/sysctl.d/60-howlate-timer-migration.conf && sudo sysctl --system"
        );
        assert!(sysctl.undo.ends_with("&& echo 1 | sudo tee /proc/sys/kernel/timer_migration"));
        let file = way(Writes::to_known_file("/sys/kernel/mm/ksm/run", "1", "2"));
        assert!(file.apply.contains("'w /sys/kernel/mm/ksm/run - - - - 2'"), "{}", file.apply);
    }

    #[test]
    fn a_parameter_is_added_and_removed() {
        let way = ways("threadirqs", &Change::Boot("threadirqs".into())).remove(0);
        assert!(way.apply.starts_with("add `threadirqs`") && way.undo.starts_with("remove `threadirqs`"));
    }
}
