//! The shape of an output: everything but the numbers, which differ from run to run.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Lines with numbers replaced by their width; lines of the same shape in a row count once.
/// `once`: they count once wherever they are, for a screen that is drawn again and again.
pub(crate) fn shape(text: &str, once: bool) -> String {
    let mut shapes: Vec<String> = Vec::new();
    // Not every machine offers /dev/cpu_dma_latency.
    for line in text.lines().filter(|line| !line.starts_with("# /dev/cpu_dma_latency")) {
        let shape = line_shape(&line.replace('\x1b', "ESC"));
        let known = if once { shapes.contains(&shape) } else { shapes.last() == Some(&shape) };
        if !known {
            shapes.push(shape);
        }
    }
    shapes.join("\n").trim_end().to_owned()
}

/// What lines look like, and how their shape is made. The first that fits counts.
static RULES: LazyLock<Vec<(Regex, fn(&str) -> String)>> = LazyLock::new(|| {
    let rules: [(&str, fn(&str) -> String); 8] = [
        (r"^# Thread \d+:( \d{5,})*( # \d{5,} others)? ?$", |line| {
            format!("{}: <cycles>", line.split(':').next().unwrap_or_default())
        }),
        (r"^T: *\d+", stat_line_shape),
        ("loadavg:", |line| format!("{} <load>          ", line.split_inclusive("loadavg:").next().unwrap())),
        (r"^# (Thread Ids|Break)|^(Max|Online) CPUs", |line| NUMBER.replace_all(line, "N").into_owned()),
        (r"^\d{6,} |^# (Total|Min|Avg|Max|Histogram Overflows|SMIs)|^ +\d+:", widths),
        (r#"^ +"\d+": \d+,?$"#, |_| "        \"<bucket>\": N".to_owned()),
        (r#"^ +"[\w:]+": -?[\d.]+,?$"#, json_number_shape),
        (r#"^ +"(cmdline:|start_time|end_time|sysname|nodename|release|version|machine)": ""#, |line| {
            let (key, _) = line.split_once("\": ").unwrap();
            format!("{key}\": S{}", if line.ends_with(',') { "," } else { "" })
        }),
    ];
    rules.map(|(pattern, shape)| (Regex::new(pattern).unwrap(), shape)).into()
});

static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+").unwrap());
static PADDED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r" *\d+").unwrap());
static TID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\([ \d]{5,}\)").unwrap());
static JSON_NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r": -?\d+(\.\d\d)?").unwrap());

fn line_shape(line: &str) -> String {
    let rule = RULES.iter().find(|(pattern, _)| pattern.is_match(line));
    rule.map_or_else(|| line.to_owned(), |(_, shape)| shape(line))
}

/// The thread's number stays; its id has a width of its own.
fn stat_line_shape(line: &str) -> String {
    let (thread, rest) = line.split_once(" (").unwrap();
    let rest = format!(" ({rest}");
    format!("{thread}{}", widths(&TID.replace(&rest, "(tid)")))
}

fn json_number_shape(line: &str) -> String {
    let shape = |found: &Captures<'_>| if found.get(1).is_some() { ": N.NN" } else { ": N" };
    JSON_NUMBER.replace(line, shape).into_owned()
}

/// Numbers and the blanks before them, as their width.
fn widths(line: &str) -> String {
    PADDED.replace_all(line, |found: &Captures<'_>| format!("<{}>", found[0].len())).into_owned()
}
