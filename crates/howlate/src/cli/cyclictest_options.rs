//! Options of cyclictest that people type for `cyclic`, and what they are called here.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// cyclictest's names of an option, and what to type instead.
const OPTIONS: [(&[&str], &str); 11] = [
    (&["-p", "--priority", "--prio"], "`-p 80` is `--policy fifo:80`"),
    (&["-i", "--interval"], "`-i 1000` is `--period 1000us`"),
    (&["-t"], "`-t 4` is `--threads 4`; one for each CPU is what is measured anyway"),
    (&["-l", "--loops"], "`-l 100000` is `--samples 100000`"),
    (&["-D"], "`-D 1m` is `--duration 1m`"),
    (&["-a", "--affinity"], "`-a 2-3` is `--cpus 2-3`"),
    (&["-S", "--smp"], "one thread for each CPU, bound to it, is what is measured anyway"),
    (&["-m", "--mlockall"], "leave it out: memory is locked where that is permitted"),
    (&["-b", "--breaktrace"], "`-b 100` is `--stop-above 100us`"),
    (&["-d"], "`-d 500` is `--distance 500us`"),
    (&["-H", "--histogram", "--histfile"], "the whole histogram is kept: `howlate show --plot`"),
];

/// The hint for an option of cyclictest's that `cyclic` refused; `None` for others.
pub(crate) fn hint(refused: &Error, command: &str) -> Option<String> {
    if command != "cyclic" || refused.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(typed)) = refused.get(ContextKind::InvalidArg) else { return None };
    let (_, instead) = OPTIONS.iter().find(|(names, _)| names.contains(&typed.as_str()))?;
    Some(format!("{instead}; or type `howlate cyclictest …` with all of cyclictest's options"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn hint_for(line: &str) -> Option<String> {
        let refused = Cli::try_parse_from(line.split(' ')).err().unwrap();
        hint(&refused, line.split(' ').nth(1).unwrap())
    }

    #[test]
    fn every_option_of_cyclictests_leads_to_ours() {
        for (names, instead) in OPTIONS {
            for name in names {
                let hint = hint_for(&format!("howlate cyclic {name} 80"));
                assert!(hint.is_some_and(|hint| hint.starts_with(instead)), "{name}");
            }
        }
        assert_eq!(hint_for("howlate cyclic --banana"), None);
        assert_eq!(hint_for("howlate sleep -p"), None, "that is no cyclictest");
    }
}
