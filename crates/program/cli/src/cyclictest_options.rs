//! Hints for cyclictest's options typed with `howlate cyclic`.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Error, Parser};
use howlate_model::shell_word;
use howlate_rt_tests::cyclictest::{as_cyclic, option_hint};

use super::Cli;

/// The hint for an option of cyclictest that `cyclic` refused: the whole line translated if possible; `None` for other options.
pub(crate) fn hint(refused: &Error, arguments: &[String]) -> Option<String> {
    if arguments.get(1).is_none_or(|command| command != "cyclic")
        || refused.kind() != ErrorKind::UnknownArgument
    {
        return None;
    }
    let Some(ContextValue::String(option)) = refused.get(ContextKind::InvalidArg) else { return None };
    let instead = option_hint(option)?;
    let whole = as_cyclic(&arguments[2..]).filter(|line| Cli::try_parse_from(line).is_ok());
    let line = whole.map(|line| format!("`{}`", line.iter().map(shell_word).collect::<Vec<_>>().join(" ")));
    let instead = line.as_deref().unwrap_or(instead);
    Some(format!("{instead}; or type `howlate cyclictest …` with all of cyclictest's options"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint_for(line: &str) -> Option<String> {
        let refused = Cli::try_parse_from(line.split(' ')).err().unwrap();
        hint(&refused, &line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn an_option_of_cyclictests_leads_to_ours() {
        let hint = hint_for("howlate cyclic -H 80 --banana");
        assert!(hint.is_some_and(|hint| hint.starts_with("the whole histogram is kept")));
        assert_eq!(hint_for("howlate cyclic --banana"), None);
        assert_eq!(hint_for("howlate sleep -p"), None, "that is no cyclictest");
    }

    #[test]
    fn a_whole_line_of_cyclictests_becomes_one_of_ours() {
        for (cyclictest, howlate) in [
            ("-p 80 -i 1000 -t 2 -D 5", "--policy fifo:80 --period 1ms --threads 2 --duration 5s"),
            ("-p80 -S -m -D 1m -a 0-1", "--policy fifo:80 --duration 1m --cpus 0-1"),
            ("--priority=80 -t -l 1000", "--policy fifo:80 --samples 1000"),
        ] {
            let hint = hint_for(&format!("howlate cyclic {cyclictest}")).unwrap();
            assert!(hint.starts_with(&format!("`howlate cyclic {howlate}`;")), "{hint}");
        }
        let hint = hint_for("howlate cyclic -p eighty").unwrap();
        assert!(hint.starts_with("`-p 80` is"), "{hint}");
    }
}
