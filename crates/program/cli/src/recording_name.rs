//! Parser of file names for recordings.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::value_parsers::NOT_STANDARD_OUTPUT;
use super::{OutputFormat, ReportFormat};

/// A file name for a recording. Names that suggest another format are refused, with the command that writes it.
pub(crate) fn recording_name() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| {
        let refused = name.to_str().and_then(refusal);
        refused.map_or_else(|| Ok(PathBuf::from(&name)), Err)
    })
}

/// Why a recording should not have this name, with the right command.
fn refusal(name: &str) -> Option<String> {
    if name == "-" {
        return Some(NOT_STANDARD_OUTPUT.to_owned());
    }
    if OutputFormat::from_str(name, true).is_ok() {
        return Some(format!(
            "it is where the recording is saved; `--format {name}` prints the result as {name}, and `./{name}` is a file of this name"
        ));
    }
    if ReportFormat::from_str(name, true).is_ok() {
        return Some(format!(
            "it is where the recording is saved; `howlate report RECORDING --format {name}` makes {name} of one, and `./{name}` is a file of \
             this name"
        ));
    }
    let ending = Path::new(name).extension()?.to_str()?;
    let instead = written_by(&ending.to_lowercase(), name)?;
    let recording = Path::new(name).with_extension("jsonl");
    Some(format!(
        "a recording is saved there, which is no {ending}: `-o {}`, then {instead}",
        recording.display()
    ))
}

/// The command that writes files with this extension from a recording.
fn written_by(ending: &str, name: &str) -> Option<String> {
    let recording = Path::new(name).with_extension("jsonl").display().to_string();
    Some(match ending {
        "html" | "htm" | "md" => format!("`howlate report {recording} -o {name}`"),
        "pdf" => format!("`howlate report {recording}`, which a browser prints as PDF"),
        "png" | "svg" => format!("`howlate report {recording} --chart overview -o {name}`"),
        "csv" | "hlog" | "hgrm" => format!("`howlate show {recording} --format {ending} > {name}`"),
        "xml" => format!("`howlate show {recording} --format junit --fail-above 'max>1ms' > {name}`"),
        "prom" => format!("`howlate show {recording} --prometheus {name}`"),
        "parquet" => "`--samples-out` saves every wake-up as Parquet".to_owned(),
        "pftrace" => format!("`howlate show {recording} --format perfetto > {name}`"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_asks_for_something_else_is_refused_with_what_writes_that() {
        for (name, command) in [
            ("json", "--format json"),
            ("CSV", "--format CSV"),
            ("html", "--format html"),
            ("x.pdf", "howlate report x.jsonl`"),
            ("a/run.csv", "howlate show a/run.jsonl --format csv > a/run.csv"),
            ("night.HTML", "howlate report night.jsonl -o night.HTML"),
            ("metrics.prom", "--prometheus metrics.prom"),
            ("-", "/dev/stdout"),
        ] {
            assert!(refusal(name).is_some_and(|text| text.contains(command)), "{name}: {:?}", refusal(name));
        }
        for name in
            ["run.jsonl", "run.json", "run", "./json", "/dev/stdout", "before.2", "run.txt", "run.log"]
        {
            assert_eq!(refusal(name), None, "{name}");
        }
    }
}
