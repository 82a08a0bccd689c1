//! `cargo xtask storm`: kills at random moments, and whether the machine is left as it was.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs the test of that name with as many kills as asked, and the seed if one is given; with `--borrowed`, that of settings
/// which are changed and put back all the time, as `tune` does, and nothing else.
pub fn run(words: &[&str]) -> ExitCode {
    let (test, words) = match words {
        ["--borrowed", words @ ..] => ("turns", words),
        words => ("storm", words),
    };
    let Some(asked) = asked(words) else {
        eprintln!("error: usage: cargo xtask storm [--borrowed] [--kills 1000] [--seed N]");
        return ExitCode::from(2);
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "--workspace", "--test", test, "--", "--nocapture"]).envs(asked);
    match cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}

/// What is asked for, as the test reads it.
fn asked<'a>(words: &[&'a str]) -> Option<Vec<(&'static str, &'a str)>> {
    let one = |pair: &[&'a str]| match pair {
        ["--kills", number] if number.parse::<u64>().is_ok() => Some(("HOWLATE_STORM_KILLS", *number)),
        ["--seed", number] if number.parse::<u64>().is_ok() => Some(("HOWLATE_STORM_SEED", *number)),
        _ => None,
    };
    words.chunks(2).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(asked(&["--kills", "5"]), Some(vec![("HOWLATE_STORM_KILLS", "5")]));
        assert_eq!(asked(&[]), Some(vec![]));
        for words in [&["--kills", "many"][..], &["--kills"], &["5"]] {
            assert_eq!(asked(words), None);
        }
    }
}
