//! `cargo xtask storm`: kills howlate at random moments, and checks that the machine's settings are restored.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs the test `storm` with the given number of kills and seed; with `--borrowed`, the test `turns`, in which settings are changed
/// and restored all the time, as by `tune`.
pub fn run(arguments: &[&str]) -> ExitCode {
    let (test, options) = match arguments {
        ["--borrowed", options @ ..] => ("turns", options),
        options => ("storm", options),
    };
    let Some(environment) = read_options(options) else {
        eprintln!("error: usage: cargo xtask storm [--borrowed] [--kills 1000] [--seed N]");
        return ExitCode::from(2);
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--quiet", "--workspace", "--test", test, "--", "--nocapture"]).envs(environment);
    match cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}

/// The options as environment variables of the test.
fn read_options<'a>(options: &[&'a str]) -> Option<Vec<(&'static str, &'a str)>> {
    let variable = |pair: &[&'a str]| match pair {
        ["--kills", number] if number.parse::<u64>().is_ok() => Some(("HOWLATE_STORM_KILLS", *number)),
        ["--seed", number] if number.parse::<u64>().is_ok() => Some(("HOWLATE_STORM_SEED", *number)),
        _ => None,
    };
    options.chunks(2).map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(read_options(&["--kills", "5"]), Some(vec![("HOWLATE_STORM_KILLS", "5")]));
        assert_eq!(read_options(&[]), Some(vec![]));
        for options in [&["--kills", "many"][..], &["--kills"], &["5"]] {
            assert_eq!(read_options(options), None);
        }
    }
}
